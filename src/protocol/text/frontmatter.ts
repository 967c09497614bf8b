import matter from 'gray-matter';
import { Composer, Lexer, Parser, Scalar, stringify, visit, type CST, type YAMLMap } from 'yaml';
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

/** The size above which a header is malformed; counted in bytes of UTF-8, without the two fences. */
const MAX_HEADER_BYTES = 64 * 1024;

/**
 * The failsafe schema keeps every scalar a string: no dates, no sexagesimals, no octals.
 *
 * Anybody who can push writes headers, so each step is linear, and stops when a header requires
 * more than any genuine header does: the time that the `yaml` package takes by default grows with
 * the square of the keys, the errors and the aliases.
 */
export function parseFields(header: string): HeaderFields {
  const composer = new Composer({
    schema: 'failsafe',
    version: '1.2',
    // A tag such as !!binary or !!set would make bytes or a Set of a value, which cannot be written
    // as it was read.
    resolveKnownTags: false,
    // Its warnings would go to stderr, and quote the file.
    logLevel: 'error',
    // This would compare each key with all others; refuseDuplicates does it in one pass.
    uniqueKeys: false,
  });
  // It would collect every error, each with a stack trace, but the first one decides.
  Object.assign(composer, { onError: refuseAt(header) });
  const [document, another] = [...composer.compose(tokensOf(header), true, header.length)];
  const problem = document?.errors[0];
  if (problem !== undefined) refuseAt(header)(problem.pos[0], '', problem.message);
  if (another !== undefined) throw new Error('more than one YAML document');
  if (document === undefined) return {};
  // An omitted value is the empty text anywhere; null would be written as "null".
  visit(document, {
    Map: (_, map) => {
      refuseDuplicates(map, header);
    },
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
  refuseCycles(fields, new Set(), new Set());
  return fields as HeaderFields;
}

/**
 * The most consecutive blanks and line breaks. gray-matter looks for comments with an expression
 * that scans such a run from each of its line breaks.
 */
const MAX_BLANKS = 256;
const BLANKS = new RegExp(`\\s{${String(MAX_BLANKS + 1)}}`);

/**
 * Values nested deeper than this are refused, because no genuine header has them and the stack is
 * finite.
 */
const MAX_NESTING = 64;
/** The most aliases: to resolve one, the whole document is searched. */
const MAX_ALIASES = 50;
/**
 * The most words and marks of a header. A list of thousands of plain words is read without YAML's
 * rules.
 */
const MAX_LEXEMES = 16_384;

/**
 * The composer is recursive, and the depth it reaches depends on its caller: the same header could
 * be read in one place and refused in another. The parser below it has its own stack and can be
 * checked.
 */
function tokensOf(header: string): CST.Token[] {
  const parser = new Parser();
  const tokens: CST.Token[] = [];
  let lexemes = 0;
  let aliases = 0;
  for (const lexeme of new Lexer().lex(header)) {
    if (++lexemes > MAX_LEXEMES)
      throw new Error(`more than ${String(MAX_LEXEMES)} words and marks`);
    if (lexeme.startsWith('*') && ++aliases > MAX_ALIASES)
      throw new Error(`more than ${String(MAX_ALIASES)} aliases`);
    tokens.push(...parser.next(lexeme));
    if (parser.stack.length > MAX_NESTING) throw new Error('values nested more than 64 deep');
  }
  tokens.push(...parser.end());
  return tokens;
}

type Source = number | [number, number] | { offset: number; source?: string };

/** The line of a file on which its header begins, after the fence. */
const FIRST_LINE = 2;

/**
 * Throws for an error of the composer, with its place in the file; warnings are ignored. The composer
 * reports what was thrown inside a part once more for each part around it, with a worse place.
 */
function refuseAt(
  header: string,
): (source: Source, code: string, message: string, warning?: boolean) => void {
  let placed: Error | undefined;
  return (source, _, message, warning = false) => {
    if (warning) return;
    if (placed !== undefined) throw placed;
    const at =
      typeof source === 'number' ? source : Array.isArray(source) ? source[0] : source.offset;
    const before = header.slice(0, at).split('\n');
    const column = String((before.at(-1)?.length ?? 0) + 1);
    const line = String(before.length - 1 + FIRST_LINE);
    placed = new Error(`${message.split('\n')[0] ?? ''} at line ${line}, column ${column}`);
    throw placed;
  };
}

function refuseDuplicates({ items }: YAMLMap, header: string): void {
  const seen = new Set<unknown>();
  for (const { key } of items) {
    const value: unknown = key instanceof Scalar ? (key.value ?? '') : key;
    if (seen.has(value)) {
      const at = key instanceof Scalar ? (key.range?.[0] ?? 0) : 0;
      refuseAt(header)(at, '', 'Map keys must be unique');
    }
    seen.add(value);
  }
}

/**
 * Refuses cycles: an alias may name a value that contains it, and code that walks such a value
 * would not end.
 */
function refuseCycles(value: unknown, above: Set<unknown>, done: Set<unknown>): void {
  if (typeof value !== 'object' || value === null || done.has(value)) return;
  if (above.has(value)) throw new Error('an alias refers to itself');
  above.add(value);
  for (const part of Object.values(value)) refuseCycles(part, above, done);
  above.delete(value);
  done.add(value);
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

/** @param prepared gives the header in the form in which it is read */
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
    return unreadable(`the frontmatter is not valid YAML: ${shortened((error as Error).message)}`);
  }
}

/**
 * The same text with its own memory. A part of a string keeps the whole string in memory, so
 * keeping the sender of a message would keep its body.
 */
function copied(text: string): string {
  return Buffer.from(text, 'utf8').toString('utf8');
}

/** Formats fields and body so that {@link parseDocumentText} returns both unchanged. */
export function formatDocument(fields: HeaderFields, body: string): string {
  const header = formatPlainHeader(fields) ?? stringify(fields, { lineWidth: 0, version: '1.2' });
  return `${FENCE}\n${header}${FENCE}\n\n${body}`;
}

/**
 * The number of bytes in UTF-8; for a text with more characters than `limit`, only a number above
 * the limit.
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

const KEY = /^[a-z][a-z0-9_]*$/;
/** What YAML takes for a text without quotes: a word, a time, or the path of a message. */
const WORD = /^[A-Za-z][A-Za-z0-9/._@+=-]*$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const PATH = /^\d{4}\/\d\d\/\d\d\/\d{9}Z-[0-9a-f]+\.md$/;
/** Words that YAML takes for something else, in any spelling of theirs. */
const NO_TEXT = /^(?:null|true|false)$/i;

/**
 * Formats fields that are plain words and lists of plain words, as YAML's writer would. A command that
 * writes one message would otherwise spend more on that than on all else it makes of it.
 *
 * @returns undefined for fields that have to be written by YAML's rules
 */
export function formatPlainHeader(fields: Record<string, unknown>): string | undefined {
  let text = '';
  for (const [key, value] of Object.entries(fields)) {
    if (!KEY.test(key) || NO_TEXT.test(key)) return undefined;
    if (isPlain(value)) {
      text += `${key}: ${value}\n`;
      continue;
    }
    if (!Array.isArray(value) || value.length === 0 || !value.every(isPlain)) return undefined;
    text += `${key}:\n${value.map((item) => `  - ${item}\n`).join('')}`;
  }
  return text === '' ? undefined : text;
}

function isPlain(value: unknown): value is string {
  if (typeof value !== 'string' || value.length > MOST_PLAIN) return false;
  return (WORD.test(value) && !NO_TEXT.test(value)) || TIME.test(value) || PATH.test(value);
}

/** Characters; nothing that Crosstalk writes of its own accord is longer. */
const MOST_PLAIN = 200;
