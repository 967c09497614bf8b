import { CHANNELS, messageFile } from '../../protocol/layout.ts';
import type { Delivery } from '../../protocol/mailbox.ts';
import type { Located } from '../../protocol/message.ts';
import { openQuestionsOfBatch } from '../../protocol/causality.ts';
import { unanswered } from '../../protocol/pending.ts';
import { placeOfRef } from '../../protocol/reference.ts';
import type { Transport } from '../../transport/transport.ts';
import type { Archive } from '../../bus/archive.ts';
import type { Beginning } from '../../bus/beginning.ts';
import { channelIds } from '../../bus/channel-reader.ts';
import { MAX_ORDERED_PATHS } from '../../bus/commit-order.ts';
import { OwnMessages } from './own-messages.ts';

interface Sources {
  transport: Transport;
  archive: Archive;
}

/** Whose deliveries, in which channel, and between which commits the record is asked. */
export interface Question {
  actor: string;
  channel: string;
  tip: string;
  /** Everything that matters was added after it; undefined for the whole history. */
  since?: string | undefined;
}

/**
 * Of an actor's deliveries in one channel those that are still unanswered, as the record stands
 * (protocol.md §5). Whether a message came after another is what history says, never a file name: a
 * clock may be days behind. Git is asked only where it makes a difference.
 *
 * @param waking in commit order
 * @param own what the actor wrote, on this host
 */
export async function stillOpen<T extends Located>(
  { transport, archive }: Sources,
  { actor, channel, tip, since }: Question,
  waking: readonly T[],
  own: OwnMessages,
): Promise<Set<T>> {
  const replies = waking.filter(({ message }) => message.re.length > 0);
  const lookup = await archive.chain(tip, channel, replies);
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
    const folders = new Set(paths.map((path) => path.split('/').slice(0, 3).join('/')));
    const order = await transport.order(
      since,
      tip,
      paths.length <= MAX_ORDERED_PATHS
        ? paths
        : folders.size <= MAX_ORDERED_PATHS
          ? [...folders]
          : [CHANNELS],
    );
    const position = new Map(order.map((path, index) => [path, index]));
    const at = (relPath: string): number => position.get(fileOf(relPath)) ?? -1;
    left = open((answer, delivered) => at(answer) > at(delivered));
  }
  return new Set(waking.filter(({ relPath }) => left.has(relPath)));
}

/**
 * What actors answered on a host, in all channels: ever, or since something began. A task handed on
 * settles nothing: the run that wrote it may have been killed before the rest.
 */
export async function answersOf(
  { transport, archive }: Sources,
  { actors, host, tip }: { actors: ReadonlySet<string>; host: string; tip: string },
  begun?: Beginning,
): Promise<(actor: string) => OwnMessages> {
  const ownOf = new Map([...actors].map((actor) => [actor, new OwnMessages()]));
  for (const channel of await channelIds(transport, tip))
    for await (const some of archive.headers(tip, channel, begun))
      for (const located of some) {
        const { message } = located;
        if (message.host === host && message.re.length > 0)
          ownOf.get(message.from)?.add(channel, located);
      }
  return (actor) => ownOf.get(actor) ?? new OwnMessages();
}

/** Of deliveries that were made once those that are unanswered now, wherever the answers are. */
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

/** Deliveries by actor and channel, in their order. */
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
