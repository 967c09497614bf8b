import type { Memory } from './memory.ts';

/** Fields of a memory that determine which memories are in force. */
export type LinkedMemory = Pick<Memory, 'supersedes' | 'name' | 'scope'>;

/** For each replaced memory, those that replace it. */
type Replacements = Map<string, Set<string>>;

/**
 * Returns the superseded memories (protocol.md §9), each with the newest one that replaces it; all others are
 * in force. A memory that is not among the given ones replaces nothing.
 *
 * Memories that supersede each other in a cycle would all be hidden, and a note would be lost. Therefore
 * nothing in the cycle replaces its newest member by file name, although a memory outside may; where several
 * links leave a cycle even then, only newer ones replace older ones in it. So following the replacements from
 * any memory leads to one that is in force. Apart from that, file names have no influence: a machine whose
 * clock is slow may replace a memory written by one whose clock is fast.
 *
 * Besides, at most one memory of a name and scope is in force. Two machines may rewrite it at the same time,
 * and neither supersedes the other's: of those that no other of that name supersedes, the first by {@link
 * Rank} replaces the others. So every machine keeps the same one.
 */
export function supersededBy(memories: ReadonlyMap<string, LinkedMemory>): Map<string, string> {
  const replaced = saidBy(memories);
  const compare = comparedIn(replaced);
  for (const files of groupsOf(memories).values()) {
    const [winner, ...losers] = headsOf(files, replaced).sort(compare);
    if (winner !== undefined) for (const loser of losers) link(replaced, loser, winner);
  }
  const by = new Map<string, string>();
  for (const [old, files] of replaced) {
    const newest = newestOf(files);
    if (newest !== undefined) by.set(old, newest);
  }
  return by;
}

/**
 * Returns the memories of one name and scope that no other of them supersedes; the first one is that which
 * replaces the others.
 */
export function namedHeads(
  memories: ReadonlyMap<string, LinkedMemory>,
  named: { name: string; scope: string },
): string[] {
  const files = groupsOf(memories).get(groupOf(named)) ?? [];
  if (files.length === 0) return [];
  const replaced = saidBy(memories);
  return headsOf(files, replaced).sort(comparedIn(replaced));
}

/** Returns the replacements that the memories themselves state, without cycles. */
function saidBy(memories: ReadonlyMap<string, LinkedMemory>): Replacements {
  const said: Replacements = new Map();
  for (const [file, { supersedes }] of memories)
    for (const old of supersedes) if (memories.has(old)) link(said, old, file);
  return withoutCycles(said);
}

function groupOf({ name, scope }: { name: string; scope: string }): string {
  return `${scope} ${name}`;
}

/** Groups the memories that have a name by name and scope. */
function groupsOf(memories: ReadonlyMap<string, LinkedMemory>): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const [file, { name, scope }] of memories) {
    if (name === undefined) continue;
    const key = groupOf({ name, scope });
    const others = groups.get(key);
    if (others === undefined) groups.set(key, [file]);
    else others.push(file);
  }
  return groups;
}

function headsOf(files: readonly string[], replaced: Replacements): string[] {
  const group = new Set(files);
  return files.filter((file) => ![...(replaced.get(file) ?? [])].some((by) => group.has(by)));
}

/**
 * Rank of a memory among those of its name: the newest file name among it and all that it replaces, directly
 * or not; then the most steps to a memory that replaces nothing; then its own file name. A replacement
 * therefore precedes the memory it replaces, whatever their names are; memories from the future, and any
 * number of them, cannot prevent this, and it makes no cycles.
 */
interface Rank {
  newest: string;
  steps: number;
}

/** Returns a function that compares files by their {@link Rank}, the first one first. */
function comparedIn(replaced: Replacements): (one: string, other: string) => number {
  const ranks = new Map<string, Rank>();
  const rankOf = (file: string): Rank => ranks.get(file) ?? { newest: file, steps: 0 };
  // The parts at the end of links come before those that lead to them; without cycles each part is one file.
  for (const old of [...partsOf(replaced).keys()].reverse()) {
    const { newest, steps } = rankOf(old);
    for (const by of replaced.get(old) ?? []) {
      const known = rankOf(by);
      ranks.set(by, {
        newest: newest > known.newest ? newest : known.newest,
        steps: Math.max(known.steps, steps + 1),
      });
    }
  }
  return (one, other) => {
    const [a, b] = [rankOf(one), rankOf(other)];
    if (a.newest !== b.newest) return a.newest > b.newest ? -1 : 1;
    if (a.steps !== b.steps) return b.steps - a.steps;
    return one === other ? 0 : one > other ? -1 : 1;
  };
}

function withoutCycles(links: Replacements): Replacements {
  const newestStays = cut(links, (old, _, newest) => old !== newest);
  return cut(newestStays, (old, by) => old < by);
}

/**
 * Removes links within a cycle for which `keeps` is false.
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

/** Position of the search in the links of one node. */
interface Step {
  node: string;
  rest: Iterator<string>;
}

/**
 * Finds the parts of a graph within which every node can be reached from every other (Tarjan, 1972), in time that is
 * linear in its size. Anybody who can push makes links, so this does not recurse.
 *
 * @param links the nodes to which each node leads
 * @returns for each node its part, which contains it alone unless it is in a cycle
 */
function partsOf(
  links: ReadonlyMap<string, ReadonlySet<string>>,
): Map<string, ReadonlySet<string>> {
  const parts = new Map<string, ReadonlySet<string>>();
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const open: string[] = [];
  const trail: Step[] = [];
  const lower = (node: string, value: number): void => {
    lowest.set(node, Math.min(lowest.get(node) ?? value, value));
  };
  const enter = (node: string): void => {
    order.set(node, order.size);
    lower(node, order.size - 1);
    open.push(node);
    trail.push({ node, rest: (links.get(node) ?? new Set<string>()).values() });
  };
  const leave = ({ node }: Step): void => {
    trail.pop();
    const reached = lowest.get(node) ?? 0;
    const before = trail.at(-1);
    if (before !== undefined) lower(before.node, reached);
    if (reached !== order.get(node)) return;
    const part = new Set(open.splice(open.lastIndexOf(node)));
    for (const one of part) parts.set(one, part);
  };
  for (const start of links.keys()) {
    if (order.has(start)) continue;
    enter(start);
    for (let step = trail.at(-1); step !== undefined; step = trail.at(-1)) {
      const next = step.rest.next();
      if (next.done === true) leave(step);
      else if (!order.has(next.value)) enter(next.value);
      // A node of a finished part is not in a cycle with this one.
      else if (!parts.has(next.value)) lower(step.node, order.get(next.value) ?? 0);
    }
  }
  return parts;
}
