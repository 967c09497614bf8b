import type { Context } from '../../actions/context.ts';
import { cost, type CostRow } from '../../actions/reading/cost.ts';
import { thread } from '../../actions/tracing/thread.ts';
import type { WebState, WebThread, WebThreadNode } from '../../api/api.ts';
import { inWords, presentAll, type Reader, type Tone } from '../../present/state.ts';
import { resolveFrom } from '../../actions/lookup/resolve.ts';
import { askedText } from '../../protocol/text/skill-call.ts';
import { firedText, countOf, dollars, grouped } from '../../protocol/text/words.ts';
import { suffixOf } from '../../protocol/layout.ts';
import { flag, inTransport, note, print, type Call } from '../command/command.ts';
import type { CommandSpec } from '../command/spec.ts';
import { verifiedMark } from '../view/message.ts';
import { colourless, painter } from '../view/render.ts';
import { branchMark, marksOf } from '../../present/marks.ts';

export const commands: readonly CommandSpec[] = [
  {
    name: 'thread',
    args: '<message>',
    summary: 'who asked whom, what was answered, and what is still open',
    options: [['--cost', 'with what each run used, and the bill of the whole thread']],
    inRun: true,
    example: 'crosstalk thread 1f2e3d4c',
    paged: true,
    run,
  },
];

function run(call: Call): Promise<number> {
  return inTransport(call, async (context) => {
    const found = await thread(context, call.args[0] ?? '');
    if (!found.complete) note(call, 'the thread is very long; this is a part of it');
    const withCost = flag(call, 'cost');
    const bill = withCost ? await billOf(context, found) : undefined;
    const json = bill === undefined ? found : { ...found, cost: bill };
    const reader = { me: resolveFrom(context, undefined, call.io.login) };
    return print(call, json, () =>
      [
        ...found.roots.flatMap((root) =>
          lines(call, root, { asked: found.message, withCost, reader }),
        ),
        ...(bill === undefined ? [] : [billLine(bill)]),
      ].join('\n'),
    );
  });
}

/** Words the cost of a whole thread, with the runs that came to nothing. */
async function billOf(context: Context, { channel, roots }: WebThread): Promise<CostRow[]> {
  const [oldest] = timesOf(roots).sort();
  const since = new Date(Date.parse(oldest ?? '') - DAY_MS);
  const { rows } = await cost(context, { by: 'thread', since });
  return rows.filter(
    (row) => row.channel === channel && roots.some(({ relPath }) => relPath === row.what),
  );
}

/** Returns the times in a thread: the clock that wrote its first message may be ahead of the others. */
function timesOf(roots: readonly WebThreadNode[]): string[] {
  const times: string[] = [];
  const ahead = [...roots];
  for (let node = ahead.pop(); node !== undefined; node = ahead.pop()) {
    times.push(node.timestamp);
    ahead.push(...node.children);
  }
  return times;
}

/** A clock may be behind. */
const DAY_MS = 86_400_000;

function billLine(bill: readonly CostRow[]): string {
  const sum = (of: (row: CostRow) => number): number => bill.reduce((all, row) => all + of(row), 0);
  const usd = bill.some((row) => row.usd !== null) ? sum((row) => row.usd ?? 0) : null;
  const failed = sum((row) => row.failed);
  return [
    `${countOf(
      sum((row) => row.runs),
      'run',
    )}${failed === 0 ? '' : `, ${String(failed)} of them failed`}`,
    ...usageWords({
      input: sum((row) => row.input),
      cached: sum((row) => row.cached),
      output: sum((row) => row.output),
    }),
    dollars(usd),
  ].join('  ');
}

function usageWords({
  input,
  cached,
  output,
}: {
  input: number;
  cached: number;
  output: number;
}): string[] {
  return [`${grouped(input)} in`, `${grouped(cached)} cached`, `${grouped(output)} out`];
}

/** Requested message, and the form of each. */
interface Shown {
  asked: string;
  withCost: boolean;
  reader: Reader;
}

/**
 * Returns a node and the nodes below it, with the lines that connect them; any number of them may be below one
 * another.
 */
function lines(call: Call, root: WebThreadNode, shown: Shown): string[] {
  const printed: string[] = [];
  const ahead = [{ node: root, own: '', below: '' }];
  for (let next = ahead.pop(); next !== undefined; next = ahead.pop()) {
    const { node, own, below } = next;
    printed.push(`${own}${line(call, node, shown)}`);
    const last = node.children.length - 1;
    for (const [at, child] of [...node.children.entries()].reverse())
      ahead.push({
        node: child,
        own: `${below}${at === last ? '└─ ' : '├─ '}`,
        below: `${below}${at === last ? '   ' : '│  '}`,
      });
  }
  return printed;
}

function line(call: Call, node: WebThreadNode, { asked, withCost, reader }: Shown): string {
  const paint = painter(call.io);
  const who = `${node.from} → ${node.to.join(', ')}`;
  const head = [
    node.relPath === asked ? paint('bold', who) : who,
    ...verifiedMark(paint, node.verified),
    paint('cyan', suffixOf(node.relPath)),
    ...marksOf(node).map((word) => paint('yellow', word)),
    ...presentAll(node.states, reader).map((state, at) =>
      paint(COLOURS[state.tone], inWords(state) + elsewhere(node, node.states[at])),
    ),
    ...(node.subscription === undefined ? [] : [paint('dim', givenWords(node))]),
    ...(node.fired_by === undefined ? [] : [paint('dim', firedText(node.fired_by))]),
    ...(node.asks_for === undefined ? [] : [paint('dim', askedText(node.asks_for))]),
    ...branchMark(node).map((words) => paint('blue', words)),
    ...(withCost && node.usage !== null
      ? [paint('magenta', [...usageWords(node.usage), dollars(node.usage.usd ?? null)].join(' '))]
      : []),
    paint('dim', colourless(node.excerpt.replace(/\s+/g, ' ')).slice(0, 60)),
  ];
  return head.join('  ').trimEnd();
}

/** Words the subscription that produced it, and the event that caused that. */
function givenWords({ subscription = '', event }: WebThreadNode): string {
  return `by ${subscription}${event === undefined ? '' : ` on event ${event}`}`;
}

const COLOURS: Record<Tone, Parameters<ReturnType<typeof painter>>[0]> = {
  good: 'green',
  busy: 'blue',
  wait: 'yellow',
  held: 'yellow',
  bad: 'red',
  dim: 'dim',
};

/** Words the place of the answer if it does not stand below: an answer to several messages stands below one. */
function elsewhere(
  { children }: WebThreadNode,
  { state, detail = null }: Partial<WebState> = {},
): string {
  if (state !== 'answered' || detail === null) return '';
  return children.some(({ relPath }) => relPath === detail) ? '' : `, in ${suffixOf(detail)}`;
}
