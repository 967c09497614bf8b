import type { AgentCli } from './agents.ts';

/** What a known agent CLI needs in a sandbox. Paths are relative to HOME. */
export interface SandboxNeeds {
  /**
   * Its folders. In a sandbox each is one of its own, kept for the actor, because what is written there
   * would be in force the next time the operator starts the CLI.
   */
  folders: readonly string[];
  /** Files and folders of the operator's in them that it sees and cannot change. */
  settings: readonly string[];
  /** Files in them that it may write, since a login is renewed there. */
  logins: readonly string[];
  /** Hosts of its model, and of its login. */
  hosts: readonly string[];
  /** Variables that are its own; `*` at the end for any ending. */
  env: readonly string[];
}

/** The variables of Crosstalk, git and the system that every run is given. */
export const USUAL_VARIABLES: readonly string[] = [
  ...['PATH', 'HOME', 'LANG', 'LC_*', 'TERM', 'TZ', 'USER', 'LOGNAME', 'SHELL', 'NO_COLOR'],
  ...['CROSSTALK_*', 'GIT_AUTHOR_*', 'GIT_COMMITTER_*', 'GIT_CEILING_DIRECTORIES', 'GIT_CONFIG_*'],
  ...['SSL_CERT_FILE', 'SSL_CERT_DIR', 'NODE_EXTRA_CA_CERTS'],
];

const NEEDS: Readonly<Record<string, SandboxNeeds>> = {
  claude: {
    folders: ['.claude'],
    settings: [
      ...['.claude/settings.json', '.claude/settings.local.json', '.claude/CLAUDE.md'],
      ...['.claude/agents', '.claude/commands', '.claude/skills', '.claude/plugins'],
      '.claude/output-styles',
    ],
    logins: ['.claude/.credentials.json'],
    hosts: ['api.anthropic.com', 'console.anthropic.com', 'platform.claude.com', 'claude.ai'],
    env: ['ANTHROPIC_*', 'CLAUDE_*', 'DISABLE_*', 'API_TIMEOUT_MS', 'MAX_THINKING_TOKENS'],
  },
  codex: {
    folders: ['.codex'],
    settings: [
      ...['.codex/config.toml', '.codex/AGENTS.md', '.codex/prompts', '.codex/skills'],
      '.codex/rules',
    ],
    logins: ['.codex/auth.json'],
    hosts: ['api.openai.com', 'chatgpt.com', 'auth.openai.com'],
    env: ['OPENAI_*', 'CODEX_*'],
  },
  gemini: {
    folders: ['.gemini'],
    settings: [
      ...['.gemini/settings.json', '.gemini/.env', '.gemini/GEMINI.md', '.gemini/extensions'],
      ...['.gemini/commands', '.gemini/trustedFolders.json', '.gemini/google_accounts.json'],
      '.gemini/installation_id',
    ],
    logins: ['.gemini/oauth_creds.json'],
    hosts: [
      ...['generativelanguage.googleapis.com', 'cloudcode-pa.googleapis.com'],
      ...['oauth2.googleapis.com', 'aiplatform.googleapis.com', '*.aiplatform.googleapis.com'],
    ],
    env: ['GEMINI_*', 'GOOGLE_*'],
  },
  opencode: {
    folders: [
      ...['.local/share/opencode', '.local/state/opencode', '.cache/opencode'],
      '.config/opencode',
    ],
    settings: [
      ...['opencode.json', 'opencode.jsonc', 'config.json', 'AGENTS.md', 'agent', 'agents'],
      ...['command', 'commands', 'plugin', 'plugins', 'skills', 'themes', 'modes'],
    ].map((name) => `.config/opencode/${name}`),
    logins: ['.local/share/opencode/auth.json'],
    hosts: [
      ...['api.anthropic.com', 'api.openai.com', 'generativelanguage.googleapis.com'],
      ...['openrouter.ai', 'opencode.ai', 'models.dev'],
    ],
    env: ['OPENCODE_*', 'ANTHROPIC_*', 'OPENAI_*', 'GEMINI_*', 'OPENROUTER_*'],
  },
  qwen: {
    folders: ['.qwen'],
    settings: ['.qwen/settings.json', '.qwen/.env', '.qwen/QWEN.md'],
    logins: ['.qwen/oauth_creds.json'],
    hosts: [
      'chat.qwen.ai',
      'portal.qwen.ai',
      'dashscope.aliyuncs.com',
      'dashscope-intl.aliyuncs.com',
    ],
    env: ['OPENAI_*', 'DASHSCOPE_*', 'QWEN_*'],
  },
  pi: {
    folders: ['.pi'],
    settings: [
      ...['.pi/agent/models.json', '.pi/agent/settings.json', '.pi/agent/AGENTS.md'],
      ...['.pi/agent/prompts', '.pi/agent/skills', '.pi/agent/extensions', '.pi/agent/themes'],
    ],
    logins: ['.pi/agent/auth.json'],
    hosts: ['api.anthropic.com', 'api.openai.com', 'generativelanguage.googleapis.com'],
    env: ['PI_*', 'ANTHROPIC_*', 'OPENAI_*', 'GEMINI_*'],
  },
};

/** What an agent CLI needs in a sandbox. */
export function needsOf({ name }: AgentCli): SandboxNeeds | undefined {
  return NEEDS[name];
}
