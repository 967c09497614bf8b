import type { Memory } from './memory.ts';
import { partsOf } from './strong-parts.ts';

/** What of a memory decides which ones are in force. */
export type LinkedMemory = Pick<Memory, 'supersedes' | 'name' | 'scope'>;

/** For each memory that is replaced, those that replace it. */
type Replacements = Map<string, Set<string>>;

/**
 * The memories that are superseded (protocol.md §9), each with the newest one that replaces it; all
 * others are in force. A memory that is not among the given ones replaces nothing.
 *
 * Besides, at most one memory of a name and scope is in force. Two machines may write it anew at the same
 * time, and neither supersedes what the other has written: of those that no other of that name supersedes, the newest by
 * file name replaces the others. So every machine keeps the same one.
 *
 * Memories that supersede each other in a cycle would all be hidden, and a note would be lost.
 * Therefore nothing in the cycle replaces its newest member by file name, although a memory outside
 * may; where several links leave a cycle even then, only newer ones replace older ones in it. So following the
 * replacements from any memory leads to one that is in force. Apart from that
 * file names decide nothing: a machine whose clock is slow may replace what was written by one whose
 * clock is fast.
 */
export function supersededBy(memories: ReadonlyMap<string, LinkedMemory>): Map<string, string> {
  const said: Replacements = new Map();
  for (const [file, { supersedes }] of memories)
    for (const old of supersedes) if (memories.has(old)) link(said, old, file);
  const replaced = withoutCycles(said);
  for (const [loser, winner] of outnamed(memories, replaced)) link(replaced, loser, winner);
  const by = new Map<string, string>();
  for (const [old, files] of withoutCycles(replaced)) {
    const newest = newestOf(files);
    if (newest !== undefined) by.set(old, newest);
  }
  return by;
}

/** The memories of one name and scope that no other of them supersedes. */
export function namedHeads(
  memories: ReadonlyMap<string, LinkedMemory>,
  { name, scope }: { name: string; scope: string },
): string[] {
  const group = new Map(
    [...memories].filter(([, one]) => one.name === name && one.scope === scope),
  );
  const replaced = new Set([...group.values()].flatMap(({ supersedes }) => supersedes));
  const heads = [...group.keys()].filter((file) => !replaced.has(file));
  // In a cycle each one is superseded; whoever writes the next one replaces them all.
  return heads.length > 0 ? heads : [...group.keys()];
}

/** Of each name, the memories that the newest one replaces because it has that name, with that one. */
function outnamed(
  memories: ReadonlyMap<string, LinkedMemory>,
  replaced: Replacements,
): [loser: string, winner: string][] {
  const groups = new Map<string, string[]>();
  for (const [file, { name, scope }] of memories) {
    if (name === undefined) continue;
    const key = `${scope} ${name}`;
    const others = groups.get(key);
    if (others === undefined) groups.set(key, [file]);
    else others.push(file);
  }
  return [...groups.values()].flatMap((files) => {
    const group = new Set(files);
    const heads = files.filter(
      (file) => ![...(replaced.get(file) ?? [])].some((by) => group.has(by)),
    );
    const winner = newestOf(heads);
    if (winner === undefined) return [];
    return heads.filter((file) => file !== winner).map((file): [string, string] => [file, winner]);
  });
}

function withoutCycles(links: Replacements): Replacements {
  const newestStays = cut(links, (old, _, newest) => old !== newest);
  return cut(newestStays, (old, by) => old < by);
}

/**
 * Leaves out links within a cycle for which `keeps` is false.
 *
 * @param keeps receives the newest member of the cycle too
 */
function cut(
  links: Replacements,
  keeps: (old: string, by: string, newest: string) => boolean,
): Replacements {
  const kept: Replacements = new Map();
  const partOf = partsOf(links);
  const newestIn = new Map<ReadonlySet<string>, string>();
  for (const part of new Set(partOf.values())) newestIn.set(part, newestOf(part) ?? '');
  for (const [old, files] of links) {
    const part = partOf.get(old) ?? new Set();
    const newest = newestIn.get(part) ?? '';
    for (const by of files) if (!part.has(by) || keeps(old, by, newest)) link(kept, old, by);
  }
  return kept;
}

function link(links: Replacements, old: string, by: string): void {
  const known = links.get(old);
  if (known === undefined) links.set(old, new Set([by]));
  else known.add(by);
}

function newestOf(files: Iterable<string>): string | undefined {
  let newest: string | undefined;
  for (const file of files) if (newest === undefined || file > newest) newest = file;
  return newest;
}
