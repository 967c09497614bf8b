import { commandLine } from '../command-line.ts';
import { plainCall } from '../output/plain-call.ts';

/** How an agent CLI keeps a session, and goes on with it (warm.md). */
interface SessionCli {
  /** The option by which a new session is given its id; absent where the CLI says which id it has. */
  gives?: string;
  /** What an id looks like: nothing else of it ever stands on a command line. */
  id: RegExp;
  /** The option by which a session is gone on with; absent for codex, which has a command for that. */
  resumes?: string;
  /** Words with which the operator has settled it. */
  settled: RegExp;
  /** What it says on stderr, before it asks the model, of a session that it does not have. */
  refuses: RegExp;
  /** Whether it states the usage of the whole session, and not of the run. */
  sums?: true;
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Seen with each CLI (test/agents/FACTS.md, "Sessions"). */
const SESSIONS: Readonly<Record<string, SessionCli>> = {
  claude: {
    gives: '--session-id',
    id: UUID,
    resumes: '--resume',
    settled:
      /^(?:-[cr]|--(?:continue|resume|session-id|fork-session|no-session-persistence|from-pr)\b)/,
    refuses: /^No conversation found with session ID: /,
  },
  codex: {
    id: UUID,
    settled: /^(?:--(?:ephemeral|worktree)\b|resume$|fork$|review$)/,
    refuses: /^Error: thread\/resume: .*no rollout found/,
    sums: true,
  },
  gemini: {
    gives: '--session-id',
    id: UUID,
    resumes: '--resume',
    settled: /^(?:-[rw]$|--(?:resume|session-id|session-file|worktree)\b)/,
    refuses: /^Error resuming session: /,
  },
  opencode: {
    id: /^ses_[A-Za-z0-9]{10,60}$/,
    resumes: '--session',
    settled: /^(?:-[cs]$|--(?:continue|session|fork|dir)\b)/,
    // The second of version 1.3, above where it happened.
    refuses: /^(?:Error: Session not found$|message: "Session not found: ses_)/,
  },
  pi: {
    id: UUID,
    resumes: '--session',
    settled: /^(?:-[cr]$|--(?:continue|resume|session|fork|no-session)$)/,
    refuses: /^(?:No session found matching '|Session found in different project: )/,
  },
};

/** The agent CLIs that can go on with a session, by name. */
export const RESUMING_AGENTS: readonly string[] = Object.keys(SESSIONS);

/** A command line whose runs can go on with a session. */
export interface SessionCall {
  /** The CLI's name. */
  agent: string;
  /** Whether a new session is given its id, and does not say it. */
  isGiven: boolean;
  /** Whether it states the usage of the whole session, and not of the run. */
  sums: boolean;
  /** The command line that begins a session; the id is used only where it is given. */
  first: (id: string) => string;
  /** The command line that goes on with a session. */
  next: (id: string) => string;
  /** Whether a text is an id of such a session. */
  isId: (id: string) => boolean;
}

/** How the runs of a command line go on with a session, or why they cannot. */
export type Sessions = { ok: true; call: SessionCall } | { ok: false; why: string };

/**
 * Recognizes a command line whose runs can go on with a session: a plain call of a known CLI that leaves open
 * which session it is (trust.md §2). Nothing is added to any other.
 *
 * @param command as the operator approved it
 */
export function sessionsOf(command: string): Sessions {
  const { start } = commandLine(command);
  const known = start && Object.hasOwn(SESSIONS, start.name) ? SESSIONS[start.name] : undefined;
  if (start === undefined || known === undefined)
    return {
      ok: false,
      why: `no way is known in which its command goes on with a session; known of plain calls of ${RESUMING_AGENTS.join(', ')}`,
    };
  const plain = plainCall(command);
  if (plain === undefined)
    return { ok: false, why: `its command is no plain call of ${start.name}` };
  if (start.args.some(({ text }) => known.settled.test(text)))
    return { ok: false, why: 'its command names a session itself, or keeps none' };
  const { gives, resumes } = known;
  const trimmed = command.trimEnd();
  // The command that goes on stands after all options and before the word for stdin.
  if (resumes === undefined && start.args.at(-1)?.raw !== '-')
    return { ok: false, why: `its command does not end with "-", the word for stdin` };
  return {
    ok: true,
    call: {
      agent: start.name,
      isGiven: gives !== undefined,
      sums: known.sums === true,
      first: (id) => (gives === undefined ? plain.command : `${plain.command} ${gives} ${id}`),
      next: (id) =>
        resumes === undefined
          ? `${trimmed.slice(0, -1)}resume ${id} - ${plain.format.flags}`
          : `${plain.command} ${resumes} ${id}`,
      isId: (id) => known.id.test(id),
    },
  };
}

/** What a run that should go on with a session has left. */
interface Left {
  stdout: string;
  stderrTail: string;
  /** What it used, if it states that. */
  usage?: { input: number; cached: number; output: number };
}

const SEQUENCES = /\p{Cc}\[[\d;]*m/gu;
/** A refusal is one of the last lines; a banner may stand above it, and nothing of a model. */
const MOST_LINES = 16;

/**
 * Whether a CLI has refused to go on with a session before it asked the model: it says so, said nothing else,
 * and used nothing. Then nothing was spent, and the run can be made anew (warm.md).
 */
export function isSessionRefused(agent: string, { stdout, stderrTail, usage }: Left): boolean {
  const known = Object.hasOwn(SESSIONS, agent) ? SESSIONS[agent] : undefined;
  if (known === undefined || stdout.trim() !== '') return false;
  if (usage !== undefined && usage.input + usage.cached + usage.output > 0) return false;
  const lines = stderrTail.replace(SEQUENCES, '').split('\n').slice(-MOST_LINES);
  return lines.some((line) => known.refuses.test(line.trim()));
}
