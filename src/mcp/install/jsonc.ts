import { CrosstalkError } from '../../errors.ts';

/** A value in a text of JSON with comments and trailing commas, and where it stands. */
export type Node = ObjectNode | ArrayNode | ScalarNode;

interface Range {
  start: number;
  /** After its last character. */
  end: number;
}

export interface ObjectNode extends Range {
  kind: 'object';
  members: { key: string; start: number; value: Node }[];
  /** Whether a comma follows the last member, and where it ends. */
  comma: number | undefined;
}

interface ArrayNode extends Range {
  kind: 'array';
  items: Node[];
}

interface ScalarNode extends Range {
  kind: 'scalar';
  value: string | number | boolean | null;
}

const MAX_DEPTH = 100;
const SKIPPED = /(?:\s|\/\/[^\n]*|\/\*[^]*?\*\/)*/y;
// eslint-disable-next-line no-control-regex -- JSON allows no control characters in a string
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const LITERAL = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

/**
 * Reads JSON as editors write it: with comments and trailing commas.
 *
 * @returns undefined for a text that holds nothing but blanks and comments
 * @throws CrosstalkError `invalid` with the line where it cannot be read
 */
export function parseJsonc(text: string): Node | undefined {
  const reader = new Reader(text);
  reader.skip();
  if (reader.at === text.length) return undefined;
  const node = reader.value(0);
  reader.skip();
  if (reader.at < text.length) reader.fail('the end');
  return node;
}

/** What a node stands for. */
export function valueOf(node: Node): unknown {
  if (node.kind === 'scalar') return node.value;
  if (node.kind === 'array') return node.items.map(valueOf);
  return Object.fromEntries(node.members.map(({ key, value }) => [key, valueOf(value)]));
}

/** The member of a name; of several, the last one, as in JSON.parse. */
export function member(node: Node | undefined, key: string): Node | undefined {
  if (node?.kind !== 'object') return undefined;
  return node.members.findLast((one) => one.key === key)?.value;
}

class Reader {
  readonly text: string;
  at = 0;

  constructor(text: string) {
    this.text = text;
    // A byte order mark.
    if (text.startsWith('\ufeff')) this.at = 1;
  }

  skip(): void {
    SKIPPED.lastIndex = this.at;
    this.at += SKIPPED.exec(this.text)?.[0].length ?? 0;
  }

  value(depth: number): Node {
    if (depth > MAX_DEPTH) this.fail('less nesting');
    const start = this.at;
    const first = this.text[start];
    if (first === '{') return this.#object(depth);
    if (first === '[') return this.#array(depth);
    const token = this.#token(STRING) ?? this.#token(LITERAL);
    if (token === undefined) return this.fail('a value');
    const value = JSON.parse(token) as ScalarNode['value'];
    return { kind: 'scalar', value, start, end: this.at };
  }

  fail(expected: string): never {
    const before = this.text.slice(0, this.at).split('\n');
    const seen = JSON.stringify(this.text.slice(this.at, this.at + 12).split('\n')[0]);
    throw new CrosstalkError(
      'invalid',
      `line ${String(before.length)}: expected ${expected}, seen ${seen}`,
    );
  }

  #object(depth: number): ObjectNode {
    const start = this.at++;
    const members: ObjectNode['members'] = [];
    const comma = this.#list('}', () => {
      const at = this.at;
      const key = this.#token(STRING) ?? this.fail('a name in double quotes');
      this.skip();
      if (this.text[this.at] !== ':') this.fail('a colon');
      this.at++;
      this.skip();
      members.push({ key: JSON.parse(key) as string, start: at, value: this.value(depth + 1) });
    });
    return { kind: 'object', members, comma, start, end: this.at };
  }

  #array(depth: number): ArrayNode {
    const start = this.at++;
    const items: Node[] = [];
    this.#list(']', () => items.push(this.value(depth + 1)));
    return { kind: 'array', items, start, end: this.at };
  }

  /** Items up to a bracket; where the comma after the last one ends, if there is one. */
  #list(close: string, item: () => void): number | undefined {
    let comma: number | undefined;
    for (let isFirst = true; ; isFirst = false) {
      this.skip();
      if (this.text[this.at] === close) {
        this.at++;
        return comma;
      }
      if (!isFirst && comma === undefined) this.fail(`a comma or ${close}`);
      item();
      this.skip();
      comma = this.text[this.at] === ',' ? ++this.at : undefined;
    }
  }

  #token(form: RegExp): string | undefined {
    form.lastIndex = this.at;
    const token = form.exec(this.text)?.[0];
    if (token !== undefined) this.at += token.length;
    return token;
  }
}
