import { shown } from '../text/result.ts';

/** A run's memory of earlier runs of its tier (warm.md). */
export interface TierSession {
  /**
   * The runs of an actor in a thread share one session of their CLI; absent: each has a new one. `resume`:
   * each is a process that resumes the session; `warm`: one process is kept.
   */
  session?: 'resume' | 'warm';
  /** Number of runs after which a new session starts; {@link SESSION_MAX_TURNS} if absent. */
  sessionMaxTurns?: number;
  /** Number of earlier messages between the actor and the asker that a new thread contains; absent for none. */
  history?: number;
}

/**
 * Whether a tier accepts further messages while it works (warm.md, "Steering"): a run behind a gate does only
 * what was approved.
 */
export function takesMore({ session, gate }: TierSession & { gate?: unknown }): boolean {
  return session === 'warm' && gate === undefined;
}

/** Kind of a run's session: a new one, one resumed in a process of its own, or one in a process that was kept. */
export type SessionKind = 'fresh' | 'resumed' | 'warm';

/** Names of the options of sessions in a host file. */
export const SESSION_OPTIONS: readonly string[] = ['session', 'session_max_turns', 'history'];

/** Default number of runs of a session. */
export const SESSION_MAX_TURNS = 20;
/** Most earlier messages that a new thread may contain. */
export const MAX_HISTORY = 200;

/** Parses the options of sessions of a tier; invalid values are added to the problems. */
export function tierSession(
  where: string,
  { session = 'fresh', session_max_turns: turns, history }: Record<string, unknown>,
  problems: string[],
): TierSession {
  const isKept = session === 'resume' || session === 'warm';
  if (session !== 'fresh' && !isKept)
    problems.push(`${where}.session is ${shown(session)}, expected fresh, resume or warm`);
  const most = wholeIn(turns, 1000);
  if (turns !== undefined && most === undefined)
    problems.push(
      `${where}.session_max_turns is ${shown(turns)}, expected a whole number from 1 to 1000`,
    );
  else if (turns !== undefined && !isKept && session === 'fresh')
    problems.push(
      `${where}.session_max_turns has no effect without ${where}.session: resume, or warm`,
    );
  const earlier = wholeIn(history, MAX_HISTORY);
  if (history !== undefined && earlier === undefined)
    problems.push(
      `${where}.history is ${shown(history)}, expected how many messages are shown, from 1 to ${String(MAX_HISTORY)}`,
    );
  return {
    ...(isKept && { session }),
    ...(isKept && most !== undefined && { sessionMaxTurns: most }),
    ...(earlier !== undefined && { history: earlier }),
  };
}

/** Parses a whole number from 1 to `most` in a header. */
export function wholeIn(value: unknown, most: number): number | undefined {
  const number = typeof value === 'string' || typeof value === 'number' ? Number(value) : NaN;
  return Number.isInteger(number) && number >= 1 && number <= most ? number : undefined;
}

/** Parses the kind of a run's session in a header that anybody may have written. */
export function sessionIn(value: unknown): SessionKind | undefined {
  return value === 'fresh' || value === 'resumed' || value === 'warm' ? value : undefined;
}
