import { Escapes, type Sequence } from './escapes.ts';
import { Modes } from './modes.ts';
import { Title } from './title.ts';

/** An announcement for the person at the terminal. */
export interface Announcement {
  /** The senders, once for each message, for the window's title. */
  names?: readonly string[];
  bell?: boolean;
  /** Further control sequences, unchanged. */
  extra?: string;
}

/** The key, and its encoding in the kitty keyboard protocol. */
const ENTER = ['\r', '\u001b[13u'];
/** What terminals send when they get the focus, if that was requested. */
const FOCUS = '\u001b[I';
const BELL = '\u0007';
/** Ends a sequence that the program did not end. */
const CANCEL = '\u0018';

/**
 * The connection from a program to the terminal. The program's bytes pass unchanged; announcements
 * are inserted where they break neither a control sequence nor a character. Pure: it returns what
 * should be written.
 */
export class Screen {
  readonly #modes = new Modes();
  readonly #title = new Title();
  readonly #escapes = new Escapes((sequence) => {
    this.#see(sequence);
  });
  /** Text that waits for a safe place. */
  #waiting = '';

  /** Processes output of the program. @returns what to write for it */
  output(bytes: Uint8Array): Uint8Array {
    const safe = this.#escapes.feed(bytes);
    if (safe === undefined || this.#waiting === '') return bytes;
    return Buffer.concat([bytes.subarray(0, safe), this.#release(), bytes.subarray(safe)]);
  }

  /** @returns what may be written of it now; the rest follows with the program's output */
  announce({ names, bell = false, extra = '' }: Announcement): Uint8Array {
    const title = names === undefined ? '' : this.#title.announce(names);
    return this.#put(`${title}${bell ? BELL : ''}${extra}`);
  }

  /**
   * Processes what was typed, without changing it: a line that is sent, or a window that gets the
   * focus, means that the announcement was seen.
   *
   * @returns what to write
   */
  input(bytes: Uint8Array): Uint8Array {
    const text = Buffer.from(bytes).toString('latin1');
    return [...ENTER, FOCUS].some((key) => text.includes(key))
      ? this.#put(this.#title.restore())
      : NOTHING;
  }

  /**
   * Called when the program is stopped or has ended. @returns what prepares the terminal for others
   */
  leave(): string {
    const rest = this.#escapes.atRest ? '' : CANCEL;
    this.#escapes.feed(Buffer.from(rest));
    const waiting = this.#waiting;
    this.#waiting = '';
    return rest + waiting + this.#title.restore() + this.#modes.undo();
  }

  /** Called when the program continues. @returns what prepares the terminal for it again */
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
