import { commandLine, inHome, setBy } from './command-line.ts';
import { withoutTrailing } from '../protocol/text/quoted.ts';

/**
 * Reports of one agent CLI that it may not work at the moment (docs/agents.md shows each of these reports as
 * it is printed). Patterns are matched against single lines, from the first character on: text of a model or
 * a message appears in the middle of lines, or on a stream that is not examined.
 */
interface RefusalPatterns {
  /** The stream on which it reports the reason of a failure. */
  stream: 'stdout' | 'stderr';
  /**
   * The part of that stream that consists of the CLI's own words: `whole` when a failed run prints nothing
   * else there, otherwise the number of its last lines that are not empty.
   */
  last: 'whole' | number;
  limited: RegExp;
  notLoggedIn: RegExp;
  /** Exit codes that alone mean that nobody is logged in. */
  notLoggedInExits: readonly number[];
}

/**
 * Google's client and its fork: a line that ends in the error's class and text, then its stack
 * trace.
 */
const GOOGLE = {
  limited:
    /^(?:Error when talking to \w+ API .{0,260}?\b(?:Terminal|Retryable)QuotaError: |\[API Error: (?:You have exhausted your |You exceeded your current quota|Quota exceeded|Resource has been exhausted|429\b)|status: 429\b)/,
  notLoggedIn:
    /^(?:Please set an Auth method in your |When using Gemini API, you must specify |Invalid auth method selected|Error when talking to \w+ API .{0,260}?(?:API key not valid\.|UNAUTHENTICATED|invalid_grant)|\[API Error: (?:API key not valid\.|401\b|Incorrect API key)|status: 401\b)/,
};

const REFUSALS = {
  claude: {
    stream: 'stdout',
    last: 'whole',
    limited:
      /^(?:You['\u2019]ve (?:hit|reached) your .{0,60}\blimit|You['\u2019]re out of (?:usage credits|extra usage)|Your org is out of usage|Claude (?:AI )?usage limit reached|(?:5-hour|Session|Weekly|Opus|Sonnet|Usage) limit reached|Credit balance is too low|API Error: (?:Request rejected \(429\)|Server is temporarily limiting requests|429\b))/i,
    notLoggedIn:
      /^(?:Not logged in|Invalid API key|OAuth token revoked|Please run \/login|Failed to authenticate\. API Error: 401|Your ANTHROPIC_API_KEY belongs to a disabled organization|Your organization has disabled)/,
    notLoggedInExits: [],
  },
  // Before its last line it prints the whole prompt, which contains messages.
  codex: {
    stream: 'stderr',
    last: 1,
    limited:
      /^ERROR: (?:You['\u2019]ve hit your usage limit|You['\u2019]re out of credits|You hit your spend cap|Your workspace is out of credits|Usage limit reached|Quota exceeded\.|(?:exceeded retry limit, last|unexpected) status:? 429)/,
    notLoggedIn:
      /^ERROR: (?:(?:exceeded retry limit, last|unexpected) status:? 401|Missing environment variable: |Not (?:logged|signed) in|Your (?:access token|authentication session) could not be refreshed)/,
    notLoggedInExits: [],
  },
  gemini: { stream: 'stderr', last: 40, ...GOOGLE, notLoggedInExits: [41] },
  opencode: {
    stream: 'stderr',
    last: 12,
    limited:
      /^(?:Error: )?(?:Too Many Requests|Rate limit|Free usage exceeded|You exceeded your current quota|Quota exceeded|429\b)/i,
    notLoggedIn:
      /^(?:Error: )?(?:Unauthorized|Incorrect API key|Invalid API key|invalid x-api-key|401\b|.{0,80} API key is missing|(?:.{0,80})?ProviderAuthError)/i,
    notLoggedInExits: [],
  },
  qwen: { stream: 'stderr', last: 40, ...GOOGLE, notLoggedInExits: [41] },
  pi: {
    stream: 'stderr',
    last: 6,
    limited: /^429\b/,
    notLoggedIn: /^(?:401\b|No API key found for |No models available\.|No model selected\.)/,
    notLoggedInExits: [],
  },
} as const satisfies Record<string, RefusalPatterns>;

/**
 * A known agent CLI: its commands for a run without a terminal (prompt on stdin, answer on stdout) and for
 * one on a terminal. `{text}` stands for the instructions, `{toml}` for the instructions as a TOML string;
 * the argument that holds them is passed to the program unchanged, never through a shell.
 */
export interface AgentCli {
  /** Name of the CLI and of its program. */
  name: string;
  /** The npm package that installs it. */
  package: string;
  /** The command by which an operator logs in. */
  login: string;
  /** The place of its login. */
  account: AccountPlace;
  /** Its reports when it does not work for a reason that passes with time or that a login fixes. */
  refusals: RefusalPatterns;
  /**
   * Settings and instructions that it reads from its working folder: names of files and folders, in lower
   * case, with `*` at the end for any ending. A run may not leave such files there (trust.md §1).
   */
  settings: readonly string[];
  /** The command line for a host file. */
  headless: string;
  /** The command and arguments for an interactive session. */
  interactive: readonly string[];
}

interface AccountPlace {
  /** The environment variable that names the folder, if there is such a variable. */
  variable?: string;
  /** The folder when that variable is unset, relative to HOME. */
  folder: string;
  /** Files in the folder that a login writes. */
  files: readonly string[];
  /** Environment variables that replace a login. */
  keys: readonly string[];
}

export const KNOWN_AGENTS: readonly AgentCli[] = [
  {
    name: 'claude',
    package: '@anthropic-ai/claude-code',
    login: 'claude /login',
    account: {
      variable: 'CLAUDE_CONFIG_DIR',
      folder: '.claude',
      files: ['.credentials.json'],
      keys: ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'CLAUDE_CODE_OAUTH_TOKEN'],
    },
    refusals: REFUSALS.claude,
    settings: [
      '.claude',
      '.mcp.json',
      'claude.md',
      'claude.local.md',
      '.claude-plugin',
      '.worktreeinclude',
    ],
    headless: 'claude -p --permission-mode acceptEdits --allowedTools "Bash(crosstalk:*)"',
    interactive: ['claude', '--append-system-prompt', '{text}'],
  },
  {
    name: 'codex',
    package: '@openai/codex',
    login: 'codex login',
    account: {
      variable: 'CODEX_HOME',
      folder: '.codex',
      files: ['auth.json'],
      keys: ['CODEX_API_KEY', 'OPENAI_API_KEY'],
    },
    refusals: REFUSALS.codex,
    settings: ['.codex', 'agents.md', 'agents.override.md', '.agents'],
    headless:
      'codex exec --skip-git-repo-check --sandbox workspace-write --add-dir "$CROSSTALK_RUN_DIR" -c allow_login_shell=false -',
    interactive: ['codex', '-c', 'allow_login_shell=false', '-c', 'developer_instructions={toml}'],
  },
  {
    name: 'gemini',
    package: '@google/gemini-cli',
    login: 'gemini, then /auth',
    account: {
      variable: 'GEMINI_CLI_HOME',
      folder: '',
      files: ['.gemini/oauth_creds.json', '.gemini/settings.json', '.gemini/.env'],
      keys: ['GEMINI_API_KEY', 'GOOGLE_GENAI_USE_VERTEXAI', 'GOOGLE_GENAI_USE_GCA'],
    },
    refusals: REFUSALS.gemini,
    settings: ['.gemini', 'gemini.md', '.geminiignore', '.env*'],
    headless:
      'gemini --skip-trust --approval-mode auto_edit --allowed-tools "run_shell_command(crosstalk)" -m gemini-2.5-pro',
    interactive: ['gemini', '-i', '{text}'],
  },
  {
    name: 'opencode',
    package: 'opencode-ai',
    login: 'opencode auth login',
    account: {
      variable: 'XDG_DATA_HOME',
      folder: '.local/share',
      files: ['opencode/auth.json'],
      keys: ['ANTHROPIC_API_KEY', 'OPENAI_API_KEY', 'GEMINI_API_KEY', 'OPENROUTER_API_KEY'],
    },
    refusals: REFUSALS.opencode,
    settings: [
      '.opencode',
      'opencode.json',
      'opencode.jsonc',
      'agents.md',
      'claude.md',
      'context.md',
    ],
    headless: 'opencode run',
    interactive: ['opencode', '--prompt', '{text}'],
  },
  {
    name: 'qwen',
    package: '@qwen-code/qwen-code',
    login: 'qwen, then /auth',
    account: {
      folder: '.qwen',
      files: ['oauth_creds.json', 'settings.json', '.env'],
      keys: ['OPENAI_API_KEY', 'DASHSCOPE_API_KEY'],
    },
    refusals: REFUSALS.qwen,
    settings: ['.qwen', 'qwen.md', '.qwenignore', 'agents.md', '.env*'],
    headless: 'qwen --approval-mode auto-edit --allowed-tools "run_shell_command(crosstalk)"',
    interactive: ['qwen', '-i', '{text}'],
  },
  {
    name: 'pi',
    package: '@mariozechner/pi-coding-agent',
    login: 'pi, then /login',
    account: {
      variable: 'PI_CODING_AGENT_DIR',
      folder: '.pi/agent',
      files: ['auth.json', 'models.json'],
      keys: ['ANTHROPIC_API_KEY', 'OPENAI_API_KEY', 'GEMINI_API_KEY'],
    },
    refusals: REFUSALS.pi,
    settings: ['.pi', 'agents.md', 'claude.md', '.agents'],
    headless: 'pi -p',
    interactive: ['pi', '--append-system-prompt', '{text}'],
  },
];

/** Returns the known agent CLI of this exact name. */
export function knownAgent(name: string): AgentCli | undefined {
  return KNOWN_AGENTS.find((agent) => agent.name === name);
}

/** Returns the known agent CLI that a command line starts, with any flags. */
export function agentOf(command: string): AgentCli | undefined {
  const { start } = commandLine(command);
  return start && knownAgent(start.name);
}

/**
 * Returns the command line for a host file: that of the known agent CLI if `given` is the name of one, else `given`.
 */
export function headlessCommand(given: string): string {
  return knownAgent(given.trim())?.headless ?? given;
}

/** The account that a command line of a known agent CLI uses. */
export interface AgentAccount {
  agent: AgentCli;
  /** Id of the account; commands with the same id share it: `claude`, or `claude at ~/.claude-work`. */
  id: string;
  /** The folder of the login that the command itself names, as the command line spells it. */
  folder?: string;
}

/** Determines the account of a command that starts a known agent CLI, also after assignments, `exec` or `env`. */
export function accountOf(command: string): AgentAccount | undefined {
  const { start } = commandLine(command);
  const agent = start && knownAgent(start.name);
  if (start === undefined || agent === undefined) return undefined;
  const { variable, folder: fallback } = agent.account;
  const set = variable === undefined ? undefined : setBy(start, variable);
  if (set === undefined) return { agent, id: agent.name };
  const folder = set === '' ? withoutTrailing(`~/${fallback}`, /\//) : set;
  return { agent, id: `${agent.name} at ${folder}`, folder };
}

/**
 * Returns the files that a login of the account writes, as absolute paths; empty when only a shell could tell
 * which folder is meant.
 */
export function loginFiles(
  { agent, folder }: AgentAccount,
  environment: Readonly<Record<string, string | undefined>>,
): string[] {
  const { variable, folder: fallback, files } = agent.account;
  const home = environment['HOME'] ?? '';
  const fromEnvironment = variable === undefined ? '' : (environment[variable] ?? '');
  const named = folder ?? (fromEnvironment === '' ? `${home}/${fallback}` : fromEnvironment);
  const expanded = inHome(named, home);
  if (!expanded.startsWith('/') || /[$`]/.test(expanded)) return [];
  const root = withoutTrailing(expanded, /\//);
  return files.map((file) => `${root}/${file}`);
}
