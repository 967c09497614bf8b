import { basename, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { editJsonc, removeJsonc, type JsonMember } from './edit-jsonc.ts';
import { member, parseJsonc, valueOf } from '../../protocol/text/jsonc.ts';
import { CrosstalkError } from '../../errors.ts';
import { parseToml, type Statement } from '../../protocol/text/toml.ts';

/** Owner of the settings: a project's folder, or a user. */
export type Scope = 'project' | 'user';

/** Command that starts the server. */
export interface ServerCommand {
  command: string;
  args: string[];
  env: Record<string, string>;
}

/** The folders in which settings can be. */
export interface SettingsPlaces {
  env: NodeJS.ProcessEnv;
  cwd: string;
  home: string;
  platform: NodeJS.Platform;
}

/** An MCP client whose settings this program can write. */
export interface Client {
  name: string;
  title: string;
  /** The scope that applies by default. */
  scope: Scope;
  /** Whether it is started from a desktop, without the PATH of a shell. */
  isEditor?: boolean;
  /** Its settings files, best first: the first existing one is used, otherwise the first one. */
  files: (scope: Scope, places: SettingsPlaces) => readonly string[];
  /** Returns the settings with the server's entry. */
  edit: (text: string, launch: ServerCommand) => string;
  /** The places where the entry can be in the settings. */
  entries: readonly (readonly string[])[];
  /** Whether it reads JSON alone, without comments and trailing commas. */
  isStrict?: boolean;
  /** Whether its settings are TOML. */
  isToml?: boolean;
  /** Next step of the operator. */
  next: string;
}

/** The variables that the server needs, for clients that pass on only named variables. */
const PASSED_ON = [
  'CROSSTALK_DISPATCH_ACTOR',
  'CROSSTALK_DISPATCH_CHANNEL',
  'CROSSTALK_DISPATCH_HOST',
  'CROSSTALK_DISPATCH_ID',
  'CROSSTALK_DISPATCH_RE',
  'CROSSTALK_DISPATCH_TIP',
  'CROSSTALK_RUN_DIR',
  'CROSSTALK_STATE_DIR',
  'SSH_AUTH_SOCK',
  'XDG_STATE_HOME',
];

const NAME = 'crosstalk';

export const CLIENTS: readonly Client[] = [
  {
    name: 'claude',
    title: 'Claude Code',
    scope: 'project',
    files: (scope, { env, cwd, home }) =>
      scope === 'project'
        ? [join(cwd, '.mcp.json')]
        : [join(set(env['CLAUDE_CONFIG_DIR']) ?? home, '.claude.json')],
    edit: (text, launch) => entry(text, ['mcpServers', NAME], { type: 'stdio', ...launch }),
    entries: [['mcpServers', NAME]],
    isStrict: true,
    next: 'start claude, and say yes to the server crosstalk if it asks; /mcp shows it',
  },
  {
    name: 'codex',
    title: 'Codex',
    scope: 'user',
    files: (scope, { env, cwd, home }) =>
      scope === 'project'
        ? [join(cwd, '.codex', 'config.toml')]
        : [join(set(env['CODEX_HOME']) ?? join(home, '.codex'), 'config.toml')],
    edit: (text, launch) =>
      editToml(text, ['mcp_servers', NAME], { ...launch, env_vars: PASSED_ON }),
    entries: [['mcp_servers', NAME]],
    isToml: true,
    next: 'start codex; /mcp shows it',
  },
  {
    name: 'cursor',
    title: 'Cursor',
    scope: 'project',
    isEditor: true,
    files: (scope, { cwd, home }) => [
      join(scope === 'project' ? cwd : home, '.cursor', 'mcp.json'),
    ],
    edit: (text, launch) => entry(text, ['mcpServers', NAME], { type: 'stdio', ...launch }),
    entries: [['mcpServers', NAME]],
    next: 'open Cursor and turn the server crosstalk on in its settings, under MCP',
  },
  {
    name: 'gemini',
    title: 'Gemini CLI',
    scope: 'project',
    files: (scope, { env, cwd, home }) => [
      join(
        scope === 'project' ? cwd : (set(env['GEMINI_CLI_HOME']) ?? home),
        '.gemini',
        'settings.json',
      ),
    ],
    edit: (text, launch) => entry(text, ['mcpServers', NAME], { ...launch }),
    entries: [['mcpServers', NAME]],
    next: 'start gemini; /mcp shows it',
  },
  {
    name: 'opencode',
    title: 'opencode',
    scope: 'project',
    files: (scope, { env, cwd, home }) => {
      const config = set(env['XDG_CONFIG_HOME']) ?? join(home, '.config');
      const folder = scope === 'project' ? cwd : join(config, 'opencode');
      return [join(folder, 'opencode.json'), join(folder, 'opencode.jsonc')];
    },
    edit: (text, { command, args, env }) => {
      // Version 2 has the servers one level deeper, and reads both forms.
      const root = parseJsonc(text);
      const isNew = member(member(root, 'mcp'), 'servers')?.type === 'object';
      const path = isNew ? ['mcp', 'servers', NAME] : ['mcp', NAME];
      const launch = { type: 'local', command: [command, ...args], environment: env };
      const schema = { path: ['$schema'], value: 'https://opencode.ai/config.json' };
      const first = root === undefined ? editJsonc(text, [schema]) : text;
      return entry(first, path, isNew ? launch : { ...launch, enabled: true });
    },
    entries: [
      ['mcp', NAME],
      ['mcp', 'servers', NAME],
    ],
    next: 'start opencode; opencode mcp list shows it',
  },
  {
    name: 'vscode',
    title: 'VS Code',
    scope: 'project',
    isEditor: true,
    files: (scope, places) => [
      scope === 'project'
        ? join(places.cwd, '.vscode', 'mcp.json')
        : join(codeFolder(places), 'User', 'mcp.json'),
    ],
    edit: (text, launch) => entry(text, ['servers', NAME], { type: 'stdio', ...launch }),
    entries: [['servers', NAME]],
    next: 'open VS Code and start the server crosstalk with the command MCP: List Servers',
  },
];

/** Returns the settings of a client without the server's entry. */
export function withoutEntry({ entries, isToml }: Client, text: string): string {
  const remove = isToml === true ? removeToml : removeJsonc;
  return entries.reduce((left, path) => remove(left, path), text);
}

/** The names of this program in an entry that `mcp --install` or a person has written. */
const OURS = new Set(['crosstalk', 'crosstalk.js', 'ct']);

/** Whether the entry by the name of this program starts this program, and not another server of that name. */
export function startsThis({ entries, isToml }: Client, text: string): boolean {
  const words = entries.flatMap((path) =>
    ['command', 'args'].flatMap((key) => {
      if (isToml === true) return [pairOf(text, path, key)?.value.value].flat();
      let node = parseJsonc(text);
      for (const name of [...path, key]) node = member(node, name);
      return node === undefined ? [] : [valueOf(node)].flat();
    }),
  );
  const isText = (word: unknown): word is string => typeof word === 'string';
  const names = words.filter(isText).map((word) => basename(word));
  return names.includes('mcp') && names.some((name) => OURS.has(name));
}

/**
 * Sets the server's entry at a place: its own members are set, others that were added by hand stay.
 */
function entry(text: string, path: readonly string[], value: Record<string, unknown>): string {
  let there = parseJsonc(text);
  for (const key of path) there = member(there, key);
  // An entry that starts no program is of another kind, whose members would not fit.
  if (member(there, 'command') === undefined) return editJsonc(text, [{ path, value }]);
  const settings = Object.entries(value).flatMap(([key, one]): JsonMember[] => {
    const isMap = typeof one === 'object' && one !== null && !Array.isArray(one);
    const isThere = isMap && member(there, key)?.type === 'object';
    if (!isThere) return [{ path: [...path, key], value: one }];
    return Object.entries<unknown>({ ...one }).map(([name, inner]) => ({
      path: [...path, key, name],
      value: inner,
    }));
  });
  return editJsonc(text, settings);
}

function codeFolder({ env, home, platform }: SettingsPlaces): string {
  if (platform === 'darwin') return join(home, 'Library', 'Application Support', 'Code');
  if (platform === 'win32')
    return join(set(env['APPDATA']) ?? join(home, 'AppData', 'Roaming'), 'Code');
  return join(set(env['XDG_CONFIG_HOME']) ?? join(home, '.config'), 'Code');
}

function set(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}

/** Texts, lists of texts, and at most one nested table of texts. */
type TomlEntry = Record<string, string | string[] | Record<string, string>>;

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
function removeToml(text: string, path: readonly string[]): string {
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
