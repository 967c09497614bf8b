import { objectOn } from '../protocol/text/json-line.ts';
import type { AgentCli } from './agents.ts';
import { cleanLine } from './clean-line.ts';
import { statedTime } from './reset-time.ts';

/** Reason why an account does not work; only a limit ends automatically. */
type RefusalKind = 'rate_limited' | 'out_of_credit' | 'not_logged_in';

/** Messages of CLIs about an account that somebody has to pay for first. */
const EMPTY =
  /^(?:ERROR: |Error: |API Error: |429 )*(?:Credit balance is too low|You['\u2019]re out of (?:usage )?credits|Your workspace is out of credits|You hit your spend cap|insufficient[_ ]quota|Quota exceeded\. Check your plan|You exceeded your current quota)/i;

/** Reason why an agent CLI did no work, if waiting or a login fixes that (docs/decisions/13-runs.md). */
export interface Refusal {
  kind: RefusalKind;
  /** The reported line: a single line without control characters, at most 300 characters long. */
  said: string;
  /** Time at which the CLI will work again, if it reported one. */
  until?: Date;
}

/** A run that failed without our doing: its exit code was not 0, or it gave no answer where one was due. */
export interface FailedRun {
  exitCode: number | null;
  stdout: string;
  stderrTail: string;
  /** Reason of the failure, from the CLI's JSON. */
  reported?: string;
}

/** Most characters of a refusal; longer output is an answer. */
const MAX_WHOLE = 4000;

/**
 * Recognizes the refusal of a failed run of a known agent CLI. A pure function. All output is treated as hostile,
 * because a model can write whatever a CLI would, so only the lines that the table names are examined.
 *
 * @param now the time, and `zone` the IANA time zone, to which reported times are relative
 */
export function refusalOf(
  agent: AgentCli,
  run: FailedRun,
  now: Date,
  zone: string,
): Refusal | undefined {
  const { limited, notLoggedIn, notLoggedInExits } = agent.refusals;
  const lines = reportedLines(agent, run);
  for (const line of lines) {
    if (limited.test(line)) {
      const until = statedTime(line, now, zone);
      const kind = EMPTY.test(line) ? 'out_of_credit' : 'rate_limited';
      return { kind, said: line, ...(until === undefined ? {} : { until }) };
    }
    if (notLoggedIn.test(line)) return { kind: 'not_logged_in', said: line };
  }
  return run.exitCode !== null && notLoggedInExits.includes(run.exitCode)
    ? { kind: 'not_logged_in', said: lines[0] ?? `exit code ${String(run.exitCode)}` }
    : undefined;
}

/** Returns the lines that may contain the reason, the last one first. */
function reportedLines({ refusals: { stream, last } }: AgentCli, run: FailedRun): string[] {
  const text = stream === 'stdout' ? run.stdout : run.stderrTail;
  const reported = run.reported ?? reportedIn(run.stdout);
  if (reported !== undefined) return [cleanLine(reported)];
  const lines = text
    .split('\n')
    .map(cleanLine)
    .filter((line) => line !== '');
  if (last === 'whole') return lines.length > 3 || text.length > MAX_WHOLE ? [] : lines.reverse();
  return lines.slice(-last).reverse();
}

/**
 * Returns the error that a failed run reports in JSON: `claude --output-format json|stream-json` ends with a
 * result with `is_error`, and `codex exec --json` with a failed turn.
 */
function reportedIn(stdout: string): string | undefined {
  const line = stdout.trimEnd().split('\n').at(-1) ?? '';
  const report = line.length > 1024 * 1024 ? undefined : objectOn(line);
  if (report?.['is_error'] === true && typeof report['result'] === 'string')
    return report['result'];
  const error = report?.['error'] as { message?: unknown } | null | undefined;
  return report?.['type'] === 'turn.failed' && typeof error?.message === 'string'
    ? `ERROR: ${error.message}`
    : undefined;
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/**
 * Returns the time of the next run, which finds out whether the CLI works again. A reported time is believed; if it has
 * proved wrong, and if none was reported, the wait grows. The files of a login may not show it (a key chain, a
 * variable), so one run tries again from time to time as well.
 *
 * @param refusals the number of refusals in a row, including this one
 */
export function heldUntil({ kind, until }: Refusal, refusals: number, now: Date): Date {
  const after = (base: number, most: number, doublings: number): Date =>
    new Date(now.getTime() + Math.min(most, base * 2 ** Math.min(20, Math.max(0, doublings))));
  if (kind === 'not_logged_in') return after(15 * MINUTE, 6 * HOUR, refusals - 1);
  if (until === undefined) return after(MINUTE, HOUR, refusals - 1);
  const least = refusals < 2 ? after(SECOND, SECOND, 0) : after(5 * SECOND, HOUR, refusals - 2);
  return until > least ? until : least;
}

/** Errors of CLIs when a prompt exceeds the model's context (docs/agents.md). */
const PATTERNS: Record<string, RegExp> = {
  claude: /^(?:API Error: \S* ?)?prompt is too long/i,
  codex: /ran out of room in the model's context window/,
  gemini: /exceeds the maximum number of tokens/,
  opencode: /ContextOverflowError|prompt is too long/i,
  pi: /^(?:Error: )?(?:400 )?.{0,40}prompt is too long/i,
};

/**
 * Finds the error of a failed run of a known agent CLI whose prompt was too long. A pure function; the output is
 * treated as hostile, as in `refusalOf`.
 *
 * @returns the error, on one line and without control characters
 */
export function tooLongOf(agent: AgentCli, run: FailedRun): string | undefined {
  const pattern = PATTERNS[agent.name];
  return pattern && reportedLines(agent, run).find((line) => pattern.test(line));
}
