import { type MessageRef, messageKey } from '../protocol/message-ref.ts';
import type { Arrival } from '../operations/lookup/arrivals.ts';
import type { OwnState } from '../operations/page/own-state.ts';
import type { WebFact, WebRun } from '../api/api.ts';

/**
 * The facts that follow from messages that arrived: this machine's own messages are on the bus, and
 * messages named in `re` were answered, or failed by the notice of another host. A word on the way is
 * no such fact.
 *
 * @param sending keys of messages that were written on this machine
 */
export function factsOfArrivals(
  some: readonly Arrival[],
  sending: ReadonlySet<string>,
  now: Date,
): WebFact[] {
  const at = now.toISOString();
  return some.flatMap(({ channel, relPath, message }): WebFact[] => [
    ...(sending.has(messageKey({ channel, relPath }))
      ? [{ channel, relPath, at, state: 'sent' as const, actor: null, detail: null }]
      : []),
    ...(message.interim === true ? [] : message.re).map((path) => ({
      channel,
      relPath: path,
      at,
      state: message.failed === undefined ? ('answered' as const) : ('failed' as const),
      actor: message.from,
      detail: message.failed?.dead_letter ?? relPath,
    })),
  ]);
}

export interface OwnStateChange {
  before: OwnState;
  own: OwnState;
  /** Runs that ended between the two states. */
  gone: readonly WebRun[];
}

/**
 * The facts that follow from a change of this machine's state.
 *
 * @param isKnown whether it was already reported that a message is queued, or that it is on the bus
 */
export function factsOfState(
  { before, own, gone }: OwnStateChange,
  isKnown: (key: string) => boolean,
  now: Date,
): WebFact[] {
  const at = now.toISOString();
  const known = new Set(before.outbox.map(({ id }) => id));
  const queued = own.outbox
    .filter(({ id }) => !known.has(id))
    .flatMap(({ messages }) => messages)
    .filter((ref) => !isKnown(messageKey(ref)))
    .map(({ channel, relPath }) => fact({ channel, relPath }, 'queued', null, null));
  const ran = new Set(before.running.map(({ id }) => id));
  const taken = own.running
    .filter(({ id }) => !ran.has(id))
    .flatMap((run) => about(run, 'taken', run.id));
  const silent = gone
    .filter(({ outcome }) => outcome === 'silent')
    .flatMap((run) => about(run, 'silent', run.id));
  const stopped = gone
    .filter(({ outcome }) => outcome === 'stopped')
    .flatMap((run) => about(run, 'waiting', run.id));
  const letters = new Map(before.dead_letters.map((letter) => [letter.id, letter]));
  const failed = own.dead_letters
    .filter(({ id, attempts, state }) => {
      const was = letters.get(id);
      return was?.attempts !== attempts || (was.state !== state && state !== 'retrying');
    })
    .flatMap((letter) => {
      const { state, id } = letter;
      return about(letter, state === 'parked' || state === 'cancelled' ? state : 'failed', id);
    });
  return [...queued, ...taken, ...silent, ...stopped, ...failed];

  function fact(
    { channel, relPath }: MessageRef,
    state: WebFact['state'],
    actor: string | null,
    detail: string | null,
  ): WebFact {
    return { channel, relPath, at, state, actor, detail };
  }
  function about(
    { actor, channel, messages }: { actor: string; channel: string; messages: string[] },
    state: WebFact['state'],
    detail: string,
  ): WebFact[] {
    return messages.map((relPath) => fact({ channel, relPath }, state, actor, detail));
  }
}

/** Runs of the previous state that no longer exist. */
export function goneRuns(before: OwnState, own: OwnState): WebRun[] {
  const still = new Set(own.running.map(({ id }) => id));
  return before.running.filter(({ id }) => !still.has(id));
}
