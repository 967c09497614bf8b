import { CrosstalkError } from '../../errors.ts';

/** A statement of a TOML text and its position; `end` is after its last character. */
export type Statement =
  | { kind: 'table' | 'tables'; path: string[]; start: number; end: number }
  | { kind: 'pair'; path: string[]; value: TomlValue; start: number; end: number };

/** A value; anything but texts, lists and tables is kept as it is written. */
interface TomlValue {
  start: number;
  end: number;
  value: unknown;
}

const MAX_DEPTH = 100;
const BLANK = /[ \t]*/y;
const BLANKS = /[ \t\r\n]*(?:#[^\n]*(?:\n[ \t\r\n]*|$))*/y;
const END_OF_LINE = /[ \t]*(?:#[^\r\n]*)?(?:\r?\n|$)/y;
const BARE_KEY = /[A-Za-z0-9_-]+/y;
// TOML allows no control characters in a string except tab.
/* eslint-disable no-control-regex */
const BASIC =
  /"(?!"")(?:[^"\\\u0000-\u0008\u000a-\u001f\u007f]|\\(?:["\\bfnrte]|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|x[0-9a-fA-F]{2}))*"/y;
const LITERAL = /'(?!'')[^'\u0000-\u0008\u000a-\u001f\u007f]*'/y;
/* eslint-enable no-control-regex */
const EMPTY = /""(?!")|''(?!')/y;
const LONG = /"""(?:[^\\]|\\[^])*?"{3,5}|'''[^]*?'{3,5}/y;
const SCALAR = /[+-]?(?:inf|nan)|true|false|[+-]?\d[\w+.:-]*(?: \d\d:\d\d[\w:.+-]*)?/y;
const ESCAPES: Record<string, string> = {
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  e: '\u001b',
};

/**
 * Parses the statements of a TOML text, in their order.
 *
 * @throws CrosstalkError `invalid` with the line that cannot be read
 */
export function parseToml(text: string): Statement[] {
  const reader = new Reader(text);
  const statements: Statement[] = [];
  for (;;) {
    reader.take(BLANKS);
    if (reader.at >= text.length) return statements;
    statements.push(reader.statement());
  }
}

class Reader {
  readonly text: string;
  at = 0;

  constructor(text: string) {
    this.text = text;
    // Skip a byte order mark.
    if (text.startsWith('\ufeff')) this.at = 1;
  }

  take(form: RegExp): string | undefined {
    form.lastIndex = this.at;
    const token = form.exec(this.text)?.[0];
    if (token !== undefined) this.at += token.length;
    return token;
  }

  statement(): Statement {
    const start = this.at;
    const isTable = this.text[start] === '[';
    if (!isTable) {
      const path = this.#path();
      this.#expect('=');
      this.take(BLANK);
      const value = this.value(0);
      this.#endLine();
      return { kind: 'pair', path, value, start, end: value.end };
    }
    const isArray = this.text.startsWith('[[', start);
    this.at += isArray ? 2 : 1;
    this.take(BLANK);
    const path = this.#path();
    for (const bracket of isArray ? ']]' : ']') this.#expect(bracket);
    const end = this.at;
    this.#endLine();
    return { kind: isArray ? 'tables' : 'table', path, start, end };
  }

  value(depth: number): TomlValue {
    if (depth > MAX_DEPTH) this.#fail('less nesting');
    const start = this.at;
    const first = this.text[start];
    const value =
      first === '[' ? this.#list(depth) : first === '{' ? this.#inline(depth) : this.#scalar();
    return { start, end: this.at, value };
  }

  #scalar(): unknown {
    const long = this.take(LONG);
    if (long !== undefined) return { raw: long };
    const string = this.#string();
    if (string !== undefined) return string;
    const raw = this.take(SCALAR) ?? this.#fail('a value');
    return { raw };
  }

  #string(): string | undefined {
    if (this.take(EMPTY) !== undefined) return '';
    const literal = this.take(LITERAL);
    if (literal !== undefined) return literal.slice(1, -1);
    return this.take(BASIC)
      ?.slice(1, -1)
      .replace(/\\(?:u(.{4})|U(.{8})|x(..)|(.))/g, unescape);
  }

  #list(depth: number): unknown[] {
    const items: unknown[] = [];
    this.at++;
    for (;;) {
      this.take(BLANKS);
      if (this.text[this.at] === ']') break;
      items.push(this.value(depth + 1).value);
      this.take(BLANKS);
      if (this.text[this.at] === ',') this.at++;
      else if (this.text[this.at] !== ']') this.#fail('a comma or ]');
    }
    this.at++;
    return items;
  }

  #inline(depth: number): Record<string, unknown> {
    const table: Record<string, unknown> = {};
    this.at++;
    for (;;) {
      this.take(BLANKS);
      if (this.text[this.at] === '}') break;
      const path = this.#path();
      this.#expect('=');
      this.take(BLANK);
      table[path.join('.')] = this.value(depth + 1).value;
      this.take(BLANKS);
      if (this.text[this.at] === ',') this.at++;
      else if (this.text[this.at] !== '}') this.#fail('a comma or }');
    }
    this.at++;
    return table;
  }

  #path(): string[] {
    const path: string[] = [];
    for (;;) {
      path.push(this.take(BARE_KEY) ?? this.#string() ?? this.#fail('a name'));
      this.take(BLANK);
      if (this.text[this.at] !== '.') return path;
      this.at++;
      this.take(BLANK);
    }
  }

  #expect(character: string): void {
    if (this.text[this.at] !== character) this.#fail(character);
    this.at++;
  }

  #endLine(): void {
    if (this.take(END_OF_LINE) === undefined) this.#fail('the end of the line');
  }

  #fail(expected: string): never {
    const line = this.text.slice(0, this.at).split('\n').length;
    const seen = JSON.stringify(this.text.slice(this.at, this.at + 12).split('\n')[0]);
    throw new CrosstalkError('invalid', `line ${String(line)}: expected ${expected}, seen ${seen}`);
  }
}

function unescape(
  whole: string,
  four: string | undefined,
  eight: string | undefined,
  two: string | undefined,
  one: string | undefined,
): string {
  const code = four ?? eight ?? two;
  if (code === undefined) return ESCAPES[one ?? ''] ?? one ?? whole;
  const point = Number.parseInt(code, 16);
  return point > 0x10ffff ? whole : String.fromCodePoint(point);
}
