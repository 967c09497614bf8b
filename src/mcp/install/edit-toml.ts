import { isDeepStrictEqual } from 'node:util';
import { CrosstalkError } from '../../errors.ts';
import { parseToml, type Statement } from '../../protocol/text/toml.ts';

/** Texts, lists of texts, and at most one nested table of texts. */
export type TomlEntry = Record<string, string | string[] | Record<string, string>>;

type Pair = Extract<Statement, { kind: 'pair' }>;

/**
 * Sets the members of one table in a text of TOML and leaves everything else unchanged, byte for
 * byte. A missing table is added at the end; in an existing one, members that are not in `entry`
 * stay.
 *
 * @param path of the table
 * @throws CrosstalkError `invalid` for a text that cannot be read, and `refused` when the table is
 *   written in a form that cannot be edited
 */
export function editToml(text: string, path: readonly string[], entry: TomlEntry): string {
  const statements = withTables(parseToml(text));
  assertEditable(statements, path);
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  const isThere = statements.some(({ kind, table }) => kind === 'table' && same(table, path));
  if (!isThere) {
    const lines = [`[${path.map(keyOf).join('.')}]`];
    for (const [key, value] of Object.entries(entry)) lines.push(`${key} = ${written(value)}`);
    const gap = text.trim() === '' ? '' : text.endsWith('\n') ? eol : eol + eol;
    return `${text}${gap}${lines.join(eol)}${eol}`;
  }
  return Object.entries(entry).reduce((edited, [key, value]) => {
    const inner = [...path, key];
    const hasTable = withTables(parseToml(edited)).some(
      ({ kind, table }) => kind === 'table' && same(table, inner),
    );
    if (typeof value !== 'object' || Array.isArray(value))
      return setPair(edited, path, key, value, eol);
    if (!hasTable) return setInline(edited, path, key, value, eol);
    return Object.entries(value).reduce(
      (again, [name, one]) => setPair(again, inner, name, one, eol),
      edited,
    );
  }, text);
}

/**
 * Removes a table with everything below it, and the blank lines before it.
 *
 * @throws CrosstalkError as {@link editToml} does
 */
export function removeToml(text: string, path: readonly string[]): string {
  const statements = withTables(parseToml(text));
  assertEditable(statements, path);
  const ours = statements.filter(({ table }) => startsWith(table, path));
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  return ours.reduceRight((left, { start, end }) => {
    const newline = left.indexOf('\n', end);
    const before = left.slice(0, start).trimEnd();
    const rest = newline < 0 ? '' : left.slice(newline + 1);
    return `${before}${before === '' ? '' : eol}${rest}`;
  }, text);
}

/** Statements with the path of the table they are in. */
function withTables(statements: readonly Statement[]): (Statement & { table: string[] })[] {
  let table: string[] = [];
  return statements.map((statement) => {
    if (statement.kind !== 'pair') table = statement.path;
    return { ...statement, table };
  });
}

/** Refuses every other notation of the table, which would need more than a change of lines. */
function assertEditable(
  statements: readonly (Statement & { table: string[] })[],
  path: readonly string[],
): void {
  for (const statement of statements) {
    const { kind, table } = statement;
    const whole = kind === 'pair' ? [...table, ...statement.path] : table;
    const isAbove = kind === 'pair' && whole.length <= path.length && startsWith(path, whole);
    const isDotted = kind === 'pair' && table.length < path.length && startsWith(whole, path);
    const isList = kind === 'tables' && (startsWith(path, table) || startsWith(table, path));
    if (isAbove || isDotted || isList) {
      throw new CrosstalkError(
        'refused',
        `${path.join('.')} is written there in another form than a table of its own; write it as [${path.join('.')}]`,
      );
    }
  }
}

function setInline(
  text: string,
  table: readonly string[],
  key: string,
  value: Record<string, string>,
  eol: string,
): string {
  const there = pairOf(text, table, key)?.value.value;
  const known = typeof there === 'object' && there !== null ? there : {};
  const hasAll = Object.entries(value).every(
    ([name, one]) => (known as Record<string, unknown>)[name] === one,
  );
  if (hasAll) return text;
  const kept = Object.entries(known).filter(([, one]) => typeof one === 'string');
  if (kept.length < Object.keys(known).length) {
    throw new CrosstalkError(
      'refused',
      `${[...table, key].join('.')} holds more than texts; write it as a table of its own`,
    );
  }
  return setPair(text, table, key, { ...Object.fromEntries(kept), ...value }, eol);
}

function setPair(
  text: string,
  table: readonly string[],
  key: string,
  value: TomlEntry[string],
  eol: string,
): string {
  const found = pairOf(text, table, key);
  if (found !== undefined) {
    if (isDeepStrictEqual(found.value.value, value)) return text;
    return text.slice(0, found.value.start) + written(value) + text.slice(found.value.end);
  }
  const last = withTables(parseToml(text)).findLast((one) => same(one.table, table));
  const newline = text.indexOf('\n', last?.end ?? 0);
  const at = newline < 0 ? text.length : newline + 1;
  const before = newline < 0 ? eol : '';
  return `${text.slice(0, at)}${before}${keyOf(key)} = ${written(value)}${eol}${text.slice(at)}`;
}

function pairOf(text: string, table: readonly string[], key: string): Pair | undefined {
  return withTables(parseToml(text)).find(
    (one): one is Pair & { table: string[] } =>
      one.kind === 'pair' && same(one.table, table) && same(one.path, [key]),
  );
}

function written(value: TomlEntry[string]): string {
  if (typeof value === 'string') return quoted(value);
  if (Array.isArray(value)) return `[${value.map(quoted).join(', ')}]`;
  const members = Object.entries(value).map(([key, one]) => `${keyOf(key)} = ${quoted(one)}`);
  return `{ ${members.join(', ')} }`;
}

function keyOf(key: string): string {
  return /^[A-Za-z0-9_-]+$/.test(key) ? key : quoted(key);
}

/** JSON's escapes are valid in TOML too, which requires one more character to be escaped. */
function quoted(text: string): string {
  return JSON.stringify(text).replaceAll('\u007f', String.raw`\u007f`);
}

function same(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && startsWith(a, b);
}

function startsWith(path: readonly string[], beginning: readonly string[]): boolean {
  return beginning.every((name, index) => path[index] === name);
}
