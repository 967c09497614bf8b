import { shown } from '../text/result.ts';

/** What a run of a tier knows of what was said before (warm.md). */
export interface TierSession {
  /**
   * The runs of an actor in a thread go on with one session of their CLI; absent: each is new. `resume`: each is a
   * process that takes the session up; `warm`: one process is kept.
   */
  session?: 'resume' | 'warm';
  /** After so many runs a session is begun anew; {@link SESSION_MAX_TURNS} if absent. */
  sessionMaxTurns?: number;
  /** How many messages between the actor and who asks a new thread is shown; absent for none. */
  history?: number;
}

/** Whether a tier takes more words while it works (warm.md, "Steering"): what is behind a gate does what was approved. */
export function takesMore({ session, gate }: TierSession & { gate?: unknown }): boolean {
  return session === 'warm' && gate === undefined;
}

/** Whether a run began a session, or went on with one: in a process of its own, or in one that was kept. */
export type SessionKind = 'fresh' | 'resumed' | 'warm';

/** The options of sessions, as the host file calls them. */
export const SESSION_OPTIONS: readonly string[] = ['session', 'session_max_turns', 'history'];

/** How many runs a session has where the tier does not say. */
export const SESSION_MAX_TURNS = 20;
/** More messages are never shown of what was said before a thread. */
export const MAX_HISTORY = 200;

/** Reads the options of sessions of a tier; what cannot be one is added to the problems. */
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

/** A whole number from 1 to `most`, from what a header says. */
export function wholeIn(value: unknown, most: number): number | undefined {
  const number = typeof value === 'string' || typeof value === 'number' ? Number(value) : NaN;
  return Number.isInteger(number) && number >= 1 && number <= most ? number : undefined;
}

/** How a run began, from a header that anybody may have written. */
export function sessionIn(value: unknown): SessionKind | undefined {
  return value === 'fresh' || value === 'resumed' || value === 'warm' ? value : undefined;
}
