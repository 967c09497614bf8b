import { commandLine, type Start, type Word } from '../command-line.ts';
import { plainCall } from '../output/plain-call.ts';
import { askingOf, type Asking } from '../permission/asking.ts';

/** The start of a program that speaks the Agent Client Protocol (https://agentclientprotocol.com). */
export interface AcpWay {
  /** Name of the known agent CLI. */
  agent: string;
  /** The command line that is run instead of the approved one. */
  command: string;
  /** Additional environment variables. */
  env: Readonly<Record<string, string>>;
  /** Returns further parameters of a session, as `_meta`; `servers` are the names of its MCP servers. */
  meta: (servers: readonly string[], asks: boolean) => Record<string, unknown> | undefined;
  /** Options that are set once a session is open. */
  options: Readonly<Record<string, string>>;
  /** Whether it accepts the directory of the run as a further folder in which it may write. */
  takesFolders: boolean;
}

/** An adapter: a program that speaks the protocol for a CLI which does not. */
export interface Adapter {
  name: string;
  package: string;
  /** The major version of Node.js that it needs, if that is newer than ours. */
  node?: number;
}

/** Adapters, by the name of the CLI. Each includes a copy of its CLI. */
export const ADAPTERS: Readonly<Record<string, Adapter>> = {
  claude: { name: 'claude-agent-acp', package: '@agentclientprotocol/claude-agent-acp', node: 22 },
  codex: { name: 'codex-acp', package: '@agentclientprotocol/codex-acp' },
};

/** Names of the agent CLIs whose process can be kept warm. */
const WARM_AGENTS: readonly string[] = ['claude', 'codex', 'gemini', 'opencode'];

/** The method by which the process of a command line is kept warm, or the reason why it cannot be. */
export type Warm = { ok: true; way: AcpWay } | { ok: false; why: string };

/**
 * Recognizes a command line whose process can be kept between prompts: a plain call of a known CLI, of which each word
 * is known to have the same meaning there. The protocol's program may never do more than the command (trust.md §2): a
 * word that cannot be carried over makes each run a separate process.
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

/** Returns the start of an adapter, with the translated words of the command. */
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

/** Words of gemini that have the same meaning with `--acp`, and whether a value follows. */
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

/** Translation of a command line's words for an adapter, or the first word without a counterpart. */
type Translated =
  | { ok: true; options?: Record<string, unknown>; env?: Record<string, string> }
  | { ok: false; odd: string };

/** Translates an option; undefined for a value that has no counterpart. */
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
 * Translates the words of `claude -p` into options of Claude's SDK. The adapter's own mode lets a model
 * decide what is permitted, so a mode is always set: that of a process without a terminal.
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

/** Splits a list of tools as the CLI does: at commas or blanks outside of brackets. */
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

/** Modes of the adapter in which codex has the sandbox of this name, and asks a person, whose answer is then no. */
const MODES: Readonly<Record<string, string>> = {
  'read-only': 'read-only',
  'workspace-write': 'workspace-write',
  'danger-full-access': 'agent-full-access',
};

/**
 * Translates the words of `codex exec` into variables for codex's adapter. Without a mode it would let a
 * model decide what leaves the sandbox.
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

/** Settings of codex that have no influence on its permissions, and patterns of their values. */
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

/**
 * Returns the method by which the runs of a tier ask for permission: flags added to the command, or the Agent
 * Client Protocol, if their process is kept warm. A run of a warm tier without such a process cannot ask; it
 * may do only what its command allows, as any run without a terminal.
 */
export function askingOfTier({
  cli,
  session,
}: {
  cli: string;
  session?: string | undefined;
}): Asking {
  const asking = askingOf(cli);
  const isOverAcp = !asking.ok && session === 'warm' && warmOf(cli).ok;
  return isOverAcp ? { ok: true, flags: '' } : asking;
}
