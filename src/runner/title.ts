const ESC = '\u001b';
const MAX_LENGTH = 200;
const MAX_NAMES = 3;

/**
 * The window's title during an announcement: the senders before the title that the program has set. A title
 * that the program sets in the meantime is stored, and restored when the announcement was seen.
 */
export class Title {
  /** The senders since the last look, each once, and the number of messages. */
  readonly #names = new Set<string>();
  #count = 0;
  /** Undefined until the program sets one. */
  #theirs: string | undefined;
  /** Whether the terminal stores the title that existed before the program set one. */
  #saved = false;

  /**
   * Processes the text of an OSC sequence of the program.
   *
   * @returns the text to write after it, if any
   */
  see(osc: string): string {
    const [, title] = /^[02];(.*)$/s.exec(osc) ?? [];
    if (title === undefined) return '';
    this.#theirs = title;
    return this.#count === 0 ? '' : this.#shown();
  }

  /** Puts the senders before the title. */
  announce(names: readonly string[]): string {
    for (const name of names) this.#names.add(name);
    this.#count += names.length;
    const save = this.#theirs === undefined && !this.#saved ? `${ESC}[22;2t` : '';
    this.#saved ||= save !== '';
    return save + this.#shown();
  }

  /** Restores the program's title, because the announcement was seen. */
  restore(): string {
    if (this.#count === 0) return '';
    this.#count = 0;
    this.#names.clear();
    // A terminal that stores no title at least does not keep ours.
    const back = this.#saved ? `${set('')}${ESC}[23;2t` : '';
    this.#saved = false;
    return back + (this.#theirs === undefined ? '' : set(this.#theirs));
  }

  #shown(): string {
    const names = [...this.#names];
    const some = names.slice(0, MAX_NAMES).join(', ') + (names.length > MAX_NAMES ? ', …' : '');
    const words = this.#count === 1 ? `new from ${some}` : `${String(this.#count)} new: ${some}`;
    const theirs = this.#theirs ?? '';
    return set(theirs === '' ? words : `${words} | ${theirs}`);
  }
}

function set(title: string): string {
  return `${ESC}]2;${clean(title)}${ESC}\\`;
}

/** Returns a title that cannot end its own control sequence. */
function clean(title: string): string {
  return Array.from(title.replace(/\p{C}/gu, '')).slice(0, MAX_LENGTH).join('');
}
