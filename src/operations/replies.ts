import { setTimeout as sleep } from 'node:timers/promises';
import { CHANNELS, messageFile, placeOf } from '../protocol/layout.ts';
import type { Located } from '../protocol/message.ts';
import { permission } from './publishing.ts';
import { refreshOrNote, tipOf, type Context } from './context.ts';
import { resolveMessage, type MessageRef } from './resolve.ts';

/** A message and what answers it, oldest first; matched by `re` alone (cli.md). */
export interface Replied {
  ref: MessageRef;
  replies: Located[];
}

export interface RepliesInput {
  messages: string[];
  /** Wait until each has a reply. */
  wait: boolean;
  /** Milliseconds. */
  timeout: number;
  signal: AbortSignal;
}

const FASTEST_POLL_MS = 500;
const SLOWEST_POLL_MS = 5000;

/**
 * The replies to some messages. A dispatched actor sees those that were there when its batch was
 * handed over; later ones wake it, so that of several runs only one sees the last reply first
 * (docs/decisions/0011). For what it has sent meanwhile, and with `wait`, the view is live.
 *
 * @returns `complete` is false when waiting ended before each had one
 * @throws CrosstalkError `not_found` for a message that does not exist
 */
export async function replies(
  context: Context,
  input: RepliesInput,
): Promise<{ complete: boolean; found: Replied[] }> {
  const handedOver = input.wait ? undefined : await snapshot(context, input.messages);
  if (handedOver !== undefined) return { complete: !handedOver.some(pending), found: handedOver };
  await refreshOrNote(context);
  const refs = await resolveAll(context, input.messages);
  const deadline = Date.now() + input.timeout;
  let seen = await tipOf(context);
  let found = await repliesAt(context, seen, refs);
  let delay = FASTEST_POLL_MS;
  while (input.wait && found.some(pending) && Date.now() < deadline) {
    await sleep(Math.min(delay, deadline - Date.now()), undefined, { signal: input.signal });
    delay = Math.min(delay * 1.3, SLOWEST_POLL_MS);
    await permission(context.budget)('read');
    await context.transport.refresh(input.signal);
    const tip = await tipOf(context);
    if (tip === seen) continue;
    seen = tip;
    found = await repliesAt(context, tip, refs);
  }
  return { complete: !found.some(pending), found };
}

/** The view of the dispatch this command is part of, if all the messages were part of it already. */
async function snapshot(
  context: Context,
  messages: readonly string[],
): Promise<Replied[] | undefined> {
  const tip = context.env['CROSSTALK_DISPATCH_TIP'] ?? '';
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

/** Candidates are the files that contain the path; only they are read as messages. */
async function repliesAt(
  context: Context,
  tip: string,
  refs: readonly MessageRef[],
): Promise<Replied[]> {
  const byChannel = new Map<string, Located[]>();
  for (const channel of new Set(refs.map((ref) => ref.channel))) {
    const wanted = refs.filter((ref) => ref.channel === channel).map(({ relPath }) => relPath);
    const files = await context.transport.filesContaining(tip, `${CHANNELS}/${channel}`, wanted);
    const paths = files.flatMap((path) => {
      const place = placeOf(path);
      return place.kind === 'message' ? [place.relPath] : [];
    });
    byChannel.set(channel, await context.archive.messages(tip, channel, paths));
  }
  return refs.map((ref) => ({
    ref,
    replies: (byChannel.get(ref.channel) ?? []).filter(({ message }) =>
      message.re.includes(ref.relPath),
    ),
  }));
}
