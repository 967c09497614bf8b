import { chainLevels, originsOf, type Lookup } from './causality.ts';
import type { Located } from './message.ts';
import { byTime, placeOfRef } from './reference.ts';

/**
 * The thread behind a batch (issue of the prompt, protocol.md §4): the causal chain of what is
 * delivered, and what else the actor wrote for the same questions, its answers to them too, with what
 * came back, so that a CLI without memory knows what it asked whom and what it has said. The batch
 * itself is left out.
 *
 * @param channel the channel's messages since the chain's oldest, in any order
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
 * The first message of the thread that a batch belongs to: what it descends from, by `re` and `cause`,
 * that descends from nothing itself; the oldest by path where there are several, and where the beginning
 * is not known.
 *
 * @param batch at least one message
 */
export function threadRoot(batch: readonly Located[], lookup: Lookup): string {
  return threadRoots(batch, lookup)[0] ?? '';
}

/** All that a batch descends from and that descends from nothing itself, by path; see {@link threadRoot}. */
export function threadRoots(batch: readonly Located[], lookup: Lookup): string[] {
  const all = chainLevels(batch, lookup).flat();
  const roots = all.filter(({ message }) => message.re.length === 0 && message.cause.length === 0);
  const paths = (roots.length > 0 ? roots : all).map(({ relPath }) => relPath);
  return paths.sort(byTime);
}

/** The relPath of the oldest message the thread of a batch can hold; undefined when nothing precedes it. */
export function threadStart(batch: readonly Located[], lookup: Lookup): string | undefined {
  const [, ...behind] = chainLevels(batch, lookup);
  const paths = behind.flat().map(({ relPath }) => relPath);
  const first = paths.sort(byTime)[0];
  return first === undefined ? undefined : placeOfRef('', first).relPath;
}
