import { isTo, type Lookup } from './causality.ts';
import type { Located, Message } from './message.ts';

/** Name in a tier's `only_from` for anybody who signs with a key that is pinned on the machine. */
export const PINNED = 'pinned';

/** Most messages behind a delivery for which its thread is judged. */
const MAX_MESSAGES = 2000;

/** The messages behind a delivery, or the reason why they do not show who started its thread. */
export type Descent = { ok: true; chain: Located[]; roots: Located[] } | { ok: false; why: string };

/**
 * Collects all messages from which a delivery descends by `re` and `cause`, and among them those that descend from
 * nothing, which started its thread. A link is a claim of the message's pusher: it counts only if the message's writer
 * took part in the linked one ({@link involves}).
 *
 * @param isOwn whether a name is that of an actor of this machine, which knows the messages that the actor has written
 */
export function descentOf(
  delivered: Located,
  lookup: Lookup,
  isOwn: (name: string) => boolean,
): Descent {
  const chain = new Map<string, Located>([[delivered.relPath, delivered]]);
  const roots: Located[] = [];
  for (const located of chain.values()) {
    const { from, re, cause } = located.message;
    const named = [...re, ...cause];
    if (named.length === 0) roots.push(located);
    let isPart = named.length === 0;
    for (const ref of named) {
      const message = lookup(ref);
      if (message === undefined) return { ok: false, why: `${ref}, which led to it, is not there` };
      isPart ||= involves(message, from, isOwn(from));
      chain.set(ref, chain.get(ref) ?? { relPath: ref, message });
      if (chain.size > MAX_MESSAGES) return { ok: false, why: 'its thread is too long' };
    }
    if (!isPart)
      return {
        ok: false,
        why: `nothing that ${located.relPath} names was to ${from} by name, or from it`,
      };
  }
  const behind = new Map(Array.from(chain, ([ref, { message }]) => [ref, message]));
  if (isCircular(behind)) return { ok: false, why: 'what led to it names itself' };
  return { ok: true, chain: [...chain.values()], roots };
}

/**
 * Whether a message makes somebody a participant of the messages that build on it: its writer, and everybody
 * it names. A message to `all` names nobody, or one announcement would let every stranger in; it reaches the
 * actors of this machine all the same.
 */
function involves(message: Message, name: string, isOwn: boolean): boolean {
  if (message.from === name || (isOwn && isTo(message, name))) return true;
  return message.type === 'text' && message.to.some((address) => address.name === name);
}

/**
 * Whether the writer of a delivery to an actor, and the writers of all messages behind it, took part in the
 * messages before theirs ({@link involves}). A message that reacts to nothing starts a new thread.
 */
export function isAmongItsOwn(delivered: Located, actor: string, lookup: Lookup): boolean {
  const chain = new Map<string, Message>([[delivered.relPath, delivered.message]]);
  for (const [, { re, cause }] of chain)
    for (const ref of [...re, ...cause]) {
      const message = lookup(ref);
      if (message === undefined || chain.size > MAX_MESSAGES) return false;
      if (!chain.has(ref)) chain.set(ref, message);
    }
  if (isCircular(chain)) return false;
  return [...chain.values()].every((message) => tookPart(message, actor, chain));
}

/**
 * Whether some of the messages behind a delivery name themselves, directly or indirectly. A message written
 * after those it names never does; without this check, a message could make its own writer a participant.
 */
function isCircular(chain: ReadonlyMap<string, Message>): boolean {
  const followers = new Map<string, string[]>();
  const waiting = new Map<string, number>();
  for (const [ref, { re, cause }] of chain) {
    const named = new Set([...re, ...cause]);
    waiting.set(ref, named.size);
    for (const one of named) {
      const known = followers.get(one);
      if (known === undefined) followers.set(one, [ref]);
      else known.push(ref);
    }
  }
  const ready = [...waiting.keys()].filter((ref) => waiting.get(ref) === 0);
  for (const ref of ready)
    for (const follower of followers.get(ref) ?? []) {
      const left = (waiting.get(follower) ?? 0) - 1;
      waiting.set(follower, left);
      if (left === 0) ready.push(follower);
    }
  return ready.length < chain.size;
}

/** Whether any message behind a message involves its writer. */
function tookPart(
  { from, re, cause }: Message,
  actor: string,
  chain: ReadonlyMap<string, Message>,
): boolean {
  const behind = new Set([...re, ...cause]);
  if (behind.size === 0) return true;
  for (const ref of behind) {
    const message = chain.get(ref);
    if (message === undefined) continue;
    if (involves(message, from, from === actor)) return true;
    for (const further of [...message.re, ...message.cause]) behind.add(further);
  }
  return false;
}

/** A machine's knowledge of the writer of a message. */
export interface Known {
  /** Whether its writer signed it; undefined if no key of that name is pinned. */
  verified: boolean | undefined;
  /** Whether it is in the name of an actor of this machine, which has not written it. */
  isForged: boolean;
}

/**
 * Returns the reason why a tier that serves only some names does not accept a task: each message that started its
 * thread has to be signed by one of them, and no message behind it may claim a pinned name, or that of an actor of this
 * machine, without proof.
 *
 * @returns undefined if it is accepted
 */
export function notAccepted(
  { chain, roots }: Extract<Descent, { ok: true }>,
  names: readonly string[],
  known: (located: Located) => Known,
): string | undefined {
  const claimed = chain.find((located) => known(located).verified === false);
  if (claimed !== undefined)
    return `${claimed.relPath} says that it is from ${claimed.message.from}, and is not signed by that name`;
  const forged = chain.find((located) => known(located).isForged);
  if (forged !== undefined)
    return `${forged.relPath} says that it is from ${forged.message.from}, and this machine has no record of having written it`;
  const isAny = names.includes(PINNED);
  const other = roots.find(({ message }) => !isAny && !names.includes(message.from));
  if (other !== undefined)
    return `${other.relPath}, with which it began, is from ${other.message.from}, and only ${names.join(', ')} may ask`;
  const unknown = roots.find((located) => known(located).verified === undefined);
  return (
    unknown &&
    `no key of ${unknown.message.from} is pinned on this machine: pin the one that has signed its message: crosstalk key pin ${unknown.message.from} ${unknown.relPath}`
  );
}
