import type { AgentCli } from './agents.ts';
import { statedTime } from './reset-time.ts';

type RefusalKind = 'rate_limited' | 'not_logged_in';

/** Why an agent CLI did no work, when waiting or a login fixes that (decision 20). */
export interface Refusal {
  kind: RefusalKind;
  /** The reported line: a single line without control characters, at most {@link MAX_SAID} long. */
  said: string;
  /** When the CLI will work again, if it reported a time. */
  until?: Date;
}

/** A run that failed on its own: its exit code was not 0, or it gave no answer where one was due. */
export interface FailedRun {
  exitCode: number | null;
  stdout: string;
  stderrTail: string;
}

const MAX_SAID = 300;
/** Longer output is an answer, because no refusal is this long. */
const MAX_WHOLE = 4000;

/**
 * Whether a failed run of a known agent CLI was refused. A pure function. All output is treated as
 * hostile, because a model can write whatever a CLI would, so only the lines that the table names
 * are looked at.
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
  const lines = linesOf(agent, run);
  for (const line of lines) {
    if (limited.test(line)) {
      const until = statedTime(line, now, zone);
      return { kind: 'rate_limited', said: line, ...(until === undefined ? {} : { until }) };
    }
    if (notLoggedIn.test(line)) return { kind: 'not_logged_in', said: line };
  }
  return run.exitCode !== null && notLoggedInExits.includes(run.exitCode)
    ? { kind: 'not_logged_in', said: lines[0] ?? `exit code ${String(run.exitCode)}` }
    : undefined;
}

/** The lines that may contain the reason, the last one first. */
function linesOf({ refusals: { stream, last } }: AgentCli, run: FailedRun): string[] {
  const text = stream === 'stdout' ? run.stdout : run.stderrTail;
  const reported = reportedIn(run.stdout);
  if (reported !== undefined) return [clean(reported)];
  const lines = text
    .split('\n')
    .map(clean)
    .filter((line) => line !== '');
  if (last === 'whole') return lines.length > 3 || text.length > MAX_WHOLE ? [] : lines.reverse();
  return lines.slice(-last).reverse();
}

/**
 * What a failed run reports in JSON: `claude --output-format json|stream-json` ends with a result
 * with `is_error`, and `codex exec --json` with a failed turn.
 */
function reportedIn(stdout: string): string | undefined {
  const line = stdout.trimEnd().split('\n').at(-1) ?? '';
  if (!line.startsWith('{') || line.length > 1024 * 1024) return undefined;
  try {
    const report = JSON.parse(line) as Record<string, unknown>;
    if (report['is_error'] === true && typeof report['result'] === 'string')
      return report['result'];
    const error = report['error'] as { message?: unknown } | null | undefined;
    if (report['type'] === 'turn.failed' && typeof error?.message === 'string')
      return `ERROR: ${error.message}`;
  } catch {
    // Not a report: the line only begins like one.
  }
  return undefined;
}

/** Colours and whatever else steers a terminal, which no pattern expects. */
// eslint-disable-next-line no-control-regex -- the escape character is what this is about
const STEERING = /\u001b\[[0-9;?]*[A-Za-z]|\p{Cc}|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** A path of any length between the significant words of what gemini prints. */
const REPORT = / Full report available at: \S+/;

function clean(line: string): string {
  return line
    .slice(0, 4 * MAX_SAID)
    .replace(STEERING, '')
    .replace(REPORT, '')
    .trim()
    .slice(0, MAX_SAID);
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/**
 * When one run finds out whether the CLI works again. A reported time is believed; where it has
 * proved wrong, and where none was reported, the wait grows. The files of a login may not show it
 * (a key chain, a variable), so one run tries again from time to time as well.
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
