import { messageFile, type MessageRef } from '../../protocol/layout.ts';
import { refreshOrNote, tipOf, type Context } from '../context.ts';
import { waitForNews } from './news.ts';
import { resolveMessage } from '../lookup/resolve.ts';
import { Board, type Followed } from '../waiting/board.ts';

export type { Followed as Replied };

export interface RepliesInput {
  messages: readonly (string | MessageRef)[];
  /**
   * Whether to wait until each of them has the answers of all that it asks, or each a first answer, or
   * until any of them has a reply. A word on the way to an answer is a reply and no answer (talk.md).
   */
  wait?: 'all' | 'first' | 'any';
  /** The longest wait in milliseconds. */
  timeout: number;
  signal: AbortSignal;
  /** For messages that were just sent: a commit before them, so that the remote need not be asked first. */
  since?: string;
  /** Receives the causes that hold an answer up, a line each, each once. */
  heldUp?: (line: string) => void;
  /** Called before each wait with the replies known by then. */
  waits?: (found: readonly Followed[]) => void;
}

/**
 * Ending of the wait. `over`: with `wait`, nobody owes an answer any more although not all have answered, because a
 * delivery failed or an actor chose silence. `timed_out`: somebody owes one; beside others, an addressee that no host
 * serves is not waited for.
 */
export type Ending = 'complete' | 'over' | 'timed_out';

/**
 * Returns the replies to some messages, matched by `re` alone (cli.md). A dispatched actor sees the replies that
 * existed when it received its batch; later ones wake it, so that of several runs only one is the first to see the
 * last reply (docs/decisions/12-delivery.md). For messages it has sent since, and with `wait`, the view is live.
 *
 * @throws CrosstalkError `not_found` for a message that does not exist
 */
export async function replies(
  context: Context,
  input: RepliesInput,
): Promise<{ ending: Ending; found: Followed[] }> {
  const { wait, signal } = input;
  const inRun = context.agentMode !== undefined || context.dispatch.tip !== undefined;
  const handedOver = wait === undefined ? await snapshot(context, input.messages) : undefined;
  if (handedOver !== undefined) return { ending: 'complete', found: handedOver };
  if (input.since === undefined) await refreshOrNote(context);
  const refs = await resolveAll(context, input.messages);
  const deadline = performance.now() + input.timeout;
  const board = await Board.at(context, input.since ?? (await tipOf(context)), refs);
  const said = new Set<string>();
  for (;;) {
    const found = await board.look({ isLive: !inRun, explains: wait !== undefined });
    const ending = endingOf(found, wait ?? 'all');
    if (wait === undefined || ending !== undefined) return { ending: ending ?? 'timed_out', found };
    const left = deadline - performance.now();
    for (const line of found.flatMap(({ held_up: lines }) => lines))
      if (!said.has(line)) {
        said.add(line);
        input.heldUp?.(line);
      }
    if (left <= 0) return { ending: 'timed_out', found };
    input.waits?.(found);
    const changed = new AbortController();
    const watching = board.watch(changed).catch(() => undefined);
    try {
      const tip = await waitForNews(context, board.tip, {
        signal,
        timeout: left,
        until: changed.signal,
      });
      if (tip !== undefined) await board.follow(tip);
    } finally {
      changed.abort();
      await watching;
    }
  }
}

/** Whether there is nothing to wait for any more. */
function endingOf(found: readonly Followed[], wait: 'all' | 'first' | 'any'): Ending | undefined {
  const isAnswered = ({ state }: Followed): boolean => state === 'REPLIED';
  if (wait === 'any') {
    if (found.some((one) => isAnswered(one) || hasSpoken(one))) return 'complete';
    return found.some(({ isOver }) => isOver) ? 'over' : undefined;
  }
  if (wait === 'first' && found.every(isAnswered)) return 'complete';
  if (!found.every(({ isOver }) => isOver)) return undefined;
  const isVain = ({ state, failures, silent }: Followed): boolean =>
    state === 'FAILED' || failures.length + silent.length > 0;
  if (found.some(isVain)) return 'over';
  return found.every(({ owing }) => owing.length === 0) ? 'complete' : 'timed_out';
}

/** Whether somebody wrote a reply that is not the notice of a failure. */
function hasSpoken({ replies: list }: Followed): boolean {
  return list.some(({ message }) => message.failed === undefined);
}

/** Returns the view of this command's dispatch, if all of the messages already existed in it. */
async function snapshot(
  context: Context,
  messages: RepliesInput['messages'],
): Promise<Followed[] | undefined> {
  const { tip = '' } = context.dispatch;
  if (!/^[0-9a-f]{40,64}$/.test(tip)) return undefined;
  const refs = await resolveAll(context, messages).catch(() => []);
  const there = await Promise.all(
    refs.map(({ channel, relPath }) =>
      context.transport.objects.read(`${tip}:${messageFile(channel, relPath)}`),
    ),
  );
  if (refs.length === 0 || there.includes(undefined)) return undefined;
  return (await Board.at(context, tip, refs)).look({ isLive: false, explains: false });
}

async function resolveAll(
  context: Context,
  messages: RepliesInput['messages'],
): Promise<MessageRef[]> {
  const refs: MessageRef[] = [];
  for (const given of messages)
    refs.push(typeof given === 'string' ? await resolveMessage(context, given) : given);
  return refs;
}
