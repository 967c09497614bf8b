/** What was made of the words of a command line for an adapter, or the first word of which nothing can be made. */
export type Translated =
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
export function claudeOptions(words: readonly string[]): Translated {
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
export function codexSettings(words: readonly string[]): Translated {
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
