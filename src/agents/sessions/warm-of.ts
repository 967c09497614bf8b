import { commandLine, type Start, type Word } from '../command-line.ts';
import { plainCall } from '../output/plain-call.ts';

/** How a program is begun that speaks the Agent Client Protocol (https://agentclientprotocol.com). */
export interface AcpWay {
  /** The known agent CLI, by its name. */
  agent: string;
  /** The command line that is run in the place of the approved one. */
  command: string;
  /** Variables that it is given besides. */
  env: Readonly<Record<string, string>>;
  /** What a session is opened with besides, as `_meta`; `servers` are the names of the MCP servers in it. */
  meta: (servers: readonly string[], asks: boolean) => Record<string, unknown> | undefined;
  /** Options that are set once a session is open. */
  options: Readonly<Record<string, string>>;
  /** Whether it is told of the directory of the run as one in which it may write. */
  takesFolders: boolean;
}

/** An adapter: a program that speaks the protocol for a CLI which does not. */
export interface Adapter {
  name: string;
  /** Its npm package. */
  package: string;
  /** The major version of Node.js that it needs, if that is newer than ours. */
  node?: number;
}

/** The adapters, by the name of the CLI. They bring a copy of their CLI. */
export const ADAPTERS: Readonly<Record<string, Adapter>> = {
  claude: { name: 'claude-agent-acp', package: '@agentclientprotocol/claude-agent-acp', node: 22 },
  codex: { name: 'codex-acp', package: '@agentclientprotocol/codex-acp' },
};

/** The agent CLIs whose process can be kept, by name. */
const WARM_AGENTS: readonly string[] = ['claude', 'codex', 'gemini', 'opencode'];

/** How the process of a command line is kept, or why it cannot be. */
export type Warm = { ok: true; way: AcpWay } | { ok: false; why: string };

/**
 * Recognizes a command line whose process can be kept between prompts: a plain call of a known CLI, of which
 * each word is known to mean the same there. What the protocol's program may do is never more than what the
 * command may (trust.md §2): a word that cannot be carried over keeps each run a process of its own.
 *
 * @param command as the operator approved it
 */
export function warmOf(command: string): Warm {
  const { start, words } = commandLine(command);
  const known = start && WARM_AGENTS.includes(start.name);
  if (start === undefined || known !== true)
    return {
      ok: false,
      why: `no way is known in which the process of its command is kept; known of plain calls of ${WARM_AGENTS.join(', ')}`,
    };
  const plain = plainCall(command);
  if (plain === undefined)
    return { ok: false, why: `its command is no plain call of ${start.name}` };
  const odd = start.args.find(({ value, raw }) => value === undefined && raw !== RUN_DIR);
  if (odd !== undefined)
    return { ok: false, why: `what ${odd.raw} means in its command only a shell knows` };
  const before = words.slice(0, words.indexOf(start.program)).map(({ raw }) => raw);
  return (
    WAYS[start.name]?.(command.trimEnd(), start, before) ?? { ok: false, why: 'it is unknown' }
  );
}

/** The directory of the run, as a command line names it. */
const RUN_DIR = '"$CROSSTALK_RUN_DIR"';
const NOTHING = { env: {}, options: {}, takesFolders: false, meta: () => undefined };

type WayOf = (command: string, start: Start, before: readonly string[]) => Warm;

const WAYS: Readonly<Record<string, WayOf>> = {
  gemini: (command, { args }) => {
    const odd = unknownWord(args, GEMINI_WORDS);
    if (odd !== undefined) return { ok: false, why: noCounterpart(odd) };
    return { ok: true, way: { ...NOTHING, agent: 'gemini', command: `${command} --acp` } };
  },
  opencode: (_command, { args, program }, before) => {
    const [, ...rest] = args;
    const [option, model] = rest;
    const isModel = rest.length === 2 && /^(?:-m|--model)$/.test(option?.text ?? '');
    if (rest.length > 0 && !isModel) return { ok: false, why: noCounterpart(option?.text ?? '') };
    return {
      ok: true,
      way: {
        ...NOTHING,
        agent: 'opencode',
        command: [...before, program.raw, 'acp'].join(' '),
        options: isModel ? { model: model?.text ?? '' } : {},
      },
    };
  },
  claude: (_command, { args }, before) =>
    adapted('claude', before, claudeOptions(texts(args)), ({ options = {} }) => ({
      meta: (servers, asks) => {
        const tools = (options['allowedTools'] as string[] | undefined) ?? [];
        const given = asks ? [] : servers.map((name) => `mcp__${name}`);
        const all = [...tools, ...given];
        return {
          claudeCode: {
            options: {
              ...options,
              ...(all.length > 0 && { allowedTools: all }),
              ...(servers.length > 0 && { strictMcpConfig: true }),
            },
          },
        };
      },
    })),
  codex: (_command, { args }, before) =>
    adapted('codex', before, codexSettings(texts(args)), ({ env = {} }) => ({
      env,
      takesFolders: true,
    })),
};

/** @returns how an adapter is begun, with what was made of the words of the command */
function adapted(
  agent: string,
  before: readonly string[],
  translated: Translated,
  given: (made: Translated & { ok: true }) => Partial<AcpWay>,
): Warm {
  if (!translated.ok) return { ok: false, why: noCounterpart(translated.odd) };
  const command = [...before, ADAPTERS[agent]?.name ?? ''].join(' ');
  return { ok: true, way: { ...NOTHING, agent, command, ...given(translated) } };
}

function noCounterpart(word: string): string {
  return `its command has the word ${word}, for which nothing is known that means the same to a process that is kept`;
}

/** The words of gemini that mean the same with `--acp`, and whether a value follows. */
const GEMINI_WORDS: Readonly<Record<string, boolean>> = {
  '--skip-trust': false,
  '--approval-mode': true,
  '--allowed-tools': true,
  '--allowed-mcp-server-names': true,
  '--include-directories': true,
  '--policy': true,
  '--model': true,
  '-m': true,
};

function unknownWord(
  args: readonly Word[],
  known: Readonly<Record<string, boolean>>,
): string | undefined {
  for (let at = 0; at < args.length; at++) {
    const { text = '' } = args[at] ?? {};
    const [name = '', value] = text.split('=', 2);
    if (!Object.hasOwn(known, name)) return text;
    if (known[name] === true && value === undefined) at++;
  }
  return undefined;
}

function texts(args: readonly Word[]): string[] {
  return args.map(({ text, raw }) => (raw === RUN_DIR ? RUN_DIR : text));
}

/** What was made of the words of a command line for an adapter, or the first word of which nothing can be made. */
type Translated =
  | { ok: true; options?: Record<string, unknown>; env?: Record<string, string> }
  | { ok: false; odd: string };

/** What an option becomes; undefined for a value that has no counterpart. */
type Becomes = (value: string) => Record<string, unknown> | undefined;

const list = (value: string): string[] => splitTools(value);

const CLAUDE: Readonly<Record<string, Becomes>> = {
  '--permission-mode': (mode) =>
    /^(?:default|acceptEdits|plan|dontAsk)$/.test(mode) ? { permissionMode: mode } : undefined,
  '--allowedTools': (tools) => ({ allowedTools: list(tools) }),
  '--allowed-tools': (tools) => ({ allowedTools: list(tools) }),
  '--disallowedTools': (tools) => ({ disallowedTools: list(tools) }),
  '--disallowed-tools': (tools) => ({ disallowedTools: list(tools) }),
  '--model': (model) => ({ model }),
  '--fallback-model': (fallbackModel) => ({ fallbackModel }),
};

/**
 * The options of Claude's SDK that mean what the words of `claude -p` mean. The adapter's own mode lets a model
 * decide what is permitted, so one is always named: that in which a process without a terminal runs.
 */
function claudeOptions(words: readonly string[]): Translated {
  const options: Record<string, unknown> = {
    permissionMode: 'default',
    allowDangerouslySkipPermissions: false,
    // It would ask the model after each turn what a person might say next.
    promptSuggestions: false,
  };
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? '';
    if (/^(?:-p|--print)$/.test(word)) continue;
    const [name, given] = split(word);
    const value = given ?? words[++at];
    const made = Object.hasOwn(CLAUDE, name) && value ? CLAUDE[name]?.(value) : undefined;
    if (made === undefined) return { ok: false, odd: word };
    Object.assign(options, made);
  }
  return { ok: true, options };
}

/** Tools of one word, as the CLI separates them: by commas or blanks outside of brackets. */
function splitTools(text: string): string[] {
  const tools = [''];
  let depth = 0;
  for (const letter of text) {
    depth += letter === '(' ? 1 : letter === ')' ? -1 : 0;
    if (depth <= 0 && /[\s,]/.test(letter)) tools.push('');
    else tools.push(`${tools.pop() ?? ''}${letter}`);
  }
  return tools.filter((one) => one !== '');
}

/** The modes of the adapter in which codex has the sandbox of a name, and a person is asked who then refuses. */
const MODES: Readonly<Record<string, string>> = {
  'read-only': 'read-only',
  'workspace-write': 'workspace-write',
  'danger-full-access': 'agent-full-access',
};

/**
 * The variables by which codex's adapter is told what the words of `codex exec` mean. Without a mode it would
 * let a model decide what leaves the sandbox.
 */
function codexSettings(words: readonly string[]): Translated {
  const settings: Record<string, unknown> = {};
  let mode = MODES['read-only'] ?? '';
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? '';
    if (/^(?:exec|e|-|--skip-git-repo-check)$/.test(word)) continue;
    const [name, given] = split(word);
    const value = given ?? words[++at] ?? '';
    if (/^(?:-s|--sandbox)$/.test(name) && Object.hasOwn(MODES, value)) mode = MODES[value] ?? mode;
    else if (name === '--add-dir' && value === '"$CROSSTALK_RUN_DIR"') continue;
    else if (/^(?:-m|--model)$/.test(name) && value !== '') settings['model'] = value;
    else if (/^(?:-c|--config)$/.test(name)) {
      const [, key = '', text = ''] = /^(\w+)=([^=]*)$/.exec(value) ?? [];
      if (!Object.hasOwn(SETTINGS, key) || SETTINGS[key]?.test(text) !== true)
        return { ok: false, odd: `${word} ${value}` };
      settings[key] = valueOf(text);
    } else return { ok: false, odd: word };
  }
  return {
    ok: true,
    env: { CODEX_CONFIG: JSON.stringify(settings), INITIAL_AGENT_MODE: mode },
  };
}

/** The settings of codex that decide nothing about what it may do, and what they may be. */
const SETTINGS: Readonly<Record<string, RegExp>> = {
  allow_login_shell: /^(?:true|false)$/,
  model: /^"?[\w.:/-]+"?$/,
  model_reasoning_effort: /^"?\w+"?$/,
  model_provider: /^"?[\w-]+"?$/,
};

function valueOf(text: string): unknown {
  return text === 'true' || text === 'false' ? text === 'true' : text.replaceAll('"', '');
}

function split(word: string): [string, string | undefined] {
  const at = word.startsWith('--') ? word.indexOf('=') : -1;
  return at < 0 ? [word, undefined] : [word.slice(0, at), word.slice(at + 1)];
}
