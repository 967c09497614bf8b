import type { Sequence } from './escapes.ts';

const ESC = '\u001b';
/** Modes that leave the alternate screen, so they come last. */
const SCREENS = new Set([47, 1047, 1049]);
/**
 * The private modes that disturb a shell if a program leaves them changed: keys, mouse, focus,
 * screens, cursor, paste, delayed drawing.
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
/** Modes that are on in a terminal that nobody has changed. */
const ON_AT_FIRST = new Set([7, 25]);

/**
 * Records what a program has changed of its terminal, in case the program stops or ends without
 * restoring it.
 */
export class Modes {
  readonly #changed = new Set<number>();
  /** Flags pushed by the kitty keyboard protocol. */
  readonly #keyboard: string[] = [];
  /** Sequences that undo the rest, by the change they undo. */
  readonly #undo = new Map<string, string>();

  see({ kind, text }: Sequence): void {
    if (kind === 'csi') this.#csi(text);
    else if (kind === 'esc') this.#esc(text);
  }

  /** The sequences that restore the terminal to its state before the program. */
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

  /** The sequences that restore the terminal to the state in which the program left it. */
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
