import { parseJsonc, valueOf } from '../protocol/text/jsonc.ts';
import { parseToml } from '../protocol/text/toml.ts';
import type { AgentAccount } from './agents.ts';
import { commandLine, setBy, type Start } from './command-line.ts';

/** Settings of a CLI that hold the address of its model, and nothing else. */
interface AddressPlaces {
  variables: readonly string[];
  /**
   * Fields of its settings, by the file, relative to HOME; `*` is any name. In a file whose name ends with
   * `.env` the fields are variables.
   */
  files: Readonly<Record<string, readonly string[]>>;
  /** A variable that names another file with the fields of the first one. */
  fileVariable?: string;
  /** Options whose value sets a field of the first file. */
  options?: readonly string[];
}

const ANTHROPIC = [
  ...['ANTHROPIC_BASE_URL', 'ANTHROPIC_BEDROCK_BASE_URL', 'ANTHROPIC_VERTEX_BASE_URL'],
  'ANTHROPIC_FOUNDRY_BASE_URL',
];
const GOOGLE = ['GOOGLE_GEMINI_BASE_URL', 'GOOGLE_VERTEX_BASE_URL', 'CODE_ASSIST_ENDPOINT'];
const OPENAI = ['OPENAI_BASE_URL', 'AZURE_OPENAI_BASE_URL', 'AZURE_OPENAI_ENDPOINT'];
const OPENCODE = ['provider.*.options.baseURL', 'provider.*.api'];
const IN_ENV = (names: readonly string[]): string[] => names.map((name) => `env.${name}`);

const PLACES: Readonly<Record<string, AddressPlaces>> = {
  claude: {
    variables: ANTHROPIC,
    files: {
      '.claude/settings.json': IN_ENV(ANTHROPIC),
      '.claude/settings.local.json': IN_ENV(ANTHROPIC),
    },
  },
  codex: {
    variables: OPENAI,
    files: {
      '.codex/config.toml': ['model_providers.*.base_url', 'openai_base_url', 'chatgpt_base_url'],
    },
    options: ['-c', '--config'],
  },
  gemini: { variables: GOOGLE, files: { '.gemini/.env': GOOGLE } },
  opencode: {
    variables: [...ANTHROPIC, ...OPENAI],
    files: Object.fromEntries(
      ['opencode.json', 'opencode.jsonc', 'config.json'].map((name) => [
        `.config/opencode/${name}`,
        OPENCODE,
      ]),
    ),
    fileVariable: 'OPENCODE_CONFIG',
  },
  qwen: {
    variables: [...OPENAI, 'DASHSCOPE_BASE_URL'],
    files: {
      '.qwen/settings.json': [
        ...['security.auth.baseUrl', 'modelProviders.*.*.baseUrl'],
        ...IN_ENV(OPENAI),
      ],
      '.qwen/.env': OPENAI,
    },
  },
  pi: {
    variables: [...ANTHROPIC, ...OPENAI],
    files: {
      '.pi/agent/models.json': ['providers.*.baseUrl', 'providers.*.models.*.baseUrl'],
    },
  },
};

/** Most values that are read from the fields that may hold an address. */
const MOST_FOUND = 200;

/**
 * Returns the hosts of a CLI's model that its operator has set, with their ports. An address counts if it is in a field
 * that is made for it; an address of this machine counts there too, as that of a model that runs here.
 *
 * @param read returns the text of a file of the operator's, by its path relative to HOME, or an absolute path
 */
export function modelHosts(
  { agent }: AgentAccount,
  command: string,
  env: NodeJS.ProcessEnv,
  read: (path: string) => string,
): string[] {
  const places = PLACES[agent.name];
  if (places === undefined) return [];
  const { start } = commandLine(command);
  const valueOfVariable = (name: string): string | undefined =>
    (start && setBy(start, name)) ?? env[name];
  const found: unknown[] = places.variables.map(valueOfVariable);
  const files = Object.entries(places.files);
  const [first = ['', []]] = files;
  const other = places.fileVariable && valueOfVariable(places.fileVariable);
  if (other?.startsWith('/') === true) files.push([other, first[1]]);
  for (const [path, fields] of files) {
    const settings = settingsOf(path, read(path));
    for (const field of fields) found.push(...at(settings, field.split('.')));
  }
  for (const setting of start === undefined ? [] : settingsIn(start, places.options ?? []))
    for (const field of first[1]) found.push(...at(setting, field.split('.')));
  return found.slice(0, MOST_FOUND).flatMap(hostOf);
}

/** Parses the settings of a file; undefined if it cannot be read. */
function settingsOf(path: string, text: string): unknown {
  try {
    if (path.endsWith('.env')) return variablesIn(text);
    if (path.endsWith('.toml')) return tableOf(text);
    const node = parseJsonc(text);
    return node && valueOf(node);
  } catch {
    return undefined;
  }
}

function variablesIn(text: string): Record<string, string> {
  const lines = text.split('\n').flatMap((line) => {
    const [, name, value] = /^\s*(?:export\s+)?([A-Z_]{1,80})\s*=(.*)$/.exec(line) ?? [];
    return name === undefined || value === undefined ? [] : [[name, unquoted(value.trim())]];
  });
  return Object.fromEntries(lines) as Record<string, string>;
}

/** Returns the settings made by options of a command line, each as a table. */
function settingsIn({ args }: Start, options: readonly string[]): unknown[] {
  return args.flatMap(({ value: word = '' }, index) => {
    const option = options.find((one) => word === one || word.startsWith(`${one}=`));
    if (option === undefined) return [];
    const setting =
      word === option ? (args[index + 1]?.value ?? '') : word.slice(option.length + 1);
    const equals = setting.indexOf('=');
    const [name, value] = [setting.slice(0, equals), setting.slice(equals + 1)];
    // A value that is not TOML is a text.
    return [
      settingsOf('.toml', setting) ?? settingsOf('.toml', `${name}=${JSON.stringify(value)}`),
    ];
  });
}

function tableOf(text: string): unknown {
  const root: Record<string, unknown> = {};
  let table: string[] = [];
  for (const statement of parseToml(text)) {
    if (statement.kind === 'pair') {
      const names = [...table, ...statement.path];
      let inner = root;
      for (const name of names.slice(0, -1)) inner = innerOf(inner, name);
      define(inner, names.at(-1) ?? '', statement.value.value);
    } else table = statement.path;
  }
  return root;
}

function innerOf(table: Record<string, unknown>, name: string): Record<string, unknown> {
  const there = Object.hasOwn(table, name) ? table[name] : undefined;
  if (typeof there === 'object' && there !== null) return there as Record<string, unknown>;
  const inner = {};
  define(table, name, inner);
  return inner;
}

/** Sets a member, even one named like a member of every object. */
function define(table: Record<string, unknown>, name: string, value: unknown): void {
  Object.defineProperty(table, name, {
    ...{ value, enumerable: true, writable: true, configurable: true },
  });
}

/** Returns the values at a path. */
function at(value: unknown, [name, ...rest]: readonly string[]): unknown[] {
  if (name === undefined) return [value];
  if (typeof value !== 'object' || value === null) return [];
  if (name === '*') return Object.values(value).flatMap((one) => at(one, rest));
  return Object.hasOwn(value, name) ? at((value as Record<string, unknown>)[name], rest) : [];
}

/** Returns the host of an address, with its port. */
function hostOf(value: unknown): string[] {
  if (typeof value !== 'string' || !URL.canParse(value)) return [];
  const { hostname, port, protocol } = new URL(value);
  if (!/^https?:$/.test(protocol) || hostname.startsWith('*')) return [];
  return [`${hostname}:${port === '' ? (protocol === 'http:' ? '80' : '443') : port}`];
}

function unquoted(text: string): string {
  return /^(["'])(.*)\1$/.exec(text)?.[2] ?? text;
}
