import { EVERYONE } from './address.ts';
import { activation } from './activation.ts';
import { isQuestion, openQuestions, type Lookup } from './causality.ts';
import type { Located } from './message.ts';
import { unanswered } from './pending.ts';
import { byTime } from './layout.ts';

/** An actor and the host that serves it. */
export interface ServedActor {
  host: string;
  actor: string;
}

/** The result of dividing a channel: the part that may leave the checkout and the history, and the part that stays. */
export interface Split {
  /** relPaths of conversations that ended before the day. */
  ended: string[];
  /** Messages before the day that still have to be answered. */
  waiting: string[];
  /** Number of messages that stay: those of the day and later, those that wait, and the rest of their conversations. */
  kept: number;
}

/** The relations of a channel that is divided to other channels. */
export interface Beyond {
  /**
   * Messages of other channels, with names relative to this one: those that name messages of this
   * channel, those that its own messages name, and answers to the latter.
   */
  others: readonly Located[];
  /** Looks up messages further back in the causal chains, in any channel. */
  lookup: Lookup;
  /** Messages of this channel that stay because other parts of their conversations stay elsewhere. */
  staying: readonly string[];
}

/**
 * Divides a channel at a day. A conversation (everything connected by `re` and `cause`) is archived as a
 * whole when its last message is older than the day and nothing in it waits for an answer. Therefore a scan
 * of the rest finds neither a question without its answer nor an answer without its question (protocol.md
 * §5).
 *
 * @param messages of one channel, with names relative to it, in path order; bodies are ignored
 * @param before the first day that stays, as `YYYY/MM/DD`
 * @param withWaiting whether conversations that wait for an answer are archived too
 */
export function splitAt(
  messages: readonly Located[],
  before: string,
  served: readonly ServedActor[],
  withWaiting: boolean,
  beyond: Beyond = { others: [], lookup: () => undefined, staying: [] },
): Split {
  const old = messages.filter(({ relPath }) => relPath < before);
  const waiting = waitingOf(messages, beyond, served).filter((relPath) => relPath < before);
  const sets = new Sets();
  for (const { relPath, message } of messages)
    for (const origin of [...message.re, ...message.cause]) sets.join(relPath, origin);
  const stays = new Set<string>();
  for (const { relPath } of messages) if (relPath >= before) stays.add(sets.of(relPath));
  for (const relPath of beyond.staying) stays.add(sets.of(relPath));
  if (!withWaiting) for (const relPath of waiting) stays.add(sets.of(relPath));
  const ended = old.flatMap(({ relPath }) => (stays.has(sets.of(relPath)) ? [] : [relPath]));
  return { ended, waiting, kept: messages.length - ended.length };
}

/** Finds messages that still have to be answered: by actors that hosts serve, or tasks for other names. */
function waitingOf(
  messages: readonly Located[],
  { others, lookup: further }: Pick<Beyond, 'others' | 'lookup'>,
  served: readonly ServedActor[],
): string[] {
  const byPath = new Map(
    [...messages, ...others].map(({ relPath, message }) => [relPath, message]),
  );
  const lookup: Lookup = (ref) => byPath.get(ref) ?? further(ref);
  const senderOf = (relPath: string): string | undefined => byPath.get(relPath)?.from;
  const found = new Set<string>();
  const byName = new Map<string, Located[]>();
  for (const item of [...messages, ...others]) {
    const own = byName.get(item.message.from);
    if (own === undefined) byName.set(item.message.from, [item]);
    else own.push(item);
  }
  for (const { host, actor } of served) {
    const waking = messages.filter(
      ({ message }) =>
        message.to.some(({ name }) => name === actor || name === EVERYONE) &&
        activation(message, actor, host, senderOf).wakes,
    );
    // Compared by file name: if a clock was behind, one message more stays.
    const isLater = (answer: string, delivered: string): boolean => byTime(answer, delivered) > 0;
    for (const open of unanswered(waking, byName.get(actor) ?? [], actor, lookup, isLater)) {
      const isTask = isQuestion(open.message);
      // The end of an exchange that the actor started itself needs no answer.
      if (isTask || openQuestions(open, actor, lookup).length > 0) found.add(open.relPath);
    }
  }
  const known = new Set(served.map(({ actor }) => actor).concat(EVERYONE));
  const named = new Map<string, Set<string>>();
  for (const [name, own] of byName)
    named.set(name, new Set(own.flatMap(({ message }) => [...message.re, ...message.cause])));
  for (const { relPath, message } of messages) {
    if (!isQuestion(message) || message.type !== 'text') continue;
    const owed = message.to.some(
      ({ name }) => !known.has(name) && named.get(name)?.has(relPath) !== true,
    );
    if (owed) found.add(relPath);
  }
  return [...found].sort();
}

/** Disjoint sets of relPaths. */
class Sets {
  readonly #parents = new Map<string, string>();

  /** Returns the member that represents the set of this one. */
  of(member: string): string {
    let root = member;
    for (let up = this.#parents.get(root); up !== undefined; up = this.#parents.get(root))
      root = up;
    for (let at = member; at !== root;) {
      const up = this.#parents.get(at) ?? root;
      this.#parents.set(at, root);
      at = up;
    }
    return root;
  }

  join(one: string, other: string): void {
    const [a, b] = [this.of(one), this.of(other)];
    if (a !== b) this.#parents.set(a, b);
  }
}
