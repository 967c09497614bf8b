import type { WebDelay, WebGate, WebTaken } from '../../api/api.ts';
import { whyIgnored } from '../../protocol/decision/judge.ts';
import { messageKey, type MessageRef } from '../../protocol/layout.ts';
import { endsByItself, withoutSequences } from '../../protocol/text/words.ts';
import type { GatedMail } from '../../present/holds.ts';
import type { DeadLetter } from '../../state/dead-letters.ts';
import type { Gate } from '../../state/gates.ts';
import type { Heartbeat, Joining } from '../../state/heartbeat.ts';
import type { OpenPermission } from '../../state/permissions/open-permissions.ts';
import type { Local, RunHere } from './local.ts';

/** Returns a plan that waits at a gate, as faces show it. */
export function gatedMail(gate: Gate): GatedMail {
  const { actor, tier, channel, messages, proposal, approver, since, decided, ignored } = gate;
  return {
    ...{ actor, tier, channel, messages, approver, since },
    proposal: proposal.relPath,
    proposal_channel: proposal.channel,
    approved: decided?.decision === 'approve',
    ignored: ignored.map((one) => ({
      ...one,
      why: whyIgnored(one.reason, { from: one.from, approver }),
    })),
  };
}

/** Returns the fields of a gate that a face needs. */
export function gateOf({ approver, proposal, approved }: WebGate): WebGate {
  return { approver, proposal, approved };
}

/** A message for one actor of this machine, as its records have it: each part is undefined where there is none. */
export interface Delivery {
  run: RunHere | undefined;
  letter: DeadLetter | undefined;
  /** Reason that keeps its actor from running; a run that is under way goes on. */
  held: WebDelay | undefined;
  /** The tier that takes no mail at the moment, where no other one takes it instead. */
  parked: Heartbeat['parked'][number] | undefined;
  /** The plan that somebody is to decide on. */
  gate: GatedMail | undefined;
  /** The answers that it waits for, where all of them wake its actor at once. */
  joining: Joining | undefined;
  /** Question of its run for permission. */
  asks: OpenPermission | undefined;
  /** The host that has taken it, by its claim on the bus. */
  taken: WebTaken | undefined;
}

/** Whether another host has taken a message, and has not given it back since. @param alias that of this machine */
export function isElsewhere(taken: WebTaken | undefined, alias: string | undefined): boolean {
  return taken !== undefined && taken.end !== 'released' && taken.host !== alias;
}

/**
 * Returns the state of a message for one of its actors, by the records of this machine and by the claim on it, if
 * there is one: nothing here holds up what another host has taken. A pure function.
 *
 * @param tier the requested one; null for the default
 */
export function deliveryOf(
  local: Local,
  { channel, relPath }: MessageRef,
  { actor, tier, taken }: { actor: string; tier: string | null; taken?: WebTaken | undefined },
  now: Date,
): Delivery {
  const isIt = (one: { actor: string; channel: string; messages: readonly string[] }): boolean =>
    one.actor === actor && one.channel === channel && one.messages.includes(relPath);
  const key = messageKey({ channel, relPath });
  const letter = local.letters.find(isIt);
  const gate = local.gates.find(isIt);
  const isAway = isElsewhere(taken, local.alias);
  const isHere = letter !== undefined || (local.actors.has(actor) && !isAway);
  const parked = local.parked.find(
    (one) =>
      !isAway &&
      one.actor === actor &&
      one.instead === undefined &&
      (tier === null || tier === one.tier) &&
      Date.parse(one.until) > now.getTime(),
  );
  return {
    run: local.running.find(isIt),
    letter,
    held: isHere ? heldBy(local, parked) : undefined,
    parked,
    gate: gate && gatedMail(gate),
    joining: local.heartbeat?.joining?.find(
      (one) =>
        Date.parse(one.until) > now.getTime() &&
        (isIt(one) || (one.actor === actor && one.questions.includes(key))),
    ),
    asks: local.permissions.find(isIt),
    taken,
  };
}

/** State of a delivery; `waiting` if no record keeps it. */
export type DeliveryState = 'running' | 'parked' | 'failed' | 'failing' | 'held' | 'waiting';

/** Returns the state of a delivery, with the details of it. A pure function. */
export function stateOf(
  { run, letter, held }: Pick<Delivery, 'run' | 'letter' | 'held'>,
  now: Date,
): { state: DeliveryState; delay: WebDelay | null } {
  if (run !== undefined) return { state: 'running', delay: { ...NOTHING, since: run.since } };
  // A retry that is due and does not start is held like everything else.
  const isDue = Date.parse(letter?.next_retry_at ?? '1970-01-01') <= now.getTime();
  const isRetried = letter?.state === 'retrying';
  if (letter !== undefined && !(isRetried && isDue && held !== undefined)) {
    const state = letter.state === 'parked' ? 'parked' : isRetried ? 'failing' : 'failed';
    return { state, delay: failureDelay(letter) };
  }
  return held === undefined ? { state: 'waiting', delay: null } : { state: 'held', delay: held };
}

const NOTHING: WebDelay = {
  since: null,
  until: null,
  reason: null,
  said: null,
  attempts: null,
  attempts_allowed: null,
};

/** Returns the reason why mail for an actor of this machine is held, or undefined if nothing holds it. */
function heldBy(
  { paused, holds }: Pick<Local, 'paused' | 'holds'>,
  parked: Delivery['parked'],
): WebDelay | undefined {
  if (paused !== null)
    return { ...NOTHING, reason: 'paused', since: timeOr(paused.since), said: `by ${paused.by}` };
  if (parked === undefined) return undefined;
  const { reason, until } = parked;
  const hold = holds.find((one) => one.reason === reason && one.until === until);
  return {
    ...NOTHING,
    reason,
    since: hold?.since ?? null,
    until: endsByItself(reason) ? until : null,
    said: hold?.said ?? parked.said ?? null,
  };
}

/** Returns the time of a pause, which may be unknown. */
function timeOr(at: string): string | null {
  return Number.isNaN(Date.parse(at)) ? null : at;
}

/** Returns the number of failures of a delivery, with the reason, and the time of the next attempt. */
export function failureDelay(letter: DeadLetter): WebDelay {
  return {
    since: letter.last_failed_at,
    until: letter.next_retry_at ?? null,
    reason: letter.reason,
    said: withoutSequences(letter.detail),
    attempts: letter.attempts_since_release,
    attempts_allowed: letter.attempts_allowed ?? null,
  };
}
