import type { Entry } from './port.ts';

/** A message and all messages that it led to. */
export interface ChatThread {
  root: Entry;
  /** In order of time; `depth` is 1 for messages that answer, or were caused by, the root. */
  others: { entry: Entry; depth: number }[];
  /** relPath of the newest message. */
  last: string;
}

/** Messages deeper than this are not indented further. */
const MAX_DEPTH = 4;

/**
 * Groups messages by thread: each belongs to the first message here that it answers or was caused
 * by. The thread with the newest message comes last.
 *
 * @param entries in the order of their relPath
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

/** Returns the number of messages of a thread that answer another one. */
export function answersIn({ others }: ChatThread): number {
  return others.filter(({ entry }) => entry.re.length > 0).length;
}

/** Merges messages into others, in the order of their relPath; duplicates are dropped. */
export function merged(known: readonly Entry[], more: readonly Entry[]): Entry[] {
  const byPath = new Map([...known, ...more].map((entry) => [entry.relPath, entry]));
  return [...byPath.values()].sort((a, b) => (a.relPath < b.relPath ? -1 : 1));
}
