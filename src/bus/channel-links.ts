import { CHANNELS, messageFile, placeOf, dayBefore } from '../protocol/layout.ts';
import type { Located } from '../protocol/message.ts';
import { seenFrom } from '../protocol/causality.ts';
import type { Transport } from '../transport/transport.ts';
import type { MessageReader } from './message-reader.ts';
import type { ThreadStart } from './thread-start.ts';
import { NamesRoom } from './names-room.ts';

/** Maximum number of messages whose links are cached, of all channels together; each takes some 500 bytes. */
const MAX_KEPT = 200_000;

/** Headers of messages, without their texts, at a commit. */
export interface Headers<T extends Located> {
  tip: string;
  /** The first day from which on everything was read. */
  from: string;
  /** The commit since which all added messages were read; undefined for all. */
  base: string | undefined;
  /** The messages by their files. */
  messages: Map<string, T>;
  room: NamesRoom;
}

/**
 * Whether headers contain everything since something started: its day, and files added since a commit
 * before it.
 */
export async function reachesBack<T extends Located>(
  { from, base }: Headers<T>,
  begun: ThreadStart,
): Promise<boolean> {
  return from <= dayBefore(begun.relPath) && (await begun.isAfter(base));
}

/**
 * Updates headers to another commit; after a failure, they must not be used.
 *
 * @param folder the folder of the messages
 * @param keep adds one, if it is to be kept
 */
export async function updated<T extends Located>(
  { transport, reader }: { transport: Transport; reader: MessageReader },
  { kept, tip, folder }: { kept: Headers<T>; tip: string; folder: string },
  keep: (kept: Headers<T>, channel: string, located: Located) => void,
): Promise<Headers<T>> {
  if (kept.tip === tip) return kept;
  for await (const changes of transport.changes(kept.tip, tip, [folder]))
    for (const change of changes) {
      const place = placeOf(change.path);
      if (place.kind !== 'message') continue;
      const { channel, relPath } = place;
      const before = kept.messages.get(change.path);
      if (before !== undefined) kept.room.gives(before.message);
      kept.messages.delete(change.path);
      const read = change.status === 'D' ? undefined : await reader.parse(change);
      if (read?.ok !== true) continue;
      const header = { relPath, message: { ...read.value, body: '' } };
      keep(kept, channel, seenFrom(channel, channel, header));
    }
  return { ...kept, tip };
}

type Kept = Headers<Located>;

/**
 * The links between messages of a channel: every message that refers to others, without its text. The
 * links are read once from a thread's first day on, with messages added to git since it started. From
 * then on they are updated with every added message. The date in a name does not decide, because a peer's
 * clock may be days behind.
 */
export class ChannelLinks {
  readonly #parts: { transport: Transport; reader: MessageReader };
  readonly #channels = new Map<string, Kept>();
  #reading: Promise<unknown> = Promise.resolve();

  constructor(transport: Transport, reader: MessageReader) {
    this.#parts = { transport, reader };
  }

  /**
   * Returns the messages of a channel that refer to others, by path.
   *
   * @param begun the start since which the result is complete
   * @param delivered messages that belong to them whatever their date, now and later
   */
  since(
    tip: string,
    channel: string,
    begun: ThreadStart,
    delivered: readonly Located[],
  ): Promise<Located[]> {
    // Calls are serialized: two runs of a channel start together, and it is read once.
    const read = this.#reading.then(() => this.#since(tip, channel, begun, delivered));
    this.#reading = read.catch(() => undefined);
    return read;
  }

  async #since(
    tip: string,
    channel: string,
    begun: ThreadStart,
    delivered: readonly Located[],
  ): Promise<Located[]> {
    const known = this.#channels.get(channel);
    this.#channels.delete(channel);
    const folder = `${CHANNELS}/${channel}`;
    const kept =
      known !== undefined && (await reachesBack(known, begun))
        ? await updated(this.#parts, { kept: known, tip, folder }, keep)
        : await this.#read(tip, channel, begun);
    for (const { relPath, message } of delivered)
      kept.messages.set(
        messageFile(channel, relPath),
        seenFrom(channel, channel, { relPath, message: { ...message, body: '' } }),
      );
    this.#channels.set(channel, kept);
    this.#forget();
    return [...kept.messages.values()].sort((a, b) => (a.relPath < b.relPath ? -1 : 1));
  }

  async #read(tip: string, channel: string, begun: ThreadStart): Promise<Kept> {
    const [base, from] = [await begun.base(), dayBefore(begun.relPath)];
    const kept: Kept = { tip, from, base, messages: new Map(), room: new NamesRoom() };
    for await (const some of this.#parts.reader.headers(tip, channel, begun))
      for (const located of some) keep(kept, channel, located);
    return kept;
  }

  /** Removes the channels that were least recently used, and a channel that is too large on its own. */
  #forget(): void {
    let count = 0;
    for (const { messages } of this.#channels.values()) count += messages.size;
    for (const [channel, { messages }] of this.#channels) {
      if (count <= MAX_KEPT) return;
      this.#channels.delete(channel);
      count -= messages.size;
    }
  }
}

function keep({ messages, room }: Kept, channel: string, located: Located): void {
  const { re, cause } = located.message;
  if (re.length + cause.length > 0 && room.takes(located.message))
    messages.set(messageFile(channel, located.relPath), located);
}
