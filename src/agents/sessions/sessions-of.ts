import { commandLine } from '../command-line.ts';
import { plainCall } from '../output/plain-call.ts';

/** Options by which an agent CLI stores and resumes a session (warm.md). */
interface SessionCli {
  /** The option that sets the id of a new session; absent if the CLI reports the id. */
  gives?: string;
  /** Pattern of an id: nothing else of the CLI's output ever goes on a command line. */
  id: RegExp;
  /** The option that resumes a session; absent for codex, which has a subcommand for that. */
  resumes?: string;
  /** Words by which the operator has chosen the session. */
  settled: RegExp;
  /** Its error on stderr, before any request to the model, for a session that it does not have. */
  refuses: RegExp;
  /** Whether it states the usage of the whole session, and not of the run. */
  sums?: true;
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Observed with each CLI (test/agents/FACTS.md, "Sessions"). */
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
    // The second is of version 1.3, above the place of the error.
    refuses: /^(?:Error: Session not found$|message: "Session not found: ses_)/,
  },
  pi: {
    id: UUID,
    resumes: '--session',
    settled: /^(?:-[cr]$|--(?:continue|resume|session|fork|no-session)$)/,
    refuses: /^(?:No session found matching '|Session found in different project: )/,
  },
};

/** Names of the agent CLIs that can resume a session. */
export const RESUMING_AGENTS: readonly string[] = Object.keys(SESSIONS);

/** A command line whose runs can resume a session. */
export interface SessionCall {
  agent: string;
  /** Whether we set the id of a new session, rather than the CLI reporting it. */
  isGiven: boolean;
  /** Whether it states the usage of the whole session, and not of the run. */
  sums: boolean;
  /** Returns the command line that starts a session; the id is used only if it can be set. */
  first: (id: string) => string;
  /** Returns the command line that resumes a session. */
  next: (id: string) => string;
  /** Whether a text is an id of such a session. */
  isId: (id: string) => boolean;
}

/** The method by which the runs of a command line resume a session, or the reason why they cannot. */
export type Sessions = { ok: true; call: SessionCall } | { ok: false; why: string };

/**
 * Recognizes a command line whose runs can resume a session: a plain call of a known CLI that does not choose the
 * session (trust.md §2). Nothing is added to any other.
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
  // The subcommand that resumes comes after all options and before the word for stdin.
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

/** Output and usage of a run that should resume a session. */
interface Left {
  stdout: string;
  stderrTail: string;
  usage?: { input: number; cached: number; output: number };
}

const SEQUENCES = /\p{Cc}\[[\d;]*m/gu;
/** Number of last lines with the refusal; a banner may precede it, but no text of a model. */
const MOST_LINES = 16;

/**
 * Whether a CLI has refused to resume a session before any request to the model: it reports that, said nothing else,
 * and used nothing. Then nothing was spent, and the run can be repeated with a new session (warm.md).
 */
export function isSessionRefused(agent: string, { stdout, stderrTail, usage }: Left): boolean {
  const known = Object.hasOwn(SESSIONS, agent) ? SESSIONS[agent] : undefined;
  if (known === undefined || stdout.trim() !== '') return false;
  if (usage !== undefined && usage.input + usage.cached + usage.output > 0) return false;
  const lines = stderrTail.replace(SEQUENCES, '').split('\n').slice(-MOST_LINES);
  return lines.some((line) => known.refuses.test(line.trim()));
}
