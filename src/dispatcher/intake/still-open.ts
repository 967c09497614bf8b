import { messageFile, placeOfRef } from '../../protocol/layout.ts';
import type { Delivery } from '../../protocol/mailbox.ts';
import type { Located, Message } from '../../protocol/message.ts';
import { openQuestionsOfBatch } from '../../protocol/causality.ts';
import { unanswered } from '../../protocol/pending.ts';
import type { Transport } from '../../transport/transport.ts';
import type { MessageReader } from '../../bus/message-reader.ts';
import type { ThreadStart } from '../../bus/thread-start.ts';
import { channelIds } from '../../bus/channel-reader.ts';
import { OwnMessages } from './own-messages.ts';

interface Sources {
  transport: Transport;
  reader: MessageReader;
}

/** Whose deliveries are examined, in which channel, and between which commits. */
export interface StillOpenQuery {
  actor: string;
  channel: string;
  tip: string;
  /** A commit after which everything relevant was added; undefined for the whole history. */
  since?: string | undefined;
}

/**
 * Selects from an actor's deliveries in one channel those that are still unanswered by the record (protocol.md §5).
 * The order of two messages is decided by history, never by file names, because a clock may be days behind. Git is
 * asked only where the order matters.
 *
 * @param waking in commit order
 * @param own the messages that the actor wrote on this host
 */
export async function stillOpen<T extends Located>(
  { transport, reader }: Sources,
  { actor, channel, tip, since }: StillOpenQuery,
  waking: readonly T[],
  own: OwnMessages,
): Promise<Set<T>> {
  const replies = waking.filter(({ message }) => message.re.length > 0);
  const lookup = await reader.chain(tip, channel, replies);
  const asked = openQuestionsOfBatch(replies, actor, lookup);
  const written = own.seenFrom(
    channel,
    new Set(asked.map(({ relPath }) => placeOfRef(channel, relPath).channel)),
  );
  const fileOf = (ref: string): string => {
    const place = placeOfRef(channel, ref);
    return messageFile(place.channel, place.relPath);
  };
  const open = (isLater: (answer: string, delivered: string) => boolean): Set<string> => {
    const left = unanswered(waking, written, actor, lookup, isLater);
    return new Set(left.map(({ relPath }) => relPath));
  };
  const [fewest, most] = [open(() => true), open(() => false)];
  let left = fewest;
  if (most.size > fewest.size) {
    const unclear = replies.filter(({ relPath }) => most.has(relPath) && !fewest.has(relPath));
    const answers = written.filter(({ message }) => message.re.length > 0);
    const paths = [...unclear, ...answers].map(({ relPath }) => fileOf(relPath));
    const order = await transport.order(since, tip, paths);
    const position = new Map(order.map((path, index) => [path, index]));
    const at = (relPath: string): number => position.get(fileOf(relPath)) ?? -1;
    left = open((answer, delivered) => at(answer) > at(delivered));
  }
  return new Set(waking.filter(({ relPath }) => left.has(relPath)));
}

/**
 * Returns the answers of actors on a host, in all channels. A delegated task settles nothing: the run that wrote it
 * may have been killed before its answer.
 *
 * @param from a relPath: the search starts at the day before it; undefined for all messages on the bus
 */
export async function answersOf(
  { transport, reader }: Sources,
  {
    actors,
    host,
    tip,
    counts = () => true,
  }: {
    actors: ReadonlySet<string>;
    host: string;
    tip: string;
    /** Whether a message is one of these answers; all are if it is left out. */
    counts?: (message: Message) => boolean;
  },
  begun?: ThreadStart,
): Promise<(actor: string) => OwnMessages> {
  const ownOf = new Map([...actors].map((actor) => [actor, new OwnMessages()]));
  for (const channel of await channelIds(transport, tip))
    for await (const some of reader.headers(tip, channel, begun))
      for (const located of some) {
        const { message } = located;
        if (message.host === host && message.re.length > 0 && counts(message))
          ownOf.get(message.from)?.add(channel, located);
      }
  return (actor) => ownOf.get(actor) ?? new OwnMessages();
}

/** Selects from deliveries made before those that are unanswered now, in whichever channel the answers are. */
export async function openAgain(
  sources: Sources,
  again: readonly Delivery[],
  host: string,
  tip: string,
): Promise<Set<Delivery>> {
  const open = new Set<Delivery>();
  if (again.length === 0) return open;
  const actors = new Set(again.map(({ actor }) => actor));
  const ownOf = await answersOf(sources, { actors, host, tip });
  for (const { actor, channel, messages } of byMailbox(again)) {
    const question = { actor, channel, tip };
    for (const one of await stillOpen(sources, question, messages, ownOf(actor))) open.add(one);
  }
  return open;
}

/** Groups deliveries by actor and channel, keeping their order. */
export function byMailbox(
  deliveries: readonly Delivery[],
): { actor: string; channel: string; messages: Delivery[] }[] {
  const mailboxes = new Map<string, Delivery[]>();
  for (const delivery of deliveries) {
    const key = `${delivery.actor}/${delivery.channel}`;
    const known = mailboxes.get(key);
    if (known === undefined) mailboxes.set(key, [delivery]);
    else known.push(delivery);
  }
  return [...mailboxes.values()].flatMap((messages) => {
    const [first] = messages;
    return first === undefined ? [] : [{ actor: first.actor, channel: first.channel, messages }];
  });
}
