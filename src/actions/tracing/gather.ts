import { parseMessage, type Located, type Message } from '../../protocol/message.ts';
import type { MessageRef } from '../../protocol/layout.ts';
import type { Context } from '../context.ts';
import type { Arrival } from '../lookup/arrivals.ts';
import type { Naming } from '../lookup/naming.ts';
import { queuedMessages } from '../lookup/queued.ts';

const MAX_NODES = 2000;

/** Gathers everything that is connected: first back to the roots, then down from them. */
export async function gather(
  { reader }: Context,
  tip: string,
  ref: MessageRef,
  queued: readonly Located[],
  naming: Naming,
): Promise<{ messages: Arrival[]; complete: boolean }> {
  const { channel } = ref;
  const inOutbox = new Map(queued.map(({ relPath, message }) => [relPath, message]));
  const read = async (relPath: string): Promise<Message | undefined> =>
    (await reader.message(tip, channel, relPath)) ?? inOutbox.get(relPath);
  const found = new Map<string, Message>();
  const roots: string[] = [];
  for (let ahead = [ref.relPath]; ahead.length > 0 && found.size < MAX_NODES;) {
    const next: string[] = [];
    for (const relPath of ahead) {
      const message = found.has(relPath) ? undefined : await read(relPath);
      if (message === undefined) continue;
      found.set(relPath, message);
      const origins = [...message.re, ...message.cause];
      if (origins.length === 0) roots.push(relPath);
      next.push(...origins);
    }
    ahead = next;
  }
  const messages = new Map(found);
  const visited = new Set<string>();
  for (let ahead = roots.length > 0 ? roots : [...found.keys()]; ahead.length > 0;) {
    const next: string[] = [];
    for (const relPath of ahead) {
      if (visited.has(relPath) || messages.size >= MAX_NODES) continue;
      visited.add(relPath);
      const waiting = queued.filter(({ message: { re, cause } }) =>
        [...re, ...cause].includes(relPath),
      );
      for (const item of [...(await naming({ channel, relPath }, 're_or_cause')), ...waiting]) {
        messages.set(item.relPath, item.message);
        next.push(item.relPath);
      }
    }
    ahead = next;
  }
  return {
    messages: [...messages].map(([relPath, message]) => ({ channel, relPath, message })),
    complete: messages.size < MAX_NODES,
  };
}

/** Messages of a channel that wait in this machine's outbox, with their files. */
export async function queuedIn(
  context: Context,
  channel: string,
): Promise<(Located & { content: string })[]> {
  return (await queuedMessages(context)).flatMap(({ channel: id, relPath, content }) => {
    const parsed = id === channel ? parseMessage(Buffer.from(content)) : undefined;
    return parsed?.ok === true ? [{ relPath, message: parsed.value, content }] : [];
  });
}
