import { formatAddress } from '../protocol/address.ts';
import { originsOf } from '../protocol/causality.ts';
import type { Located } from '../protocol/message.ts';

/** A message and the messages that it caused, oldest first. */
interface Node extends Located {
  children: Node[];
}

/**
 * Formats the causal tree of some messages: the writers and recipients, and the time after the cause.
 *
 * @param messages in any order
 */
export function causalTree(messages: readonly Located[]): string[] {
  const sorted = [...messages].sort(
    (a, b) => Date.parse(a.message.timestamp) - Date.parse(b.message.timestamp),
  );
  const nodes = new Map<string, Node>(
    sorted.map((item) => [item.relPath, { ...item, children: [] }]),
  );
  const roots: Node[] = [];
  for (const node of nodes.values()) {
    const parent = originsOf(node.message)
      .map((path) => nodes.get(path))
      .find((found) => found !== undefined);
    (parent === undefined ? roots : parent.children).push(node);
  }
  return roots.flatMap((root) => [line(root), ...branches(root, '')]);
}

function branches(node: Node, prefix: string): string[] {
  return node.children.flatMap((child, index) => {
    const last = index === node.children.length - 1;
    const took = (Date.parse(child.message.timestamp) - Date.parse(node.message.timestamp)) / 1000;
    return [
      `${prefix}${last ? '└─ ' : '├─ '}${line(child)}  +${took.toFixed(2)} s`,
      ...branches(child, `${prefix}${last ? '   ' : '│  '}`),
    ];
  });
}

function line({ message }: Located): string {
  const first = message.body.trim().split('\n')[0] ?? '';
  const text = first.length > 60 ? `${first.slice(0, 57)}...` : first;
  return `${message.from} → ${message.to.map(formatAddress).join(', ')}: ${text}`;
}
