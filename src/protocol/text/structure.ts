/**
 * The form of the lines that Crosstalk itself writes in a prompt, and the mark for a line of
 * somebody else's text that looks like one (trust.md §4, decision 0024). It does not matter where a
 * text came from: everything that Crosstalk did not write goes through {@link quoted}.
 */

/** The headings of a prompt. Foreign text cannot produce a line that reads like one. */
export const HEADINGS = {
  profile: 'Your profile',
  channel: 'This channel',
  peers: 'Who else is here',
  notes: 'Shared notes in force',
  place: 'Where you are',
  session: 'Your session',
  earlier: 'Earlier, with',
  thread: 'The thread so far',
  news: 'New in this thread',
  meanwhile: 'Said meanwhile',
  skill: 'The skill asked for',
  form: 'The form of your answer',
  gate: 'What needs approval here',
};

/** Inserted before a foreign line that looks like one of Crosstalk's. */
export const MARK = '> ';

const WORD_NAME = 'crosstalk';

/**
 * The line before each delimiter line; `word` was made for this prompt and is not known to anybody
 * else.
 */
export function wordLine(word: string): string {
  return `[${WORD_NAME} ${word}]`;
}

/**
 * Everything that some reader treats as the end of a line: line feed and carriage return, the
 * separators of ASCII, next line, and the line and paragraph separators of Unicode.
 */
// eslint-disable-next-line no-control-regex -- these are the characters meant
const BREAK = /\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/g;

/**
 * Inserts {@link MARK} before each line of a text that looks like one of Crosstalk's, and changes
 * nothing else. {@link unquoted} is its inverse for every text.
 *
 * @param word of this prompt, if it has one: a line with it is marked too, although nobody can know
 *   it
 */
export function quoted(text: string, word?: string): string {
  return markedLines(text, (line) => isOurs(line, word));
}

/** Inserts {@link MARK} before each line of a text for which `isLike` is true. */
export function markedLines(text: string, isLike: (line: string) => boolean): string {
  return eachLine(text, (line) => (isLike(line) ? MARK + line : line));
}

/** Reverses {@link quoted}: removes the mark from each line that looks like one of Crosstalk's. */
export function unquoted(text: string, word?: string): string {
  return eachLine(text, (line) => (isOurs(line, word) ? line.slice(MARK.length) : line));
}

/** Puts `prefix` before every line of a text that is quoted as a whole. */
export function indented(text: string, prefix: string): string {
  return eachLine(text, (line) => prefix + line);
}

/** Foreign words within one of Crosstalk's lines: without line breaks and invisible characters. */
export function inLine(text: string): string {
  return text.replace(/[\p{C}\u2028\u2029]+/gu, ' ').trim();
}

function eachLine(text: string, change: (line: string) => string): string {
  const parts: string[] = [];
  let start = 0;
  for (const { 0: end, index } of text.matchAll(BREAK)) {
    parts.push(change(text.slice(start, index)), end);
    start = index + end.length;
  }
  parts.push(change(text.slice(start)));
  return parts.join('');
}

/**
 * The letters of a title without blanks, in the form in which {@link Seen} returns those of a line.
 */
const plain = (title: string): string => title.toLowerCase().replaceAll(' ', '');
const TITLES = Object.values(HEADINGS).map(plain);
/** The mark of a thread entry's first line: `> <from> to <to> (ref: …):`. */
const ENTRY = '(ref:';

/**
 * Whether a line looks like one of Crosstalk's: `--- Message …`, a heading, the line with the word,
 * or the first line of a thread entry. It is judged by its appearance: a character that resembles a
 * letter in another script or width counts as that letter, and invisible or merely decorative
 * characters are ignored.
 *
 * Examines no more of the line than necessary, which for nearly every line is its first character.
 */
function isOurs(line: string, word: string | undefined): boolean {
  if (word !== undefined && line.includes(word)) return true;
  const seen = new Seen(line);
  let next = seen.next();
  let dashes = 0;
  for (; next === '-' || next === '—'; next = seen.next()) dashes += next === '-' ? 1 : 2;
  if (dashes >= 2 && seen.goesOn(next, ['message'])) return true;
  if (next === '#') {
    while (next === '#') next = seen.next();
    return seen.goesOn(next, TITLES);
  }
  if (next === '[') return seen.goesOn(seen.next(), [WORD_NAME]);
  return seen.isQuote && seen.has(next, ENTRY);
}

/**
 * Characters that are invisible or blank: separators, controls, formats, marks, ignorable
 * characters, fillers.
 */
const UNSEEN = /[\p{Z}\p{C}\p{M}\p{Default_Ignorable_Code_Point}\u2800]/u;
/** Quotation marks, and the characters that make text bold, code or struck out. */
const DECORATION = '>*_`~\\|+';
const DASH = /[\p{Pd}\u02c9\u2212\u23af\u2500\u2501\u2796\u30fc]/u;
const LETTER = /\p{L}/u;
/** Stands for a letter of another script, which may look like any ASCII letter. */
const ANY = 'any letter';

/**
 * The visible characters of a line, one after the other; each character, not the line, is
 * normalised.
 */
class Seen {
  readonly #line: string;
  #at = 0;
  /** The rest of a character that is equivalent to several, such as `⒨`. */
  #rest = '';
  /** Whether a `>` was seen. */
  isQuote = false;

  constructor(line: string) {
    this.#line = line;
  }

  /** The next character in lower case; `—` for a dash outside of ASCII; empty at the end. */
  next(): string {
    for (;;) {
      if (this.#rest === '') {
        const code = this.#line.codePointAt(this.#at);
        if (code === undefined) return '';
        const character = String.fromCodePoint(code);
        this.#at += character.length;
        if (code === 0x1b) this.#skipSequence();
        else this.#rest = code < 0x80 ? character : character.normalize('NFKD');
        continue;
      }
      const [first = ''] = this.#rest;
      this.#rest = this.#rest.slice(first.length);
      if (first === '>') this.isQuote = true;
      const isSeen =
        first >= '!' && first <= '~' ? !DECORATION.includes(first) : !UNSEEN.test(first);
      if (isSeen) return like(first);
    }
  }

  /** Whether the visible characters from here on, including `first`, begin with one of the titles. */
  goesOn(first: string, titles: readonly string[]): boolean {
    let possible = titles;
    let next = first;
    for (let index = 0; next !== ''; index++) {
      const letter = next;
      possible = possible.filter((title) => letter === ANY || title[index] === letter);
      if (possible.some((title) => title.length === index + 1)) return true;
      if (possible.length === 0) return false;
      next = this.next();
    }
    return false;
  }

  /**
   * Whether the visible characters from here on contain `part`, whose beginning must not occur
   * again within it.
   */
  has(first: string, part: string): boolean {
    let found = 0;
    for (let next = first; next !== ''; next = this.next()) {
      const fits = next === part[found] || (next === ANY && LETTER.test(part[found] ?? ''));
      found = fits ? found + 1 : next === part[0] ? 1 : 0;
      if (found === part.length) return true;
    }
    return false;
  }

  /** Skips the rest of a terminal's escape sequence, such as a colour. */
  #skipSequence(): void {
    if (this.#line[this.#at] !== '[') return;
    this.#at++;
    while (/[ -?]/.test(this.#line[this.#at] ?? '')) this.#at++;
    this.#at++;
  }
}

function like(character: string): string {
  if (character >= '!' && character <= '~') return character.toLowerCase();
  if (DASH.test(character)) return '—';
  if (character === '♯') return '#';
  return LETTER.test(character) ? ANY : character;
}
