import type { Entry } from './port.ts';

/** A message and everything that came of it. */
export interface ChatThread {
  root: Entry;
  /** By time; `depth` is 1 for what answers or was caused by the root. */
  others: { entry: Entry; depth: number }[];
  /** relPath of the newest. */
  last: string;
}

/** Deeper ones stand no further to the right. */
const MAX_DEPTH = 4;

/**
 * Messages by thread: each belongs below the first message here that it answers or was caused by.
 * The thread in which something was said last comes last.
 *
 * @param entries by relPath
 */
export function threadsOf(entries: readonly Entry[]): ChatThread[] {
  const threads = new Map<string, ChatThread>();
  const places = new Map<string, { thread: ChatThread; depth: number }>();
  for (const entry of entries) {
    const origin = [...entry.re, ...entry.cause].find((relPath) => places.has(relPath));
    const above = origin === undefined ? undefined : places.get(origin);
    if (above === undefined) {
      const thread = { root: entry, others: [], last: entry.relPath };
      threads.set(entry.relPath, thread);
      places.set(entry.relPath, { thread, depth: 0 });
      continue;
    }
    const { thread } = above;
    const depth = Math.min(above.depth + 1, MAX_DEPTH);
    thread.others.push({ entry, depth });
    thread.last = entry.relPath;
    places.set(entry.relPath, { thread, depth });
  }
  return [...threads.values()].sort((a, b) => (a.last < b.last ? -1 : 1));
}

/** How many messages of a thread answer another. */
export function answersIn({ others }: ChatThread): number {
  return others.filter(({ entry }) => entry.re.length > 0).length;
}

/** Adds messages to others, by relPath; the same one counts once. */
export function merged(known: readonly Entry[], more: readonly Entry[]): Entry[] {
  const byPath = new Map([...known, ...more].map((entry) => [entry.relPath, entry]));
  return [...byPath.values()].sort((a, b) => (a.relPath < b.relPath ? -1 : 1));
}
