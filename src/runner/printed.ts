import { withoutSequences } from '../protocol/text/words.ts';
import { Escapes } from './escapes.ts';

/** Most bytes of an incomplete control sequence that are held back; anything longer is not a sequence. */
const MAX_HELD = 4096;
const CR = 13;

/**
 * A converter of a program's output, piece by piece, into text that can neither steer a terminal nor hide a
 * part of itself: a control sequence or a character that is cut by the end of a piece waits for the next one.
 */
export class Printed {
  #escapes = new Escapes();
  #held: Buffer = Buffer.alloc(0);

  /**
   * Adds output.
   *
   * @returns the text that is complete so far
   */
  take(bytes: Uint8Array): string {
    const safe = this.#escapes.feed(bytes);
    const all = Buffer.concat([this.#held, bytes]);
    let end = safe === undefined ? 0 : this.#held.length + safe;
    if (all.length - end > MAX_HELD) {
      this.#escapes = new Escapes();
      end = all.length;
    }
    // It may be the first half of a CRLF.
    if (all[end - 1] === CR) end--;
    this.#held = Buffer.from(all.subarray(end));
    return harmless(all.subarray(0, end).toString('utf8'));
  }

  /**
   * Ends the output.
   *
   * @returns the rest of the text
   */
  end(): string {
    const rest = harmless(this.#held.toString('utf8'));
    this.forget();
    return rest;
  }

  /** Discards the incomplete rest, because a part of the output after it is left out. */
  forget(): void {
    this.#held = Buffer.alloc(0);
    this.#escapes = new Escapes();
  }
}

/**
 * Returns text without control sequences and characters that reorder letters. A carriage return, with which a
 * program overwrites its line, starts a new line, so that the earlier text remains readable.
 */
export function harmless(text: string): string {
  return withoutSequences(text.replace(/\r\n?/g, '\n'));
}
