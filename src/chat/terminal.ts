import { writeSync } from 'node:fs';
import { emitKeypressEvents, type Interface } from 'node:readline';
import type { Key } from './model.ts';

/**
 * Switches to the alternate screen, turns off line wrapping (so that a wrongly measured character
 * cannot break a line) and turns on bracketed paste.
 */
const ENTER = '\u001b[?1049h\u001b[?7l\u001b[?2004h\u001b[2J\u001b[H';
const LEAVE = '\u001b[?2004l\u001b[?7h\u001b[?25h\u001b[0m\u001b[?1049l';
const CLEAR = '\u001b[2J\u001b[H';
/**
 * Milliseconds after which an Escape counts as a key, and not as the beginning of an escape
 * sequence.
 */
const ESCAPE_MS = 50;
const FALLBACK = { columns: 80, rows: 24 };

/** The process's terminal while a chat uses it. */
export class ChatTerminal {
  readonly #stdin = process.stdin;
  readonly #stdout = process.stdout;
  readonly #keyboard: Keyboard;
  readonly #resized: () => void;
  #isOpen = true;

  /** Takes over the terminal; it is restored however the process ends. */
  constructor(on: { press: (key: Key) => void; resize: () => void }) {
    this.#keyboard = new Keyboard(on.press);
    this.#resized = on.resize;
    process.on('exit', this.#restore);
    this.#stdin.setRawMode(true);
    // Cast to an interface of readline, because only this property of it is used.
    emitKeypressEvents(this.#stdin, { escapeCodeTimeout: ESCAPE_MS } as unknown as Interface);
    this.#stdin.on('keypress', this.#pressed);
    this.#stdin.resume();
    this.#stdout.on('resize', this.#resized);
    this.#stdout.write(ENTER);
  }

  get size(): { columns: number; rows: number } {
    const { columns, rows } = this.#stdout;
    return {
      columns: columns > 0 ? columns : FALLBACK.columns,
      rows: rows > 0 ? rows : FALLBACK.rows,
    };
  }

  /** Writes a sequence that moves nothing on the screen. */
  write(sequence: string): void {
    this.#stdout.write(sequence);
  }

  clear(): void {
    this.#stdout.write(CLEAR);
  }

  /**
   * Returns the output stream for the drawing library. The library does not learn of resizes, because everything is
   * drawn anew then, and it does not erase the terminal's earlier output.
   */
  output(): NodeJS.WriteStream {
    const stdout = this.#stdout;
    const write = (text: string, done?: () => void): boolean =>
      stdout.write(text.replaceAll('\u001b[3J', ''), done);
    const deaf = new Set<string | symbol>(['on', 'off', 'once', 'addListener', 'removeListener']);
    return new Proxy(stdout, {
      get: (target, property) => {
        if (property === 'write') return write;
        if (deaf.has(property)) return () => stdout;
        const value: unknown = Reflect.get(target, property);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
  }

  close(): void {
    process.off('exit', this.#restore);
    this.#stdin.off('keypress', this.#pressed);
    this.#stdout.off('resize', this.#resized);
    this.#restore();
    this.#stdin.pause();
  }

  readonly #pressed = (text: string | undefined, key: Keypress): void => {
    this.#keyboard.take(text, key);
  };

  readonly #restore = (): void => {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    try {
      this.#stdin.setRawMode(false);
      writeSync(this.#stdout.fd, LEAVE);
    } catch {
      // The terminal no longer exists.
    }
  };
}

/** A key as `node:readline` reports it. */
interface Keypress {
  sequence?: string | undefined;
  name?: string | undefined;
  ctrl?: boolean | undefined;
  meta?: boolean | undefined;
  shift?: boolean | undefined;
}

/** The sequences of Shift-Enter on terminals that distinguish it from Enter. */
const SHIFT_ENTER = new Set(['\u001b[13;2u', '\u001b[27;2;13~']);

/** Turns what `node:readline` reports into keys; pasted text becomes one key. */
export class Keyboard {
  readonly #press: (key: Key) => void;
  #pasted: string | undefined;

  constructor(press: (key: Key) => void) {
    this.#press = press;
  }

  take(text: string | undefined, key: Keypress): void {
    if (key.name === 'paste-start') this.#pasted = '';
    else if (key.name === 'paste-end') {
      const pasted = this.#pasted ?? '';
      this.#pasted = undefined;
      this.#press({ name: 'text', text: pasted.replace(/\r\n?/g, '\n') });
    } else if (this.#pasted !== undefined) this.#pasted += text ?? key.sequence ?? '';
    else this.#press(keyOf(text, key));
  }
}

/** Converts one key; its name is `text` if it types characters. */
function keyOf(text: string | undefined, key: Keypress): Key {
  const { sequence = '', name = '', ctrl = false, meta = false, shift = false } = key;
  if (SHIFT_ENTER.has(sequence)) return { name: 'alt-return', text: '' };
  const types = text !== undefined && !ctrl && !meta && !/^\p{Cc}/u.test(text) && text !== '';
  if (types) return { name: 'text', text };
  if (name === 'escape') return { name, text: '' };
  const before = `${ctrl ? 'ctrl-' : ''}${meta ? 'alt-' : ''}${shift && name === 'tab' ? 'shift-' : ''}`;
  return { name: `${before}${name}`, text: '' };
}
