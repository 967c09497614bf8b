import { CHANNELS, messageFile, placeOf } from '../protocol/layout.ts';
import type { Located } from '../protocol/message.ts';
import { dayBefore } from '../protocol/names.ts';
import { seenFrom } from '../protocol/causality.ts';
import type { Transport } from '../transport/transport.ts';
import type { MessageReader } from './message-reader.ts';
import type { Beginning } from './beginning.ts';
import { NamesRoom } from './names-room.ts';

/** How many messages' links are kept, of all channels together; each takes some 500 bytes. */
const MAX_KEPT = 200_000;

/** Messages without their texts, as they are at a commit. */
export interface Headers<T extends Located> {
  tip: string;
  /** The first day of which everything was read. */
  from: string;
  /** The commit since which everything was read that was added; undefined for all. */
  base: string | undefined;
  /** By their files. */
  messages: Map<string, T>;
  room: NamesRoom;
}

/**
 * Whether headers hold all since something began: its day, and what was added since a commit before it.
 */
export async function reachesBack<T extends Located>(
  { from, base }: Headers<T>,
  begun: Beginning,
): Promise<boolean> {
  return from <= dayBefore(begun.relPath) && (await begun.isAfter(base));
}

/**
 * Updates headers to another commit; where that fails, they are of no more use.
 *
 * @param folder whose messages they are
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
 * Who answered what in a channel: every message that names others, without its text. The links are
 * read once from a thread's first day on, with what was added to git since it began. From then on they
 * follow the bus by what was added. The date in a name does not decide, because a peer's clock may be
 * days behind.
 */
export class ChannelLinks {
  readonly #parts: { transport: Transport; reader: MessageReader };
  readonly #channels = new Map<string, Kept>();
  #reading: Promise<unknown> = Promise.resolve();

  constructor(transport: Transport, reader: MessageReader) {
    this.#parts = { transport, reader };
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

  async #read(tip: string, channel: string, begun: Beginning): Promise<Kept> {
    const [base, from] = [await begun.base(), dayBefore(begun.relPath)];
    const kept: Kept = { tip, from, base, messages: new Map(), room: new NamesRoom() };
    for await (const some of this.#parts.reader.headers(tip, channel, begun))
      for (const located of some) keep(kept, channel, located);
    return kept;
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

function keep({ messages, room }: Kept, channel: string, located: Located): void {
  const { re, cause } = located.message;
  if (re.length + cause.length > 0 && room.takes(located.message))
    messages.set(messageFile(channel, located.relPath), located);
}
