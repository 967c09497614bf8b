import { Escapes, type Sequence } from './escapes.ts';
import { Title } from './title.ts';

/** An announcement for the person at the terminal. */
export interface Announcement {
  /** The senders, once for each message, for the window's title. */
  names?: readonly string[];
  bell?: boolean;
  /** Further control sequences, unchanged. */
  extra?: string;
}

/** The Enter key, and its encoding in the kitty keyboard protocol. */
const ENTER = ['\r', '\u001b[13u'];
/** Input from terminals that get the focus, if that was requested. */
const FOCUS = '\u001b[I';
const BELL = '\u0007';
/** The character that ends a sequence which the program did not end. */
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

  /**
   * Processes output of the program.
   *
   * @returns the bytes to write for it
   */
  output(bytes: Uint8Array): Uint8Array {
    const safe = this.#escapes.feed(bytes);
    if (safe === undefined || this.#waiting === '') return bytes;
    return Buffer.concat([bytes.subarray(0, safe), this.#release(), bytes.subarray(safe)]);
  }

  /**
   * Adds an announcement.
   *
   * @returns the part of it that may be written now; the rest follows with the program's output
   */
  announce({ names, bell = false, extra = '' }: Announcement): Uint8Array {
    const title = names === undefined ? '' : this.#title.announce(names);
    return this.#put(`${title}${bell ? BELL : ''}${extra}`);
  }

  /**
   * Processes input, without changing it: Enter, or a window that gets the focus, means that the announcement was seen.
   *
   * @returns the bytes to write
   */
  input(bytes: Uint8Array): Uint8Array {
    const text = Buffer.from(bytes).toString('latin1');
    return [...ENTER, FOCUS].some((key) => text.includes(key))
      ? this.#put(this.#title.restore())
      : NOTHING;
  }

  /**
   * Handles the stop or the end of the program.
   *
   * @returns the sequences that prepare the terminal for others
   */
  leave(): string {
    const rest = this.#escapes.atRest ? '' : CANCEL;
    this.#escapes.feed(Buffer.from(rest));
    const waiting = this.#waiting;
    this.#waiting = '';
    return rest + waiting + this.#title.restore() + this.#modes.undo();
  }

  /**
   * Handles the continuation of the program.
   *
   * @returns the sequences that prepare the terminal for it again
   */
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

const ESC = '\u001b';
/** Modes that leave the alternate screen, so they come last. */
const SCREENS = new Set([47, 1047, 1049]);
/**
 * Private modes that disturb a shell if a program leaves them changed: keys, mouse, focus, screens, cursor,
 * paste, delayed drawing.
 */
const RESTORED = new Set([
  1,
  7,
  9,
  25,
  66,
  1000,
  1001,
  1002,
  1003,
  1004,
  1005,
  1006,
  1015,
  1016,
  2004,
  2026,
  2031,
  9001,
  ...SCREENS,
]);
/** Modes that are initially on in a terminal. */
const ON_AT_FIRST = new Set([7, 25]);

/** A record of a program's changes of its terminal, in case the program stops or ends without restoring it. */
class Modes {
  readonly #changed = new Set<number>();
  /** Flags pushed by the kitty keyboard protocol. */
  readonly #keyboard: string[] = [];
  /** Sequences that undo the other changes, by the change they undo. */
  readonly #undo = new Map<string, string>();

  see({ kind, text }: Sequence): void {
    if (kind === 'csi') this.#csi(text);
    else if (kind === 'esc') this.#esc(text);
  }

  /** Returns the sequences that restore the terminal to its state before the program. */
  undo(): string {
    const changed = [...this.#changed];
    const set = (modes: number[]): string =>
      modes.map((mode) => `${ESC}[?${String(mode)}${ON_AT_FIRST.has(mode) ? 'h' : 'l'}`).join('');
    const popped = this.#keyboard.length > 0 ? `${ESC}[<${String(this.#keyboard.length)}u` : '';
    return [
      set(changed.filter((mode) => !SCREENS.has(mode))),
      popped,
      ...this.#undo.values(),
      set(changed.filter((mode) => SCREENS.has(mode))),
    ].join('');
  }

  /** Returns the sequences that restore the terminal to the state in which the program left it. */
  redo(): string {
    const changed = [...this.#changed].sort(
      (a, b) => Number(SCREENS.has(b)) - Number(SCREENS.has(a)),
    );
    return [
      ...changed.map((mode) => `${ESC}[?${String(mode)}${ON_AT_FIRST.has(mode) ? 'l' : 'h'}`),
      ...this.#keyboard.map((flags) => `${ESC}[>${flags}u`),
    ].join('');
  }

  #csi(text: string): void {
    const [, modes, change] = /^\?([\d;]+)([hl])$/.exec(text) ?? [];
    if (modes !== undefined) {
      for (const mode of modes.split(';').map(Number)) this.#mode(mode, change === 'h');
      return;
    }
    const [, how, flags = '', direction] = /^([<>=])([\d;]*)([um])$/.exec(text) ?? [];
    if (direction === 'u') this.#keys(how, flags);
    else if (direction === 'm' && how === '>' && /^4(;|$)/.test(flags))
      this.#note('keys', !/^4(;0?)?$/.test(flags), `${ESC}[>4m`);
    else if (/^[\d:;]*m$/.test(text)) this.#note('colour', !/^0?m$/.test(text), `${ESC}[0m`);
    else if (/^\d* q$/.test(text)) this.#note('cursor', !/^0? q$/.test(text), `${ESC}[0 q`);
    else if (/^[\d;]*r$/.test(text))
      // Setting the scroll region moves the cursor, so save and restore it.
      this.#note('region', text !== 'r', `${ESC}7${ESC}[r${ESC}8`);
    else if (text === '!p') this.#forget();
  }

  #esc(text: string): void {
    if (text === 'c') this.#forget();
    else if (text === '=' || text === '>') this.#note('keypad', text === '=', `${ESC}>`);
    else if (text.startsWith('(')) this.#note('letters', text !== '(B', `${ESC}(B`);
  }

  #mode(mode: number, on: boolean): void {
    if (!RESTORED.has(mode)) return;
    if (on === ON_AT_FIRST.has(mode)) this.#changed.delete(mode);
    else this.#changed.add(mode);
  }

  #keys(how: string | undefined, flags: string): void {
    if (how === '>') this.#keyboard.push(flags);
    else if (how === '<')
      this.#keyboard.length = Math.max(0, this.#keyboard.length - Number(flags || 1));
    else this.#note('keyboard', !/^0?(;|$)/.test(flags), `${ESC}[=0u`);
    // Limit the memory for a program that only pushes and never pops.
    if (this.#keyboard.length > 99) this.#keyboard.shift();
  }

  #note(what: string, changed: boolean, undo: string): void {
    if (changed) this.#undo.set(what, undo);
    else this.#undo.delete(what);
  }

  #forget(): void {
    this.#changed.clear();
    this.#keyboard.length = 0;
    this.#undo.clear();
  }
}
