import {
  isQuestion,
  openQuestions,
  type Lookup,
  linksBytes,
  MAX_LINKS_BYTES,
} from './causality.ts';
import type { Delivery } from './mailbox.ts';
import type { Located } from './message.ts';
import { threadRoot, threadRoots } from './thread.ts';

/**
 * Most messages of a batch: the header of its answer names all of them, and has room for this many (protocol.md §2).
 */
export const MAX_BATCH = 1500;
/** Most bytes of bodies for one run; a single message is never larger (protocol.md §5). */
export const MAX_BATCH_BYTES = 4 * 1024 * 1024;

/**
 * Returns the name of the conversation to which a message delivered to `actor` belongs: only messages with the same
 * name may go to one run (protocol.md §5). New tasks belong together when one asker on one host sent them; if the asker
 * is an actor, which asks on behalf of others, it must have sent them for the same first messages. Questions in old
 * threads belong together when one asker asks them in one thread, and not to new tasks of that asker. Questions for
 * JSON are separate from those for another form. Answers of peers belong together when they lead to the same open
 * questions, and, if `actor` started the exchange itself, when they descend from the same first message.
 */
export function conversationOf(delivered: Located, actor: string, lookup: Lookup): string {
  const { message } = delivered;
  if (isQuestion(message)) {
    const behind = isFirst(delivered) ? [] : threadRoots([delivered], lookup);
    const form = message.schema === undefined ? '' : ` as ${message.schema}`;
    return `asked by ${message.from}@${message.host ?? ''} for ${behind.join()}${form}`;
  }
  const questions = openQuestions(delivered, actor, lookup).map(({ relPath }) => relPath);
  return questions.length > 0
    ? `for ${questions.sort().join()}`
    : `begun with ${threadRoot([delivered], lookup)}`;
}

/** Whether a message reacts to none, and so starts a thread. */
export function isFirst({ message: { re, cause } }: Located): boolean {
  return re.length + cause.length === 0;
}

/**
 * Splits the pending messages of one mailbox into batches, one for each conversation, with as many
 * messages as fit a run: at most {@link MAX_BATCH} messages whose paths fit into a header, and
 * {@link MAX_BATCH_BYTES}.
 *
 * @param pending in commit order
 * @param nameOf the conversation of each message; see {@link conversationOf}
 * @returns the batches in the order of their oldest message
 */
export function batchesOf(
  pending: readonly Delivery[],
  nameOf: (delivery: Delivery) => string,
): Delivery[][] {
  const batches = new Map<string, { messages: Delivery[]; links: number; bytes: number }>();
  const full = new Set<string>();
  for (const delivery of pending) {
    const name = nameOf(delivery);
    if (full.has(name)) continue;
    const batch = batches.get(name) ?? { messages: [], links: 0, bytes: 0 };
    const links = batch.links + linksBytes([delivery.relPath]);
    const bytes = batch.bytes + (delivery.bytes ?? 0);
    const room =
      batch.messages.length < MAX_BATCH && links <= MAX_LINKS_BYTES && bytes <= MAX_BATCH_BYTES;
    // A message that does not fit waits for the next batch, and so does everything after it.
    if (!room && batch.messages.length > 0) {
      full.add(name);
      continue;
    }
    batch.messages.push(delivery);
    batches.set(name, { messages: batch.messages, links, bytes });
  }
  return [...batches.values()].map(({ messages }) => messages);
}
