import { join } from 'node:path';
import { editJsonc, type JsonMember } from './edit-jsonc.ts';
import { editToml } from './edit-toml.ts';
import { member, parseJsonc } from './jsonc.ts';

/** Whose settings: those of a folder, or of a person. */
export type Scope = 'project' | 'user';

/** How the server is started. */
export interface ServerCommand {
  command: string;
  args: string[];
  env: Record<string, string>;
}

/** Where settings can be. */
export interface SettingsPlaces {
  env: NodeJS.ProcessEnv;
  cwd: string;
  home: string;
  platform: NodeJS.Platform;
}

/** An MCP client whose settings we can write. */
export interface Client {
  name: string;
  title: string;
  /** Whose settings are meant when nothing is said. */
  scope: Scope;
  /** Started from a desktop, without the PATH of a shell. */
  isEditor?: boolean;
  /** Files of its settings, best first: the first that exists is taken, else the first. */
  files: (scope: Scope, places: SettingsPlaces) => readonly string[];
  /** The settings with our entry. */
  edit: (text: string, launch: ServerCommand) => string;
  /** What the operator does next. */
  next: string;
}

/** What the server needs of the environment, where a client passes on only what is named. */
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
      // Version 2 has the servers one level deeper, and reads both.
      const root = parseJsonc(text);
      const isNew = member(member(root, 'mcp'), 'servers')?.type === 'object';
      const path = isNew ? ['mcp', 'servers', NAME] : ['mcp', NAME];
      const launch = { type: 'local', command: [command, ...args], environment: env };
      const schema = { path: ['$schema'], value: 'https://opencode.ai/config.json' };
      const first = root === undefined ? editJsonc(text, [schema]) : text;
      return entry(first, path, isNew ? launch : { ...launch, enabled: true });
    },
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
    next: 'open VS Code and start the server crosstalk with the command MCP: List Servers',
  },
];

/** Our entry at a place: members of ours are set, others that were added by hand stay. */
function entry(text: string, path: readonly string[], value: Record<string, unknown>): string {
  let there = parseJsonc(text);
  for (const key of path) there = member(there, key);
  // One that starts nothing here is of another kind: its members do not fit ours.
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
