import { join } from 'node:path';
import { editJsonc, removeJsonc, type JsonMember } from './edit-jsonc.ts';
import { editToml, removeToml } from './edit-toml.ts';
import { member, parseJsonc } from '../../protocol/text/jsonc.ts';

/** To what the settings belong: to a project's folder, or to a user. */
export type Scope = 'project' | 'user';

/** How the server is started. */
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
  /** Returns the settings without it. */
  remove: (text: string) => string;
  /** Whether it reads JSON alone, without comments and trailing commas. */
  isStrict?: boolean;
  /** What the operator has to do next. */
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
    remove: (text) => removeJsonc(text, ['mcpServers', NAME]),
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
    remove: (text) => removeToml(text, ['mcp_servers', NAME]),
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
    remove: (text) => removeJsonc(text, ['mcpServers', NAME]),
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
    remove: (text) => removeJsonc(text, ['mcpServers', NAME]),
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
    remove: (text) => removeJsonc(removeJsonc(text, ['mcp', NAME]), ['mcp', 'servers', NAME]),
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
    remove: (text) => removeJsonc(text, ['servers', NAME]),
    next: 'open VS Code and start the server crosstalk with the command MCP: List Servers',
  },
];

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
