import { openQuestions, type Lookup } from './causality.ts';
import { linksBytes, MAX_LINKS_BYTES } from './links.ts';
import type { Delivery } from './mailbox.ts';
import type { Located } from './message.ts';
import { threadRoot, threadRoots } from './thread.ts';

/** The answer to a batch names all of it in its header, which has room for so many (protocol.md §2). */
export const MAX_BATCH = 1500;
/** Bytes of the bodies that one run is handed; a single message is never larger (protocol.md §5). */
export const MAX_BATCH_BYTES = 4 * 1024 * 1024;

/**
 * Which conversation a message delivered to `actor` belongs to: messages with the same name may be
 * handed to one run, and no others (protocol.md §5). New tasks go together when one asker on one
 * host sent them, and an actor, which asks for others, sent them for the same first messages. Answers
 * of peers go together when they lead to the same open questions, and where `actor` began the exchange
 * itself, what descends from the same first message does.
 */
export function conversationOf(delivered: Located, actor: string, lookup: Lookup): string {
  const { message } = delivered;
  if (message.re.length === 0) {
    const behind = message.cause.length === 0 ? [] : threadRoots([delivered], lookup);
    return `asked by ${message.from}@${message.host ?? ''} for ${behind.join()}`;
  }
  const questions = openQuestions(delivered, actor, lookup).map(({ relPath }) => relPath);
  return questions.length > 0
    ? `for ${questions.sort().join()}`
    : `begun with ${threadRoot([delivered], lookup)}`;
}

/**
 * Splits what is pending in one mailbox into batches, one for each conversation, as many messages as
 * fit a run: {@link MAX_BATCH} whose paths have room in a header, and {@link MAX_BATCH_BYTES}.
 *
 * @param pending in commit order
 * @param nameOf the conversation of each; see {@link conversationOf}
 * @returns in the order of their oldest message
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
    // What does not fit waits for the next batch, and so does everything after it.
    if (!room && batch.messages.length > 0) {
      full.add(name);
      continue;
    }
    batch.messages.push(delivery);
    batches.set(name, { messages: batch.messages, links, bytes });
  }
  return [...batches.values()].map(({ messages }) => messages);
}
