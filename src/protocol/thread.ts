import { chainLevels, originsOf, type Lookup } from './causality.ts';
import type { Located } from './message.ts';
import { byTime, placeOfRef } from './reference.ts';

/**
 * Collects the thread behind a batch (protocol.md §4): the causal chain of the delivered messages, the other messages
 * that the actor wrote for the same questions, including its answers, and the reactions to them. So a CLI without
 * memory knows its earlier questions and answers. The batch itself is left out.
 *
 * @param channel the channel's messages since the oldest one of the chain, in any order
 * @returns oldest first, by path
 */
export function threadOf(
  batch: readonly Located[],
  actor: string,
  channel: readonly Located[],
  lookup: Lookup,
): Located[] {
  const thread = new Map<string, Located>();
  for (const located of chainLevels(batch, lookup).flat()) thread.set(located.relPath, located);
  const asked = new Set(
    [...thread.values()].flatMap(({ message }) =>
      message.from === actor ? originsOf(message) : [],
    ),
  );
  const own = channel.filter(
    ({ message }) =>
      message.from === actor &&
      [...message.re, ...message.cause].some((origin) => asked.has(origin)),
  );
  for (const located of own) thread.set(located.relPath, located);
  const ownPaths = new Set(own.map(({ relPath }) => relPath));
  for (const located of channel) {
    if (located.message.re.some((relPath) => ownPaths.has(relPath)))
      thread.set(located.relPath, located);
  }
  for (const { relPath } of batch) thread.delete(relPath);
  return [...thread.values()].sort((a, b) => byTime(a.relPath, b.relPath));
}

/**
 * Returns the first message of the thread to which a batch belongs: the message from which the batch descends by `re`
 * and `cause` and that descends from nothing itself. If there are several, or the start is unknown, the oldest one by
 * path.
 *
 * @param batch at least one message
 */
export function threadRoot(batch: readonly Located[], lookup: Lookup): string {
  return threadRoots(batch, lookup)[0] ?? '';
}

/**
 * Returns all messages from which a batch descends and that descend from nothing themselves, by path; see
 * {@link threadRoot}.
 */
export function threadRoots(batch: readonly Located[], lookup: Lookup): string[] {
  const all = chainLevels(batch, lookup).flat();
  const roots = all.filter(({ message }) => message.re.length === 0 && message.cause.length === 0);
  const paths = (roots.length > 0 ? roots : all).map(({ relPath }) => relPath);
  return paths.sort(byTime);
}

/**
 * Returns the relPath of the oldest message that can be in the thread of a batch; undefined when nothing
 * precedes the batch.
 */
export function threadStart(batch: readonly Located[], lookup: Lookup): string | undefined {
  const [, ...behind] = chainLevels(batch, lookup);
  const paths = behind.flat().map(({ relPath }) => relPath);
  const first = paths.sort(byTime)[0];
  return first === undefined ? undefined : placeOfRef('', first).relPath;
}

/** A message of a thread, below the message it answers, or otherwise below the one that caused it. */
export interface Branch extends Located {
  children: Branch[];
}

/**
 * Builds the causal tree of some messages of one channel. Each is below the first message it answers, or, without one,
 * below the first message that caused it; in a cycle of messages that name each other the oldest is the root.
 *
 * @returns the messages that are below no other, oldest first
 */
export function treesOf(messages: readonly Located[]): Branch[] {
  const sorted = [...messages].sort((a, b) => (a.relPath < b.relPath ? -1 : 1));
  const branches = new Map<string, Branch>(
    sorted.map((item) => [item.relPath, { ...item, children: [] }]),
  );
  const parents = new Map<string, Branch>();
  const isBelow = (branch: Branch, other: Branch): boolean => {
    for (let up: Branch | undefined = branch; up !== undefined; up = parents.get(up.relPath))
      if (up === other) return true;
    return false;
  };
  const roots: Branch[] = [];
  // Starting with the newest, so that in a cycle the oldest message finds all others below itself.
  for (const branch of [...branches.values()].reverse()) {
    const { re, cause } = branch.message;
    const named = [...re, ...cause].flatMap((relPath) => branches.get(relPath) ?? []);
    const parent = named.find((one) => !isBelow(one, branch));
    if (parent === undefined) {
      roots.unshift(branch);
      continue;
    }
    parents.set(branch.relPath, parent);
    parent.children.unshift(branch);
  }
  return roots;
}
