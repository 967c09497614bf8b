import { Escapes, type Sequence } from './escapes.ts';
import { Modes } from './modes.ts';
import { Title } from './title.ts';

/** What somebody at the terminal is told. */
export interface Announcement {
  /** Who has written, once for each message, for the window's title. */
  names?: readonly string[];
  bell?: boolean;
  /** Further control sequences, as they are. */
  extra?: string;
}

/** The key, and the same in the kitty keyboard protocol. */
const ENTER = ['\r', '\u001b[13u'];
/** Terminals say so when they were asked to. */
const FOCUS = '\u001b[I';
const BELL = '\u0007';
/** Ends a sequence that its program did not. */
const CANCEL = '\u0018';

/**
 * The way from a program to the terminal. Its bytes go through as they are; announcements go in
 * between them, where neither a control sequence nor a character is cut. Pure: it returns what is
 * to be written.
 */
export class Screen {
  readonly #modes = new Modes();
  readonly #title = new Title();
  readonly #escapes = new Escapes((sequence) => {
    this.#see(sequence);
  });
  /** What waits for a safe place. */
  #waiting = '';

  /** Takes output of the program. @returns what to write for it */
  output(bytes: Uint8Array): Uint8Array {
    const safe = this.#escapes.feed(bytes);
    if (safe === undefined || this.#waiting === '') return bytes;
    return Buffer.concat([bytes.subarray(0, safe), this.#release(), bytes.subarray(safe)]);
  }

  /** @returns what may be written of it now; the rest comes with the program's output */
  announce({ names, bell = false, extra = '' }: Announcement): Uint8Array {
    const title = names === undefined ? '' : this.#title.announce(names);
    return this.#put(`${title}${bell ? BELL : ''}${extra}`);
  }

  /**
   * Takes what was typed, which is not changed: a line that is sent off, or a window that is looked
   * at, means that the announcement was seen.
   *
   * @returns what to write
   */
  input(bytes: Uint8Array): Uint8Array {
    const text = Buffer.from(bytes).toString('latin1');
    return [...ENTER, FOCUS].some((key) => text.includes(key))
      ? this.#put(this.#title.restore())
      : NOTHING;
  }

  /** The program is stopped or over. @returns what gives the terminal back to others */
  leave(): string {
    const rest = this.#escapes.atRest ? '' : CANCEL;
    this.#escapes.feed(Buffer.from(rest));
    const waiting = this.#waiting;
    this.#waiting = '';
    return rest + waiting + this.#title.restore() + this.#modes.undo();
  }

  /** It goes on. @returns what makes the terminal its own again */
  enter(): string {
    return this.#modes.redo();
  }

  #see(sequence: Sequence): void {
    this.#modes.see(sequence);
    if (sequence.kind === 'osc') this.#waiting += this.#title.see(sequence.text);
  }

  #put(text: string): Uint8Array {
    this.#waiting += text;
    return this.#escapes.atRest ? this.#release() : NOTHING;
  }

  #release(): Uint8Array {
    const bytes = Buffer.from(this.#waiting);
    this.#waiting = '';
    return bytes;
  }
}

const NOTHING = new Uint8Array();
