import { CHANNELS, messageFile, dayBefore } from '../protocol/layout.ts';
import type { Located } from '../protocol/message.ts';
import type { Transport } from '../transport/transport.ts';
import type { MessageReader } from './message-reader.ts';
import type { ThreadStart } from './thread-start.ts';
import { reachesBack, updated, type Headers } from './channel-links.ts';
import { channelIds } from './channel-reader.ts';
import { NamesRoom } from './names-room.ts';

/** A message that names, in `origin`, the message in another channel during whose processing it was written. */
export interface CrossChannelLink extends Located {
  channel: string;
}

type Kept = Headers<CrossChannelLink>;

/** Maximum number of cached crossings, the first ones by path; a thread that needs more gets only these. */
const MAX_LINKS = 50_000;
/**
 * Maximum number of messages that are searched for crossings, the first ones of each channel: a thread
 * leads into another channel soon after its start, and a thread that is months old must not require
 * reading everything written since.
 */
const MAX_READ = 20_000;
/** Minimum number of messages of each channel that are searched. */
const MIN_READ = 200;

/**
 * The messages that lead from one channel into another, of the whole bus, without their text. They are
 * read from the first requested day on, and then updated with messages added to the bus.
 */
export class CrossChannelLinks {
  readonly #parts: { transport: Transport; reader: MessageReader };
  #reading: Promise<unknown> = Promise.resolve();
  #kept: Kept | undefined;

  constructor(transport: Transport, reader: MessageReader) {
    this.#parts = { transport, reader };
  }

  /**
   * Returns the crossings since a thread started, except those within one channel, whose links are all
   * known anyway.
   */
  since(tip: string, begun: ThreadStart, home: string): Promise<CrossChannelLink[]> {
    // Calls are serialized: two runs start together, and the crossings are read once.
    const read = this.#reading.then(() => this.#since(tip, begun, home));
    this.#reading = read.catch(() => undefined);
    return read;
  }

  async #since(tip: string, begun: ThreadStart, home: string): Promise<CrossChannelLink[]> {
    const known = this.#kept;
    this.#kept = undefined;
    const kept =
      known !== undefined && (await reachesBack(known, begun))
        ? await updated(this.#parts, { kept: known, tip, folder: CHANNELS }, keep)
        : await this.#read(tip, begun);
    this.#kept = kept;
    return [...kept.messages.values()].filter(({ channel }) => channel !== home);
  }

  async #read(tip: string, begun: ThreadStart): Promise<Kept> {
    const [base, from] = [await begun.base(), dayBefore(begun.relPath)];
    const kept: Kept = { tip, from, base, messages: new Map(), room: new NamesRoom() };
    const channels = await channelIds(this.#parts.transport, tip);
    // With only one channel, nothing leads into another.
    const most = Math.max(MIN_READ, MAX_READ / channels.length);
    for (const channel of channels.length > 1 ? channels : []) {
      let read = 0;
      for await (const some of this.#parts.reader.headers(tip, channel, begun)) {
        for (const located of some) keep(kept, channel, located);
        read += some.length;
        if (read >= most) break;
      }
    }
    return kept;
  }
}

function keep({ messages, room }: Kept, channel: string, located: Located): void {
  if (located.message.origin === undefined || messages.size >= MAX_LINKS) return;
  if (!room.takes(located.message)) return;
  messages.set(messageFile(channel, located.relPath), { ...located, channel });
}
