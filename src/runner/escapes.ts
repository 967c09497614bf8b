/** A complete control sequence in a terminal's input, without its introducer and terminator. */
export interface Sequence {
  /** `ESC [ …`, `ESC ] …`, or `ESC` and a letter. */
  kind: 'csi' | 'osc' | 'esc';
  /**
   * Parameters, intermediates and the final letter, or the text of an OSC; empty if it is too long.
   */
  text: string;
}

type State = 'ground' | 'escape' | 'csi' | 'osc' | 'string' | 'osc escape' | 'string escape';

const ESC = 0x1b;
const BEL = 0x07;
const CAN = 0x18;
const SUB = 0x1a;
/** `ESC k` begins a title in tmux and screen. */
const SCREEN_TITLE = 0x6b;
const MAX_CSI = 256;
const MAX_OSC = 4096;
/** C1 controls, each of which is equivalent to ESC and a letter: the letter's code is 0x40 less. */
const C1: ReadonlyMap<number, State> = new Map([
  [0x90, 'string'],
  [0x98, 'string'],
  [0x9b, 'csi'],
  [0x9d, 'osc'],
  [0x9e, 'string'],
  [0x9f, 'string'],
]);

/**
 * A parser of a program's output to a terminal, byte by byte, which finds where other text may be
 * written without breaking a control sequence or a character. It changes no output.
 *
 * Where terminals differ (only some of them accept C1 controls in UTF-8) it assumes that a sequence
 * begins, which at worst delays the next safe place.
 */
export class Escapes {
  readonly #onSequence: (sequence: Sequence) => void;
  #state: State = 'ground';
  /** Number of bytes of a UTF-8 character that are still to come. */
  #missing = 0;
  /** Whether it is one of the characters U+0080 to U+00BF, which may be a C1 control. */
  #latin = false;
  #gathered: number[] = [];
  #tooLong = false;

  constructor(onSequence: (sequence: Sequence) => void = () => undefined) {
    this.#onSequence = onSequence;
  }

  /** Whether text may be inserted now. */
  get atRest(): boolean {
    return this.#state === 'ground' && this.#missing === 0;
  }

  /**
   * Processes the next bytes.
   *
   * @returns the last position in them, from 0 to their length, where text may be inserted; undefined if there is none
   */
  feed(bytes: Uint8Array): number | undefined {
    let resting = this.atRest;
    let safe = resting ? 0 : undefined;
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at] ?? 0;
      // Most of the input is plain text.
      if (!resting || byte === ESC || byte >= 0x80) {
        this.#step(byte);
        resting = this.atRest;
      }
      if (resting) safe = at + 1;
    }
    return safe;
  }

  #step(byte: number): void {
    switch (this.#state) {
      case 'ground':
        this.#ground(byte);
        break;
      case 'escape':
        this.#escape(byte);
        break;
      case 'csi':
        this.#csi(byte);
        break;
      case 'osc':
      case 'string':
        this.#text(byte);
        break;
      case 'osc escape':
      case 'string escape':
        if (byte === 0x5c) this.#end(this.#state === 'osc escape' ? 'osc' : undefined);
        else {
          // An ESC without its backslash ends the text and starts another sequence.
          this.#begin('escape');
          this.#escape(byte);
        }
    }
  }

  #ground(byte: number): void {
    if (this.#missing > 0) {
      if (byte >= 0x80 && byte < 0xc0) {
        this.#missing--;
        const control = this.#latin ? C1.get(byte) : undefined;
        this.#latin = false;
        if (control !== undefined) this.#begin(control);
        return;
      }
      this.#missing = 0;
      this.#latin = false;
    }
    if (byte === ESC) this.#begin('escape');
    else if (byte >= 0x80 && byte < 0xc0) {
      const control = C1.get(byte);
      if (control !== undefined) this.#begin(control);
    } else if (byte >= 0xc2 && byte < 0xf5) {
      this.#missing = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
      this.#latin = byte === 0xc2;
    }
  }

  #escape(byte: number): void {
    if (byte === CAN || byte === SUB) this.#end();
    else if (byte === ESC) this.#begin('escape');
    else if (byte < 0x20 || byte === 0x7f) return;
    else if (byte >= 0x80) {
      // No sequence contains this byte, so it is the beginning of the following text.
      this.#end();
      this.#ground(byte);
    } else if (byte < 0x30) this.#gather(byte, MAX_CSI);
    else {
      const introduced = this.#gathered.length === 0 ? C1.get(byte + 0x40) : undefined;
      if (introduced !== undefined) this.#begin(introduced);
      else if (byte === SCREEN_TITLE) this.#begin('string');
      else {
        this.#gather(byte, MAX_CSI);
        this.#end('esc');
      }
    }
  }

  #csi(byte: number): void {
    if (byte === CAN || byte === SUB) this.#end();
    else if (byte === ESC) this.#begin('escape');
    // A terminal executes other controls within a sequence.
    else if (byte < 0x20 || byte >= 0x7f) return;
    else {
      this.#gather(byte, MAX_CSI);
      if (byte >= 0x40) this.#end('csi');
    }
  }

  #text(byte: number): void {
    const isOsc = this.#state === 'osc';
    if (byte === CAN || byte === SUB) this.#end();
    else if (byte === ESC) this.#state = isOsc ? 'osc escape' : 'string escape';
    else if (isOsc && byte === BEL) this.#end('osc');
    else if (isOsc) this.#gather(byte, MAX_OSC);
  }

  #begin(state: State): void {
    this.#state = state;
    this.#gathered = [];
    this.#tooLong = false;
    this.#missing = 0;
  }

  #gather(byte: number, most: number): void {
    if (this.#gathered.length < most) this.#gathered.push(byte);
    else this.#tooLong = true;
  }

  #end(kind?: Sequence['kind']): void {
    const gathered = this.#tooLong ? [] : this.#gathered;
    this.#begin('ground');
    if (kind === 'osc') this.#onSequence({ kind, text: Buffer.from(gathered).toString('utf8') });
    else if (kind !== undefined) this.#onSequence({ kind, text: String.fromCharCode(...gathered) });
  }
}
