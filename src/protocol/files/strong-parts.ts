/** Where the walk is in the links of one node. */
interface Step {
  node: string;
  rest: Iterator<string>;
}

/**
 * The parts of a graph within which every node can be reached from every other (Tarjan, 1972), in time that
 * grows with its size. Links come from whoever can push, so nothing here calls itself.
 *
 * @param links the nodes to which each node leads
 * @returns for each node its part, which holds it alone unless it is in a cycle
 */
export function partsOf(
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
      // A node of a finished part is in no cycle with this one.
      else if (!parts.has(next.value)) lower(step.node, order.get(next.value) ?? 0);
    }
  }
  return parts;
}
