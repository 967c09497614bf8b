import type { Key } from './model.ts';

/** A key as `node:readline` reports it. */
export interface Keypress {
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
