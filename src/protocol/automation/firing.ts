import type { Message } from '../message.ts';
import { isName } from '../names.ts';
import type { StartedBy } from '../text/words.ts';
import { utcOf } from '../text/times.ts';
import type { Occurrences } from './occurrences.ts';
import type { Schedule } from './schedule.ts';

/** Milliseconds by which an occurrence may be late and still counts as on time. */
export const ON_TIME_MS = 120_000;

/** Pending occurrence of a schedule. */
export interface Due {
  /** The last occurrence so far, in milliseconds since 1970; undefined if there was none. */
  due?: number;
  /** Whether it came while no dispatcher ran, and is not to be sent any more. */
  isMissed: boolean;
}

/**
 * Determines whether a schedule is due. Of several past occurrences only the last one counts.
 *
 * @param after time until which occurrences are handled: the creation of the file, or the last occurrence
 * @param now both in milliseconds since 1970
 */
export function dueNow(
  { catchUp, grace }: Pick<Schedule, 'catchUp' | 'grace'>,
  occurrences: Occurrences,
  after: number,
  now: number,
): Due {
  const due = occurrences.last(after, now);
  if (due === undefined) return { isMissed: false };
  const late = now - due;
  return { due, isMissed: late > ON_TIME_MS && (catchUp === 'none' || late > grace) };
}

/**
 * Composes the message of an occurrence, with the machine-made facts on its origin.
 *
 * @param host the alias of the machine that writes it; undefined for an operator, who has none
 */
export function scheduledMessage(schedule: Schedule, due: Date, host: string | undefined): Message {
  const { name, from, to, tier, body } = schedule;
  const at = due.toISOString();
  return {
    from,
    to,
    type: 'text',
    timestamp: at,
    re: [],
    cause: [],
    ...(tier !== undefined && { tier }),
    ...(host !== undefined && { host }),
    extra: { schedule: name, due: at },
    body,
  };
}

/** Parses the facts that {@link scheduledMessage} writes; undefined for any other message. */
export function startedBy({ extra }: Pick<Message, 'extra'>): StartedBy | undefined {
  const { schedule, due } = extra;
  const isDue = typeof due === 'string' && utcOf(due) === due;
  return isName(schedule) && isDue ? { schedule, due } : undefined;
}
