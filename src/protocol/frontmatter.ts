import matter from 'gray-matter';
import { Lexer, parseDocument, Parser, Scalar, stringify, visit } from 'yaml';
import { parsePlainHeader } from './plain-header.ts';
import { parsed, unreadable, type Parsed } from './result.ts';

export type Fields = Record<string, unknown>;
export interface Document {
  fields: Fields;
  body: string;
}

const FENCE = '---';

/** Engines that would run code, or read what we did not ask for, are replaced by a refusal. */
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

/** The failsafe schema keeps every scalar a string: no dates, no sexagesimals, no octals. */
export function parseFields(header: string): Fields {
  refuseDepth(header);
  const document = parseDocument(header, {
    schema: 'failsafe',
    version: '1.2',
    // Its warnings go to stderr, and quote the file.
    logLevel: 'error',
  });
  const problem = document.errors[0];
  if (problem !== undefined) throw new Error(problem.message.split('\n')[0]);
  // A value that is left out is the empty text wherever it stands; null would be written as "null".
  visit(document, {
    Pair: (_, pair) => {
      pair.value ??= new Scalar('');
    },
    Scalar: (_, scalar) => {
      scalar.value ??= '';
    },
  });
  const fields: unknown = document.toJS({ maxAliasCount: 50 });
  if (fields === null || fields === '') return {};
  if (typeof fields !== 'object' || Array.isArray(fields)) throw new Error('not a mapping');
  refuseCycles(fields, new Set(), new Set());
  return fields as Fields;
}

/** Values nested deeper than this are refused: nobody writes them, and the stack has an end. */
const MAX_NESTING = 64;
const OPENING = /[[{?:-]/g;

/**
 * The composer recurses, and how deep it gets depends on who called it: the same header would be
 * read here and refused there. The parser below it keeps a stack of its own and can be watched.
 */
function refuseDepth(header: string): void {
  if ((header.match(OPENING)?.length ?? 0) <= MAX_NESTING) return;
  const parser = new Parser();
  for (const lexeme of new Lexer().lex(header)) {
    Array.from(parser.next(lexeme));
    if (parser.stack.length > MAX_NESTING) throw new Error('values nested more than 64 deep');
  }
}

/** An alias may name what it is part of; nothing that walks such a value comes to an end. */
function refuseCycles(value: unknown, above: Set<unknown>, done: Set<unknown>): void {
  if (typeof value !== 'object' || value === null || done.has(value)) return;
  if (above.has(value)) throw new Error('an alias refers to itself');
  above.add(value);
  for (const part of Object.values(value)) refuseCycles(part, above, done);
  above.delete(value);
  done.add(value);
}

/**
 * Splits a file into YAML fields and the body, byte for byte (protocol.md §2). The blank line
 * that {@link formatDocument} puts after the header is not part of the body.
 *
 * Only the header reaches gray-matter, never the body, and always with options: without them it
 * answers from a cache that turns a broken header into an empty one the second time.
 */
export function parseDocumentText(text: string): Parsed<Document> {
  const firstBreak = text.indexOf('\n');
  const first = stripReturn(firstBreak < 0 ? text : text.slice(0, firstBreak));
  if (first !== FENCE) {
    return unreadable(
      first.startsWith(FENCE)
        ? 'a frontmatter language other than the default is not read'
        : 'no frontmatter: the first line is not "---"',
    );
  }
  const end = closingFence(text, firstBreak + 1);
  if (end === undefined) return unreadable('the frontmatter is not closed by a line "---"');
  const header = text.slice(firstBreak + 1, end.start).replaceAll('\r\n', '\n');
  const rest = (): string => text.slice(end.after).replace(/^\r?\n/, '');
  const plain = parsePlainHeader(header);
  if (plain !== undefined) return parsed({ fields: plain, body: rest() });
  try {
    const file = matter(`${FENCE}\n${header}${FENCE}\n`, { engines, language: 'yaml' });
    if (file.content !== '') return unreadable('a line inside the frontmatter starts with "---"');
    return parsed({ fields: file.data, body: rest() });
  } catch (error) {
    return unreadable(`the frontmatter is not valid YAML: ${(error as Error).message}`);
  }
}

/** Writes fields and body so that {@link parseDocumentText} gives both back unchanged. */
export function formatDocument(fields: Fields, body: string): string {
  const header = stringify(fields, { lineWidth: 0, version: '1.2' });
  return `${FENCE}\n${header}${FENCE}\n\n${body}`;
}

function closingFence(text: string, from: number): { start: number; after: number } | undefined {
  for (let start = from; start < text.length;) {
    const lineBreak = text.indexOf('\n', start);
    const end = lineBreak < 0 ? text.length : lineBreak;
    if (stripReturn(text.slice(start, end)) === FENCE) {
      return { start, after: Math.min(end + 1, text.length) };
    }
    start = end + 1;
  }
  return undefined;
}

function stripReturn(line: string): string {
  return line.endsWith('\r') ? line.slice(0, -1) : line;
}
