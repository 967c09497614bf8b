import type { Located } from '../../protocol/message.ts';
import { messageKey, type MessageRef } from '../../protocol/message-ref.ts';
import type { Context } from '../context.ts';
import { CHUNK } from './arrivals.ts';

/** The messages at some places at a commit, in this order; those that cannot be read are left out. */
export async function messagesAt(
  { reader }: Context,
  tip: string,
  refs: readonly MessageRef[],
): Promise<(MessageRef & Located)[]> {
  const found: (MessageRef & Located)[] = [];
  for (let at = 0; at < refs.length; at += CHUNK) {
    const some = refs.slice(at, at + CHUNK);
    const read = new Map<string, MessageRef & Located>();
    for (const channel of new Set(some.map((ref) => ref.channel))) {
      const paths = some.filter((ref) => ref.channel === channel).map(({ relPath }) => relPath);
      for (const one of await reader.messages(tip, channel, paths))
        read.set(messageKey({ channel, relPath: one.relPath }), { channel, ...one });
    }
    found.push(...some.flatMap((ref) => read.get(messageKey(ref)) ?? []));
  }
  return found;
}
