import type { Context } from '../../operations/context.ts';
import { cost, type CostRow } from '../../operations/reading/cost.ts';
import {
  thread,
  type NodeState,
  type Thread,
  type ThreadNode,
} from '../../operations/tracing/thread.ts';
import { askedText } from '../../protocol/text/skill-call.ts';
import { reasonInWords, firedText } from '../../protocol/text/words.ts';
import { suffixOf } from '../../protocol/names.ts';
import { flag, inTransport, note, print, type Call } from '../command/command.ts';
import type { CommandSpec } from '../command/spec.ts';
import { branchInWords } from '../../protocol/text/branch.ts';
import { countOf, dollars, grouped } from '../../protocol/text/amounts.ts';
import { markWords, verifiedMark } from '../view/message.ts';
import { age, colourless, painter } from '../view/render.ts';

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
    return print(call, json, () =>
      [
        ...found.roots.flatMap((root) => lines(call, root, found.message, withCost)),
        ...(bill === undefined ? [] : [billLine(bill)]),
      ].join('\n'),
    );
  });
}

/** What a whole thread has cost, with the runs that came to nothing. */
async function billOf(context: Context, { channel, roots }: Thread): Promise<CostRow[]> {
  const [oldest] = timesOf(roots).sort();
  const since = new Date(Date.parse(oldest ?? '') - DAY_MS);
  const { rows } = await cost(context, { by: 'thread', since });
  return rows.filter(
    (row) => row.channel === channel && roots.some(({ relPath }) => relPath === row.what),
  );
}

/** The times in a thread: the clock that wrote its first message may be ahead of the others. */
function timesOf(roots: readonly ThreadNode[]): string[] {
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

/** A node and the nodes below it, with the lines that connect them; any number of them may be below one another. */
function lines(call: Call, root: ThreadNode, asked: string, withCost: boolean): string[] {
  const printed: string[] = [];
  const ahead = [{ node: root, own: '', below: '' }];
  for (let next = ahead.pop(); next !== undefined; next = ahead.pop()) {
    const { node, own, below } = next;
    printed.push(`${own}${line(call, node, asked, withCost)}`);
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

function line(call: Call, node: ThreadNode, asked: string, withCost: boolean): string {
  const paint = painter(call.io);
  const who = `${node.from} → ${node.to.join(', ')}`;
  const head = [
    node.relPath === asked ? paint('bold', who) : who,
    ...verifiedMark(paint, node.verified),
    paint('cyan', suffixOf(node.relPath)),
    ...marksOf(node).map((word) => paint('yellow', word)),
    ...node.states.map((state) =>
      paint(COLOURS[state.state], words(state) + elsewhere(node, state)),
    ),
    ...(node.subscription === undefined ? [] : [paint('dim', givenWords(node))]),
    ...(node.fired_by === undefined ? [] : [paint('dim', firedText(node.fired_by))]),
    ...(node.asks_for === undefined ? [] : [paint('dim', askedText(node.asks_for))]),
    ...(node.branch === undefined ? [] : [paint('blue', `branch ${branchInWords(node.branch)}`)]),
    ...(withCost && node.usage !== null
      ? [paint('magenta', [...usageWords(node.usage), dollars(node.usage.usd ?? null)].join(' '))]
      : []),
    paint('dim', colourless(node.excerpt.replace(/\s+/g, ' ')).slice(0, 60)),
  ];
  return head.join('  ').trimEnd();
}

/** The subscription that has given it, and the event on which that followed. */
function givenWords({ subscription = '', event }: ThreadNode): string {
  return `by ${subscription}${event === undefined ? '' : ` on event ${event}`}`;
}

/** A proposal is a word on the way as well, which goes without saying. */
function marksOf({ mark, force, proposal, decision }: ThreadNode): string[] {
  return [
    ...(proposal === true ? ['proposal'] : []),
    ...(mark === null || (proposal === true && mark === 'interim') ? [] : [markWords(mark, force)]),
    ...(decision === undefined ? [] : [`decision: ${decision}`]),
  ];
}

const COLOURS = {
  answered: 'green',
  queued: 'yellow',
  running: 'blue',
  failed: 'red',
  cancelled: 'dim',
  parked: 'red',
  silent: 'dim',
  waiting: 'yellow',
} as const;

/** Where the answer is if it does not stand below: an answer to several messages stands below one. */
function elsewhere({ children }: ThreadNode, { state, detail }: NodeState): string {
  if (state !== 'answered' || detail === null) return '';
  return children.some(({ relPath }) => relPath === detail) ? '' : `, in ${suffixOf(detail)}`;
}

function words(node: NodeState): string {
  const { actor, state, detail, took_s: took, delay, failed_on: where, held_up: why, heard } = node;
  switch (state) {
    case 'answered':
      return took === null ? `${actor} reacted` : `${actor} answered after ${age(took)}`;
    case 'running':
      return `running${detail === null ? '' : ` on ${detail}`}`;
    case 'failed':
      return where === undefined
        ? `failed, dead letter ${detail ?? ''} here${retryWords(delay)}`
        : `failed on ${where}, dead letter ${detail ?? ''} there`;
    case 'cancelled':
      return 'cancelled';
    case 'parked':
      return `parked, dead letter ${detail ?? ''} here`;
    case 'queued':
      return 'queued here, not on the remote yet';
    case 'silent':
      return `${actor} said nothing`;
    case 'waiting':
      if (heard !== undefined) return `waiting for ${actor} (${heard})`;
      return `waiting for ${actor}${why === undefined ? heldWords(delay, detail) : `: ${why}`}`;
  }
}

/** How often it was tried, and when it is tried next; nothing if it was given up. */
function retryWords(delay: NodeState['delay'] | undefined): string {
  const { until = null, attempts = null, attempts_allowed: allowed = null } = delay ?? {};
  const made = `attempt ${String(attempts)}${allowed === null ? '' : ` of ${String(allowed)}`}`;
  return until === null ? '' : `; ${made}, next at ${until}`;
}

/**
 * Why it is held, if it is. @param detail the reason as JSON has it, with the time of the next look
 */
function heldWords(delay: NodeState['delay'] | undefined, detail: string | null): string {
  const { reason = null } = delay ?? {};
  const until = / until \S+$/.exec(detail ?? '')?.[0] ?? '';
  return reason === null ? '' : `: ${reasonInWords(reason)}${until}`;
}
