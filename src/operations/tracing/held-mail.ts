import type { WebDelay } from '../../api/api.ts';
import { endsByItself, withoutSequences } from '../../protocol/text/words.ts';
import type { Heartbeat } from '../../state/heartbeat.ts';
import type { Hold } from '../../state/holds.ts';
import type { Pause } from '../../state/pause.ts';

/** What keeps the actors of this machine from running at the moment. */
export interface Holding {
  paused: Pause | null;
  holds: readonly Pick<Hold, 'reason' | 'since' | 'until' | 'said'>[];
  /** What the dispatcher said that it is holding back. */
  parked: Heartbeat['parked'];
}

const NOTHING: WebDelay = {
  since: null,
  until: null,
  reason: null,
  said: null,
  attempts: null,
  attempts_allowed: null,
};

/**
 * Why mail for an actor of this machine is held, or undefined if nothing holds it. A pure function.
 *
 * @param to the actor, and the tier that was asked for; null for the default
 */
export function heldDelay(
  { paused, holds, parked }: Holding,
  to: { actor: string; tier: string | null },
  now: Date,
): WebDelay | undefined {
  if (paused !== null)
    return { ...NOTHING, reason: 'paused', since: timeOr(paused.since), said: `by ${paused.by}` };
  const held = parked.find(
    ({ actor, tier, until, instead }) =>
      actor === to.actor &&
      instead === undefined &&
      (to.tier === null || to.tier === tier) &&
      Date.parse(until) > now.getTime(),
  );
  if (held === undefined) return undefined;
  const { reason, until } = held;
  const hold = holds.find((one) => one.reason === reason && one.until === until);
  return {
    ...NOTHING,
    reason,
    since: hold?.since ?? null,
    until: endsByItself(reason) ? until : null,
    said: hold?.said ?? held.said ?? null,
  };
}

/** A pause may say of its time that it is unknown. */
function timeOr(at: string): string | null {
  return Number.isNaN(Date.parse(at)) ? null : at;
}

/** How often a delivery failed, why, and when it is tried again. */
export function failureDelay(
  letter: Pick<WebDelay, 'reason'> & {
    detail: string;
    last_failed_at: string;
    next_retry_at?: string | null;
    attempts_since_release: number;
    attempts_allowed?: number | null;
  },
): WebDelay {
  return {
    since: letter.last_failed_at,
    until: letter.next_retry_at ?? null,
    reason: letter.reason,
    said: withoutSequences(letter.detail),
    attempts: letter.attempts_since_release,
    attempts_allowed: letter.attempts_allowed ?? null,
  };
}

/** Since when a run is at work. */
export function runDelay(since: string): WebDelay {
  return { ...NOTHING, since };
}
