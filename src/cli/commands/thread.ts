import { thread, type NodeState, type ThreadNode } from '../../operations/tracing/thread.ts';
import { reasonInWords } from '../../protocol/text/reasons.ts';
import { suffixOf } from '../../protocol/names.ts';
import { inTransport, note, print, type Call } from '../command/command.ts';
import { age, colourless, painter } from '../view/render.ts';

export function run(call: Call): Promise<number> {
  return inTransport(call, async (context) => {
    const found = await thread(context, call.args[0] ?? '');
    if (!found.complete) note(call, 'the thread is very long; this is a part of it');
    return print(call, found, () =>
      found.roots.flatMap((root) => lines(call, root, found.message)).join('\n'),
    );
  });
}

/** A node and the nodes below it, with the lines that connect them. */
function lines(call: Call, node: ThreadNode, asked: string): string[] {
  const below = node.children.flatMap((child, at) => {
    const isLast = at === node.children.length - 1;
    const [first = '', ...others] = lines(call, child, asked);
    return [
      `${isLast ? '└─ ' : '├─ '}${first}`,
      ...others.map((line) => `${isLast ? '   ' : '│  '}${line}`),
    ];
  });
  const paint = painter(call.io);
  const who = `${node.from} → ${node.to.join(', ')}`;
  const head = [
    node.relPath === asked ? paint('bold', who) : who,
    paint('cyan', suffixOf(node.relPath)),
    ...(node.mark === null ? [] : [paint('yellow', MARKS[node.mark])]),
    ...node.states.map((state) =>
      paint(COLOURS[state.state], words(state) + elsewhere(node, state)),
    ),
    paint('dim', colourless(node.excerpt.replace(/\s+/g, ' ')).slice(0, 60)),
  ];
  return [head.join('  ').trimEnd(), ...below];
}

const MARKS = { interim: 'interim', failure: 'notice of a failure', cancel: 'cancels it' } as const;

const COLOURS = {
  answered: 'green',
  queued: 'yellow',
  running: 'blue',
  failed: 'red',
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
  const { actor, state, detail, took_s: took, delay, failed_on: where, held_up: why } = node;
  switch (state) {
    case 'answered':
      return took === null ? `${actor} reacted` : `${actor} answered after ${age(took)}`;
    case 'running':
      return `running${detail === null ? '' : ` on ${detail}`}`;
    case 'failed':
      return where === undefined
        ? `failed, dead letter ${detail ?? ''} here${retryWords(delay)}`
        : `failed on ${where}, dead letter ${detail ?? ''} there`;
    case 'parked':
      return `parked, dead letter ${detail ?? ''} here`;
    case 'queued':
      return 'queued here, not on the remote yet';
    case 'silent':
      return `${actor} said nothing`;
    case 'waiting':
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
