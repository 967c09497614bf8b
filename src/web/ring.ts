import { withoutPrinted } from './answers.ts';
import type { WebEvents } from '../api/api.ts';

/** The start of a stream: after this event, or without the earlier events because they are no longer kept. */
export interface Beginning {
  after: number;
  resumed: boolean;
}

interface Kept {
  seq: number;
  bytes: Uint8Array;
}

const LIMITS = { events: 4096, bytes: 8 * 1024 * 1024 };
const ID = /^([0-9a-f]{8})-(\d{1,15})$/;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/**
 * The latest events, for streams that are behind and for clients that reconnect. Each stream only keeps
 * its position in the ring, so a slow one costs no memory; one whose position is no longer in the ring
 * starts again.
 */
export class EventRing {
  readonly #epoch: string;
  readonly #limits: typeof LIMITS;
  readonly #kept = new Map<number, Kept>();
  #bytes = 0;
  #newest = 0;
  #oldest = 1;

  /**
   * @param epoch 8 hex digits that differ for each server, because each numbers its events from one
   */
  constructor(epoch: string, limits: Partial<typeof LIMITS> = {}) {
    this.#epoch = epoch;
    this.#limits = { ...LIMITS, ...limits };
  }

  /** The number of the newest event. */
  get newest(): number {
    return this.#newest;
  }

  /** Returns the id of an event; without a number, that of the newest one. */
  id(seq = this.#newest): string {
    return `${this.#epoch}-${String(seq)}`;
  }

  push<K extends keyof WebEvents>(name: K, data: WebEvents[K]): void {
    const seq = ++this.#newest;
    const bytes = encodeEvent(name, data, this.id(seq));
    this.#kept.set(seq, { seq, bytes });
    this.#bytes += bytes.byteLength;
    const { events, bytes: room } = this.#limits;
    while (this.#kept.size > 1 && (this.#kept.size > events || this.#bytes > room)) {
      this.#bytes -= this.#kept.get(this.#oldest)?.bytes.byteLength ?? 0;
      this.#kept.delete(this.#oldest++);
    }
  }

  /**
   * Returns the event after the given one; `none` when there is none yet, `gone` when it is no longer
   * kept.
   *
   * @param after number of the last event that was seen
   */
  next(after: number): Kept | 'none' | 'gone' {
    if (after >= this.#newest) return 'none';
    return this.#kept.get(after + 1) ?? 'gone';
  }

  /**
   * Returns the position at which a client continues that has seen the event with this id; without an id,
   * the newest event.
   */
  beginning(id: string | undefined): Beginning {
    const now = { after: this.#newest, resumed: false };
    const [, epoch, number = ''] = ID.exec(id ?? '') ?? [];
    const after = Number(number);
    const isKept = after >= this.#oldest - 1 && after <= this.#newest;
    return epoch === this.#epoch && isKept ? { after, resumed: true } : now;
  }
}

/** Formats an event of a stream. JSON has no line breaks, so it fits into one `data:` line. */
export function encodeEvent<K extends keyof WebEvents>(
  name: K,
  data: WebEvents[K],
  id: string,
): Uint8Array {
  return encoder.encode(`id: ${id}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
}

/** Returns a formatted event without what programs of this machine have printed. */
export function printedOut(event: Uint8Array): Uint8Array {
  const text = decoder.decode(event);
  const at = text.indexOf('data: ') + 'data: '.length;
  const data: unknown = JSON.parse(text.slice(at));
  return encoder.encode(`${text.slice(0, at)}${JSON.stringify(data, withoutPrinted)}\n\n`);
}
