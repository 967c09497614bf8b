import type { WebDelay } from '../../api/api.ts';
import { reasonInWords } from '../../protocol/text/words.ts';
import type { Shown } from '../live/model.ts';
import { ageOf, momentOf } from '../../present/times.ts';

/** A state with its own word and mark. */
type Standing = Shown['state'];

/**
 * Tells apart what a thread calls by one name: what failed and is tried again is failing, and what
 * waits for a reason is held.
 */
export function standingOf({ state, delay }: Pick<Shown, 'state' | 'delay'>): Standing {
  if (state === 'failed' && (delay?.until ?? null) !== null) return 'failing';
  return state === 'waiting' && (delay?.reason ?? null) !== null ? 'held' : state;
}

/** A symbol for each state, so that colour is not the only difference. */
export const SIGNS: Record<Standing, [sign: string, style: string]> = {
  sending: ['◌', 'wait'],
  queued: ['◌', 'wait'],
  sent: ['→', 'busy'],
  waiting: ['◔', 'wait'],
  held: ['⊘', 'held'],
  running: ['▶', 'busy'],
  answered: ['✓', 'good'],
  silent: ['–', 'dim'],
  failing: ['↻', 'wait'],
  failed: ['✕', 'bad'],
  cancelled: ['⊖', 'dim'],
  parked: ['‖', 'held'],
};

/** The time whose age is shown beside a state; undefined where none matters. */
export function sinceOf(shown: Shown): string | undefined {
  switch (standingOf(shown)) {
    case 'held':
      // The time at which it ends says more than its age.
      return (shown.delay?.until ?? null) === null
        ? (shown.delay?.since ?? shown.since)
        : undefined;
    case 'running':
      return shown.delay?.since ?? shown.since;
    case 'waiting':
    case 'queued':
    case 'sending':
      return shown.since;
    default:
      return undefined;
  }
}

/**
 * A state in words.
 *
 * @param took seconds to the answer, if that is known
 * @param now milliseconds
 */
export function stateInWords(shown: Shown, took: number | null, now: number): string {
  const { actor, detail, delay } = shown;
  const who = actor ?? '';
  switch (standingOf(shown)) {
    case 'sending':
      return 'sending';
    case 'queued':
      return 'queued here';
    case 'sent':
      return 'sent';
    case 'waiting':
      return shown.held_up === undefined
        ? `waiting for ${who}`
        : `waiting for ${who}: ${shown.held_up}`;
    case 'held':
      return `${who} is held: ${whyHeld(delay)}`;
    case 'running':
      return `${who} is working on it`;
    case 'answered':
      return took === null ? `${who} answered` : `${who} answered after ${ageOf(took)}`;
    case 'silent':
      return `${who} said nothing`;
    case 'failing':
      return `${who} is failing: ${attemptsInWords(delay)}, ${nextInWords(delay?.until ?? null, now)}`;
    case 'failed':
      return `${who} failed${shown.failed_on === undefined ? '' : ` on ${shown.failed_on}`}${detail === null ? '' : `, dead letter ${detail.slice(-6)}`}`;
    case 'cancelled':
      return `${who}: cancelled`;
    case 'parked':
      return `${who}: parked, ${reasonInWords('too_deep')}`;
  }
}

function whyHeld(delay: WebDelay | null | undefined): string {
  const why = reasonInWords(delay?.reason ?? 'paused');
  const by = delay?.reason === 'paused' && delay.said !== null ? ` ${delay.said}` : '';
  const { until = null } = delay ?? {};
  return `${why}${by}${until === null ? '' : `, until ${momentOf(until)}`}`;
}

/** The attempts so far: `attempt 1 of 3`. */
export function attemptsInWords(
  delay: Pick<WebDelay, 'attempts' | 'attempts_allowed'> | null | undefined,
): string {
  const made = delay?.attempts ?? 0;
  if (made === 0) return 'tried again';
  const allowed = delay?.attempts_allowed ?? null;
  return `attempt ${String(made)}${allowed === null ? '' : ` of ${String(allowed)}`}`;
}

/** When it is tried again. @param now milliseconds */
export function nextInWords(until: string | null, now: number): string {
  if (until === null) return 'not tried again automatically';
  return Date.parse(until) <= now ? 'next now' : `next at ${momentOf(until)}`;
}
