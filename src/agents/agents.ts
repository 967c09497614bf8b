import { commandLine } from './command-line.ts';
import { REFUSALS, type RefusalPatterns } from './refusal-patterns.ts';

/**
 * The known agent CLIs: how each one runs without a terminal (prompt on stdin, answer on stdout)
 * and on a terminal. `{text}` stands for the instructions, `{toml}` for the instructions as a TOML
 * string; the argument that holds them is passed to the program as it is, never through a shell.
 */
export interface AgentCli {
  /** The name, which is also the program's name. */
  name: string;
  /** The npm package that installs it. */
  package: string;
  /** The command with which an operator logs in. */
  login: string;
  /** Where a login is stored. */
  account: AccountPlace;
  /**
   * What it prints when it does not work for a reason that passes with time or that a login fixes.
   */
  refusals: RefusalPatterns;
  /**
   * The settings and instructions that it reads from the folder it works in: names of files and
   * folders, in lower case, with `*` at the end for any ending. A run may not leave such files
   * there (trust.md §1).
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

/** The known agent CLI of this exact name. */
export function knownAgent(name: string): AgentCli | undefined {
  return KNOWN_AGENTS.find((agent) => agent.name === name);
}

/** The known agent CLI that a command line starts, with any flags. */
export function agentOf(command: string): AgentCli | undefined {
  const { start } = commandLine(command);
  return start && knownAgent(start.name);
}

/**
 * The command line for a host file: that of the known agent CLI if `given` is the name of one, else
 * `given`.
 */
export function headlessCommand(given: string): string {
  return knownAgent(given.trim())?.headless ?? given;
}
