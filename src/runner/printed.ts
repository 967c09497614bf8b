import { withoutSequences } from '../protocol/text/words.ts';
import { Escapes } from './escapes.ts';

/** Bytes of a control sequence that are waited for; what is longer is no sequence. */
const MAX_HELD = 4096;
const CR = 13;

/**
 * What a program printed, as text that can neither steer a terminal nor hide a part of itself, taken
 * piece by piece: a control sequence or a character that is cut by the end of a piece waits for the
 * next one.
 */
export class Printed {
  #escapes = new Escapes();
  #held: Buffer = Buffer.alloc(0);

  /** @returns the text that is complete so far */
  take(bytes: Uint8Array): string {
    const safe = this.#escapes.feed(bytes);
    const all = Buffer.concat([this.#held, bytes]);
    let end = safe === undefined ? 0 : this.#held.length + safe;
    if (all.length - end > MAX_HELD) {
      this.#escapes = new Escapes();
      end = all.length;
    }
    // It may be the first half of a line's end.
    if (all[end - 1] === CR) end--;
    this.#held = Buffer.from(all.subarray(end));
    return harmless(all.subarray(0, end).toString('utf8'));
  }

  /** @returns what is left, when nothing more comes */
  end(): string {
    const rest = harmless(this.#held.toString('utf8'));
    this.forget();
    return rest;
  }

  /** Called when a part of what was printed is left out. */
  forget(): void {
    this.#held = Buffer.alloc(0);
    this.#escapes = new Escapes();
  }
}

/**
 * Text without control sequences and what reorders letters. A carriage return, with which a program
 * writes over its line, begins a new line, so that what it has written before stays to be read.
 */
export function harmless(text: string): string {
  return withoutSequences(text.replace(/\r\n?/g, '\n'));
}
