import { CHANNELS, placeOf } from '../protocol/layout.ts';
import type { Located } from '../protocol/message.ts';
import { dayBefore } from '../protocol/names.ts';
import { seenFrom } from '../protocol/causality.ts';
import type { Transport } from '../transport/transport.ts';
import type { MessageReader } from './message-reader.ts';
import type { Beginning } from './beginning.ts';
import { NamesRoom } from './names-room.ts';

/** How many messages' links are kept, of all channels together; each takes some 500 bytes. */
const MAX_KEPT = 200_000;

/** The links of one channel, as they are at a commit. */
interface Kept {
  tip: string;
  /** The first day of which everything was read. */
  from: string;
  /** The commit since which everything was read that was added; undefined for all. */
  base: string | undefined;
  messages: Map<string, Located>;
  room: NamesRoom;
}

/**
 * Who answered what in a channel: every message that names others, without its text. The links are
 * read once from a thread's first day on, with what was added to git since it began. From then on they
 * follow the bus by what was added. The date in a name does not decide, because a peer's clock may be
 * days behind.
 */
export class ChannelLinks {
  readonly #transport: Transport;
  readonly #reader: MessageReader;
  readonly #channels = new Map<string, Kept>();
  #reading: Promise<unknown> = Promise.resolve();

  constructor(transport: Transport, reader: MessageReader) {
    this.#transport = transport;
    this.#reader = reader;
  }

  /**
   * The messages of a channel that name others, by path.
   *
   * @param begun what was added since is complete
   * @param delivered messages that belong to them whatever their date, now and later
   */
  since(
    tip: string,
    channel: string,
    begun: Beginning,
    delivered: readonly Located[],
  ): Promise<Located[]> {
    // One after another: two runs of a channel begin together, and read it once.
    const read = this.#reading.then(() => this.#since(tip, channel, begun, delivered));
    this.#reading = read.catch(() => undefined);
    return read;
  }

  async #since(
    tip: string,
    channel: string,
    begun: Beginning,
    delivered: readonly Located[],
  ): Promise<Located[]> {
    const from = dayBefore(begun.relPath);
    const known = this.#channels.get(channel);
    this.#channels.delete(channel);
    const kept =
      known !== undefined && known.from <= from && (await begun.isAfter(known.base))
        ? await this.#brought(known, tip, channel)
        : await this.#read(tip, channel, begun, from);
    for (const { relPath, message } of delivered)
      kept.messages.set(
        relPath,
        seenFrom(channel, channel, { relPath, message: { ...message, body: '' } }),
      );
    this.#channels.set(channel, kept);
    this.#forget();
    return [...kept.messages.values()].sort((a, b) => (a.relPath < b.relPath ? -1 : 1));
  }

  async #read(tip: string, channel: string, begun: Beginning, from: string): Promise<Kept> {
    const base = await begun.base();
    const kept: Kept = { tip, from, base, messages: new Map(), room: new NamesRoom() };
    for await (const some of this.#reader.headers(tip, channel, begun))
      for (const located of some) keep(kept, located);
    return kept;
  }

  /** Updates what is kept to another commit. */
  async #brought(kept: Kept, tip: string, channel: string): Promise<Kept> {
    const { from, base, messages, room } = kept;
    if (kept.tip === tip) return kept;
    const folder = `${CHANNELS}/${channel}`;
    for await (const changes of this.#transport.changes(kept.tip, tip, [folder]))
      for (const change of changes) {
        const place = placeOf(change.path);
        if (place.kind !== 'message') continue;
        const before = messages.get(place.relPath);
        if (before !== undefined) room.gives(before.message);
        messages.delete(place.relPath);
        const read = change.status === 'D' ? undefined : await this.#reader.parse(change);
        if (read?.ok !== true) continue;
        const header = { relPath: place.relPath, message: { ...read.value, body: '' } };
        keep(kept, seenFrom(channel, channel, header));
      }
    return { tip, from, base, messages, room };
  }

  /**
   * Forgets the channels that were not asked for longest, and a channel that is too large on its
   * own.
   */
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

function keep({ messages, room }: Kept, located: Located): void {
  const { re, cause } = located.message;
  if (re.length + cause.length > 0 && room.takes(located.message))
    messages.set(located.relPath, located);
}
