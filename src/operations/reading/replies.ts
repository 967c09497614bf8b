import { messageFile } from '../../protocol/layout.ts';
import type { Located } from '../../protocol/message.ts';
import { arrivals } from '../lookup/arrivals.ts';
import { refreshOrNote, tipOf, type Context } from '../context.ts';
import { withNaming } from '../lookup/naming.ts';
import { waitForNews } from './news.ts';
import { resolveMessage } from '../lookup/resolve.ts';
import { type MessageRef } from '../../protocol/message-ref.ts';

/** A message and its answers, oldest first; matched by `re` alone (cli.md). */
export interface Replied {
  ref: MessageRef;
  replies: Located[];
}

export interface RepliesInput {
  messages: string[];
  /** Whether to wait until all of them have a reply, or until any of them has one. */
  wait?: 'all' | 'any';
  /** The longest wait in milliseconds. */
  timeout: number;
  signal: AbortSignal;
}

/**
 * The replies to some messages. A dispatched actor sees the replies that existed when it received
 * its batch; later ones wake it, so that of several runs only one is the first to see the last
 * reply (docs/decisions/0011). For messages it has sent since, and with `wait`, the view is live.
 *
 * @returns `complete` is false when waiting ended before there were enough
 * @throws CrosstalkError `not_found` for a message that does not exist
 */
export async function replies(
  context: Context,
  input: RepliesInput,
): Promise<{ complete: boolean; found: Replied[] }> {
  const enough = (all: readonly Replied[]): boolean =>
    input.wait === 'any' ? !all.every(pending) : !all.some(pending);
  const handedOver = input.wait === undefined ? await snapshot(context, input.messages) : undefined;
  if (handedOver !== undefined) return { complete: enough(handedOver), found: handedOver };
  await refreshOrNote(context);
  const refs = await resolveAll(context, input.messages);
  const deadline = performance.now() + input.timeout;
  let seen = await tipOf(context);
  const found = await repliesAt(context, seen, refs);
  while (input.wait !== undefined && !enough(found)) {
    const { signal } = input;
    const tip = await waitForNews(context, seen, { signal, timeout: deadline - performance.now() });
    if (tip === undefined) break;
    await addReplies(context, seen, tip, found);
    seen = tip;
  }
  return { complete: enough(found), found };
}

/** Adds what arrived between two commits, without reading the rest of the channel again. */
async function addReplies(
  context: Context,
  from: string,
  to: string,
  found: readonly Replied[],
): Promise<void> {
  for await (const arrived of arrivals(context, from, to)) {
    for (const { ref, replies: list } of found) {
      list.push(
        ...arrived.filter(
          ({ channel, message }) => channel === ref.channel && message.re.includes(ref.relPath),
        ),
      );
    }
  }
}

/** The view of this command's dispatch, if all of the messages already existed in it. */
async function snapshot(
  context: Context,
  messages: readonly string[],
): Promise<Replied[] | undefined> {
  const { tip = '' } = context.dispatch;
  if (!/^[0-9a-f]{40,64}$/.test(tip)) return undefined;
  const refs = await resolveAll(context, messages).catch(() => []);
  const there = await Promise.all(
    refs.map(({ channel, relPath }) =>
      context.transport.objects.read(`${tip}:${messageFile(channel, relPath)}`),
    ),
  );
  return refs.length > 0 && !there.includes(undefined) ? repliesAt(context, tip, refs) : undefined;
}

async function resolveAll(context: Context, messages: readonly string[]): Promise<MessageRef[]> {
  const refs: MessageRef[] = [];
  for (const given of messages) refs.push(await resolveMessage(context, given));
  return refs;
}

function pending({ replies: list }: Replied): boolean {
  return list.length === 0;
}

function repliesAt(context: Context, tip: string, refs: readonly MessageRef[]): Promise<Replied[]> {
  return withNaming(context, tip, (naming) =>
    Promise.all(refs.map(async (ref) => ({ ref, replies: await naming(ref, 're') }))),
  );
}
