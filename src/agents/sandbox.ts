import type { AgentCli } from './agents.ts';
import type { Login } from './login.ts';

/** Requirements of a known agent CLI in a sandbox. Paths are relative to HOME. */
export interface SandboxNeeds {
  /**
   * Its folders. In a sandbox each is created for the run, and removed with it: files written there would
   * otherwise take effect the next time that the operator, or a later run, starts the CLI.
   */
  folders: readonly string[];
  /** Files and folders of the operator's in these folders that it can read and not change. */
  settings: readonly string[];
  /** Login of which the run has a copy. */
  login: Login;
  /**
   * Its sessions: the files that the next run of a session receives; `*` is any name, or a part of one. They
   * contain the conversation, and neither settings nor instructions nor programs.
   */
  sessions: readonly string[];
  /** Hosts of its model, and of its login. */
  hosts: readonly string[];
  /** Its own variables; `*` at the end for any ending. */
  env: readonly string[];
  /** Whether it makes sandboxes of its own for its tools, for which it needs user namespaces. */
  nests?: true;
}

/** Variables of Crosstalk, git and the system that every run receives. */
export const USUAL_VARIABLES: readonly string[] = [
  ...['PATH', 'HOME', 'LANG', 'LC_*', 'TERM', 'TZ', 'USER', 'LOGNAME', 'SHELL', 'NO_COLOR'],
  ...['CROSSTALK_*', 'GIT_AUTHOR_*', 'GIT_COMMITTER_*', 'GIT_CEILING_DIRECTORIES', 'GIT_CONFIG_*'],
  ...['SSL_CERT_FILE', 'SSL_CERT_DIR', 'NODE_EXTRA_CA_CERTS'],
];

/**
 * Renewable fields of pi and opencode. An entry of another type is a command to be run, or an address from
 * which settings come.
 */
const ENTRIES: Login['renewal'] = {
  entries: true,
  tokens: [['access'], ['refresh']],
  time: ['expires'],
  same: [['accountId'], ['enterpriseUrl']],
};

const NEEDS: Readonly<Record<string, SandboxNeeds>> = {
  claude: {
    folders: ['.claude'],
    settings: [
      ...['.claude/settings.json', '.claude/settings.local.json', '.claude/CLAUDE.md'],
      ...['.claude/agents', '.claude/commands', '.claude/skills', '.claude/plugins'],
      '.claude/output-styles',
    ],
    login: {
      file: '.claude/.credentials.json',
      renewal: {
        tokens: [
          ['claudeAiOauth', 'accessToken'],
          ['claudeAiOauth', 'refreshToken'],
        ],
        time: ['claudeAiOauth', 'expiresAt'],
        same: [['organizationUuid']],
      },
    },
    // Beside these it stores notes to itself, `memory`.
    sessions: [
      '.claude/projects/*/*.jsonl',
      ...['subagents', 'tool-results'].map((name) => `.claude/projects/*/*/${name}/*`),
    ],
    hosts: ['api.anthropic.com', 'console.anthropic.com', 'platform.claude.com', 'claude.ai'],
    env: ['ANTHROPIC_*', 'CLAUDE_*', 'DISABLE_*', 'API_TIMEOUT_MS', 'MAX_THINKING_TOKENS'],
  },
  codex: {
    nests: true,
    folders: ['.codex'],
    settings: [
      ...['.codex/config.toml', '.codex/AGENTS.md', '.codex/prompts', '.codex/skills'],
      '.codex/rules',
    ],
    login: {
      file: '.codex/auth.json',
      renewal: {
        tokens: ['id_token', 'access_token', 'refresh_token'].map((name) => ['tokens', name]),
        time: ['last_refresh'],
        same: [['auth_mode'], ['tokens', 'account_id']],
      },
    },
    sessions: ['.codex/sessions/*/*/*/rollout-*'],
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
    // The token that renews a login of Google stays valid.
    login: { file: '.gemini/oauth_creds.json' },
    // Beside these it stores programs, `bin`, and notes to itself, `memory`.
    sessions: ['.project_root', 'chats/*.json', 'chats/*.jsonl'].map(
      (name) => `.gemini/tmp/*/${name}`,
    ),
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
    login: { file: '.local/share/opencode/auth.json', renewal: ENTRIES },
    sessions: ['opencode*.db', 'opencode*.db-wal'].map((name) => `.local/share/opencode/${name}`),
    hosts: [
      ...['api.anthropic.com', 'api.openai.com', 'generativelanguage.googleapis.com'],
      ...['openrouter.ai', 'opencode.ai', 'models.dev'],
    ],
    env: ['OPENCODE_*', 'ANTHROPIC_*', 'OPENAI_*', 'GEMINI_*', 'OPENROUTER_*'],
  },
  qwen: {
    folders: ['.qwen'],
    settings: ['.qwen/settings.json', '.qwen/.env', '.qwen/QWEN.md'],
    login: {
      file: '.qwen/oauth_creds.json',
      renewal: {
        tokens: [['access_token'], ['refresh_token']],
        time: ['expiry_date'],
        same: [['resource_url']],
      },
    },
    sessions: [],
    hosts: [
      'chat.qwen.ai',
      'portal.qwen.ai',
      'dashscope.aliyuncs.com',
      'dashscope-intl.aliyuncs.com',
    ],
    env: ['OPENAI_*', 'DASHSCOPE_*', 'QWEN_*'],
  },
  pi: {
    folders: ['.pi/agent'],
    settings: [
      ...['.pi/agent/models.json', '.pi/agent/settings.json', '.pi/agent/AGENTS.md'],
      ...['.pi/agent/prompts', '.pi/agent/skills', '.pi/agent/extensions', '.pi/agent/themes'],
    ],
    login: { file: '.pi/agent/auth.json', renewal: ENTRIES },
    sessions: ['.pi/agent/sessions/*/*.jsonl'],
    hosts: ['api.anthropic.com', 'api.openai.com', 'generativelanguage.googleapis.com'],
    env: ['PI_*', 'ANTHROPIC_*', 'OPENAI_*', 'GEMINI_*'],
  },
};

/** Returns the requirements of an agent CLI in a sandbox. */
export function needsOf({ name }: AgentCli): SandboxNeeds | undefined {
  return NEEDS[name];
}
