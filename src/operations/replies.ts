import { setTimeout as sleep } from 'node:timers/promises';
import { CHANNELS, placeOf } from '../protocol/layout.ts';
import type { Located } from '../protocol/message.ts';
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
 * The replies to some messages.
 *
 * @returns `complete` is false when waiting ended before each had one
 * @throws CrosstalkError `not_found` for a message that does not exist
 */
export async function replies(
  context: Context,
  input: RepliesInput,
): Promise<{ complete: boolean; found: Replied[] }> {
  await refreshOrNote(context);
  const refs: MessageRef[] = [];
  for (const given of input.messages) refs.push(await resolveMessage(context, given));
  const deadline = Date.now() + input.timeout;
  let seen = await tipOf(context);
  let found = await repliesAt(context, seen, refs);
  for (
    let delay = FASTEST_POLL_MS;
    input.wait && found.some(pending);
    delay = Math.min(delay * 1.3, SLOWEST_POLL_MS)
  ) {
    const left = deadline - Date.now();
    if (left <= 0) break;
    await sleep(Math.min(delay, left), undefined, { signal: input.signal });
    await context.transport.refresh(input.signal);
    const tip = await tipOf(context);
    if (tip === seen) continue;
    seen = tip;
    found = await repliesAt(context, tip, refs);
  }
  return { complete: !found.some(pending), found };
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
