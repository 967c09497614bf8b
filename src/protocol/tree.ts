import type { Located } from './message.ts';

/** A message of a thread, below the message it answers, or otherwise below the one that caused it. */
export interface Branch extends Located {
  children: Branch[];
}

/**
 * The causal tree of some messages of one channel. Each is below the first message it answers, or,
 * without one, below the first message that caused it; in a cycle of messages that name each other
 * the oldest is the root.
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
