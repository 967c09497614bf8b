import matter from 'gray-matter';
import {
  isCollection,
  isNode,
  isPair,
  isScalar,
  Lexer,
  LineCounter,
  parseDocument,
  Scalar,
  stringify,
  visit,
} from 'yaml';
import { BYTE_ORDER_MARK, closingFence, FENCE, lineOf } from './fences.ts';
import { parsed, shortened, unreadable, type Parsed } from './result.ts';

export type HeaderFields = Record<string, unknown>;
export interface Document {
  fields: HeaderFields;
  body: string;
}

/** Replaces engines that would run code, or read a format that is not allowed here. */
function refuse(): never {
  throw new Error('only YAML frontmatter is read');
}

const engines = {
  yaml: { parse: parseFields, stringify: refuse },
  json: { parse: refuse, stringify: refuse },
  javascript: { parse: refuse, stringify: refuse },
  js: { parse: refuse, stringify: refuse },
  coffee: { parse: refuse, stringify: refuse },
  toml: { parse: refuse, stringify: refuse },
};

/** Most bytes of a header in UTF-8, without the two fences; a larger one is malformed. */
const MAX_HEADER_BYTES = 64 * 1024;

/**
 * Parses a header. The failsafe schema keeps every scalar a string: no dates, no sexagesimals, no octals.
 *
 * Anybody who can push writes headers, so their content is limited before it is parsed: the time that the
 * `yaml` package takes grows with the square of the keys and the aliases, and each error costs a stack trace.
 */
export function parseFields(header: string): HeaderFields {
  refuseMany(header);
  const lineCounter = new LineCounter();
  const document = parseDocument(header, {
    schema: 'failsafe',
    version: '1.2',
    // A tag such as !!binary or !!set would make bytes or a Set of a value, which cannot be written
    // as it was read.
    resolveKnownTags: false,
    // Its warnings would go to stderr, and quote the file.
    logLevel: 'error',
    // This would compare each key with all others.
    uniqueKeys: false,
    // It would quote the line for each error, but the first one decides.
    prettyErrors: false,
    lineCounter,
  });
  const refused = (message: string, at = 0): Error => {
    const { line, col } = lineCounter.linePos(at);
    return new Error(`${message} at line ${String(line + FENCE_LINES)}, column ${String(col)}`);
  };
  const [problem] = document.errors;
  if (problem !== undefined) throw refused(problem.message.split('\n')[0] ?? '', problem.pos[0]);
  visit(document, {
    Collection: (_, { items }, path) => {
      if (path.filter(isCollection).length >= MAX_NESTING) throw new Error(TOO_DEEP);
      const seen = new Set<unknown>();
      for (const item of items) {
        if (!isPair(item)) continue;
        // An alias could be the name of another key, and a list or mapping is not a text.
        const { key } = item;
        if (!isScalar(key))
          throw refused('a key is not a text', isNode(key) ? key.range?.[0] : undefined);
        const { value, range } = key;
        if (seen.has(value ?? '')) throw refused('Map keys must be unique', range?.[0]);
        seen.add(value ?? '');
      }
    },
    // A value that contains itself has no end. Only what is around an alias can contain it.
    Alias: (_, alias, path) => {
      const named = alias.resolve(document);
      if (path.some((part) => part === named)) throw new Error('an alias refers to itself');
    },
    // An omitted value is the empty text anywhere; null would be written as "null".
    Pair: (_, pair) => {
      pair.value ??= new Scalar('');
    },
    Scalar: (_, scalar) => {
      scalar.value ??= '';
    },
  });
  const fields: unknown = document.toJS({ maxAliasCount: MAX_ALIASES });
  if (fields === null || fields === '') return {};
  if (typeof fields !== 'object' || Array.isArray(fields)) throw new Error('not a mapping');
  return fields as HeaderFields;
}

/** Number of lines of a file before its header. */
const FENCE_LINES = 1;

/**
 * Most consecutive blanks and line breaks. gray-matter searches for comments with an expression that scans
 * such a run from each of its line breaks.
 */
const MAX_BLANKS = 256;
const BLANKS = new RegExp(`\\s{${String(MAX_BLANKS + 1)}}`);

/** Deepest nesting of values, because no genuine header is deeper and the stack is finite. */
const MAX_NESTING = 64;
const TOO_DEEP = `values nested more than ${String(MAX_NESTING)} deep`;
/** Most aliases: to resolve one, the whole document is searched. */
const MAX_ALIASES = 50;
/** Most words and marks of a header. A list of thousands of plain words is read without YAML's rules. */
const MAX_LEXEMES = 16_384;

function refuseMany(header: string): void {
  let lexemes = 0;
  let aliases = 0;
  for (const lexeme of new Lexer().lex(header)) {
    if (++lexemes > MAX_LEXEMES)
      throw new Error(`more than ${String(MAX_LEXEMES)} words and marks`);
    if (lexeme.startsWith('*') && ++aliases > MAX_ALIASES)
      throw new Error(`more than ${String(MAX_ALIASES)} aliases`);
  }
}

/**
 * Splits a file into YAML fields and the body, byte for byte (protocol.md §2). The blank line that
 * {@link formatDocument} puts after the header is not part of the body, nor is a byte order mark before it.
 * A header larger than {@link MAX_HEADER_BYTES} is refused before it is parsed.
 *
 * Only the header is passed to gray-matter, never the body, and always with options: without them
 * it uses a cache, which turns a broken header into an empty one the second time.
 */
export function parseDocumentText(file: string): Parsed<Document> {
  return documentOf(file, (header) => header);
}

/** @param prepared converts the header into the form in which it is parsed */
export function documentOf(file: string, prepared: (header: string) => string): Parsed<Document> {
  const text = file.startsWith(BYTE_ORDER_MARK) ? file.slice(BYTE_ORDER_MARK.length) : file;
  const firstBreak = text.indexOf('\n');
  const first = lineOf(firstBreak < 0 ? text : text.slice(0, firstBreak));
  if (first !== FENCE) {
    return unreadable(
      first.startsWith(FENCE)
        ? 'a frontmatter language other than the default is not read'
        : 'no frontmatter: the first line is not "---"',
    );
  }
  const end = closingFence(text, firstBreak + 1);
  if (end === undefined) return unreadable('the frontmatter is not closed by a line "---"');
  const given = text.slice(firstBreak + 1, end.start);
  if (bytesUpTo(given, MAX_HEADER_BYTES) > MAX_HEADER_BYTES)
    return unreadable('the frontmatter is larger than 64 KiB');
  const header = copied(given.replaceAll('\r\n', '\n'));
  if (`\n${header}`.includes(`\n${FENCE}`))
    return unreadable('a line inside the frontmatter starts with "---"');
  const rest = (): string => text.slice(end.after).replace(/^\r?\n/, '');
  const plain = parsePlainHeader(header);
  if (plain !== undefined) return parsed({ fields: plain, body: rest() });
  if (BLANKS.test(header))
    return unreadable(`the frontmatter has more than ${String(MAX_BLANKS)} blanks in a row`);
  try {
    const { data } = matter(`${FENCE}\n${prepared(header)}${FENCE}\n`, {
      engines,
      language: 'yaml',
    });
    return parsed({ fields: data, body: rest() });
  } catch (error) {
    const { message } = error as Error;
    // How deep the stack is by then depends on the caller, and the answer must not.
    const why = message.startsWith('Maximum call stack') ? TOO_DEEP : shortened(message);
    return unreadable(`the frontmatter is not valid YAML: ${why}`);
  }
}

/**
 * Returns the same text with its own memory. A part of a string keeps the whole string in memory, so keeping
 * the sender of a message would keep its body.
 */
function copied(text: string): string {
  return Buffer.from(text, 'utf8').toString('utf8');
}

/** Formats fields and body so that {@link parseDocumentText} returns both unchanged. */
export function formatDocument(fields: HeaderFields, body: string): string {
  const header = stringify(fields, { lineWidth: 0, version: '1.2' });
  return `${FENCE}\n${header}${FENCE}\n\n${body}`;
}

/**
 * Returns the number of bytes in UTF-8; for a text with more characters than `limit`, only a number above the limit.
 */
function bytesUpTo(text: string, limit: number): number {
  return text.length > limit ? text.length : new TextEncoder().encode(text).length;
}

/**
 * Matches `key: value` and `key:`, which a list of `  - value` may follow; no rule of YAML affects
 * such values.
 */
const LINE = /^([a-z][a-z0-9_]*):(?: ([A-Za-z0-9/][A-Za-z0-9/._@+:=-]*))?$/;
const ITEM = /^ {2}- ([A-Za-z0-9/][A-Za-z0-9/._@+:-]*)$/;

/**
 * Parses a header in the form in which Crosstalk writes nearly all of them: plain words and lists
 * of plain words. In the failsafe schema they are simply strings, so YAML's parser, which is fifty
 * times slower, is needed only for other headers.
 *
 * @returns undefined for a header that has to be parsed by YAML's rules
 */
export function parsePlainHeader(header: string): Record<string, unknown> | undefined {
  const fields: Record<string, unknown> = {};
  let list: string[] | undefined;
  for (const line of header.split('\n')) {
    if (line === '') continue;
    const item = ITEM.exec(line)?.[1];
    if (item !== undefined) {
      if (list === undefined || item.endsWith(':')) return undefined;
      list.push(item);
      continue;
    }
    const [whole, key = '', value] = LINE.exec(line) ?? [];
    const isEmptyList = list?.length === 0;
    if (whole === undefined || Object.hasOwn(fields, key) || isEmptyList) return undefined;
    if (value?.endsWith(':') === true) return undefined;
    list = value === undefined ? [] : undefined;
    fields[key] = value ?? list;
  }
  return list?.length === 0 || Object.keys(fields).length === 0 ? undefined : fields;
}
