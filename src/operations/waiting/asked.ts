import { messageFile } from '../../protocol/layout.ts';
import type { MessageRef } from '../../protocol/message-ref.ts';
import type { Context } from '../context.ts';
import { withNaming, type Naming } from '../lookup/naming.ts';
import { queuedMessage } from '../lookup/queued.ts';
import { interimOf, type Asked } from './standing.ts';

/**
 * What is on the bus about some messages at a commit. There is nothing to look for about messages that
 * are not there yet.
 */
export async function askedAt(
  context: Context,
  tip: string,
  refs: readonly MessageRef[],
): Promise<Asked[]> {
  const asked = await Promise.all(
    refs.map(async (ref): Promise<Asked> => {
      const question = await context.reader.message(tip, ref.channel, ref.relPath);
      return { ref, question, replies: [], caused: [], returned: [] };
    }),
  );
  const there = await isThere(context, tip, asked);
  if (there.length > 0)
    await withNaming(context, tip, async (naming) => {
      for (const one of there) await gather(one, naming);
    });
  for (const one of asked) one.question ??= await queuedMessage(context, one.ref);
  return asked;
}

/** Those whose file is at a commit, whether it can be read as a message or not. */
async function isThere({ transport }: Context, tip: string, asked: Asked[]): Promise<Asked[]> {
  const found = await Promise.all(
    asked.map(async ({ ref, question }) => {
      if (question !== undefined) return true;
      const object = `${tip}:${messageFile(ref.channel, ref.relPath)}`;
      return (await transport.objects.read(object)) !== undefined;
    }),
  );
  return asked.filter((_, at) => found[at]);
}

/** Looks for everything that is about a message. */
async function gather(asked: Asked, naming: Naming): Promise<void> {
  const { ref, question } = asked;
  for (const one of await naming(ref, 're_or_cause'))
    (one.message.re.includes(ref.relPath) ? asked.replies : asked.caused).push(one);
  for (const { relPath } of interimOf(asked))
    for (const one of await naming({ channel: ref.channel, relPath }, 're'))
      if (one.message.from === question?.from) asked.returned.push(one);
}
