import { mkdirSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { knownAgent } from '../../src/agents/agents.ts';

/** A real agent CLI: its package, and how it is pointed at a model server of the tests. */
export interface RealCli {
  name: CliName;
  /** Its npm package, at exactly this version. */
  package: string;
  version: string;
  /** Its folder below that of all CLIs, where it is not named as the CLI is. */
  folder?: string;
  /** Files and variables for its own HOME, in which it trusts `folder`. */
  settings: (server: string, folder: string) => Settings;
}

interface Settings {
  env: Record<string, string>;
  /** Path below HOME → content. */
  files: Record<string, string>;
}

export type CliName = 'claude' | 'codex' | 'pi' | 'opencode' | 'gemini';

const KEY = 'dummy-key';
const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

export const REAL_CLIS: readonly RealCli[] = [
  {
    name: 'claude',
    package: '@anthropic-ai/claude-code',
    version: '2.1.197', // The last version that runs with Node 20.
    settings: (server, folder) => ({
      env: {
        ANTHROPIC_BASE_URL: server,
        ANTHROPIC_API_KEY: KEY,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        CLAUDE_CODE_MAX_RETRIES: '1',
        DISABLE_AUTOUPDATER: '1',
      },
      // Answers to the questions of the first interactive start, so that a session begins at its
      // prompt.
      files: {
        '.claude.json': json({
          hasCompletedOnboarding: true,
          theme: 'dark',
          customApiKeyResponses: { approved: [KEY], rejected: [] },
          projects: { [folder]: { hasTrustDialogAccepted: true } },
        }),
      },
    }),
  },
  {
    name: 'codex',
    package: '@openai/codex',
    version: '0.169.0',
    settings: (server, folder) => ({
      env: { FAKE_MODEL_KEY: KEY },
      files: {
        '.codex/config.toml': `model = "fake"
model_provider = "fake"
check_for_update_on_startup = false
[model_providers.fake]
name = "fake"
base_url = "${server}/v1"
wire_api = "responses"
env_key = "FAKE_MODEL_KEY"
request_max_retries = 1
stream_max_retries = 1
[analytics]
enabled = false
[features]
daemon_auto_start = false
[projects.${JSON.stringify(folder)}]
trust_level = "trusted"
`,
      },
    }),
  },
  {
    name: 'pi',
    package: '@mariozechner/pi-coding-agent',
    version: '0.73.1',
    settings: (server) => ({
      env: { PI_OFFLINE: '1', PI_TELEMETRY: '0' },
      files: {
        '.pi/agent/models.json': json({
          providers: {
            fake: {
              baseUrl: `${server}/v1`,
              api: 'openai-completions',
              apiKey: KEY,
              models: [{ id: 'fake' }],
            },
          },
        }),
        '.pi/agent/settings.json': json({
          defaultProvider: 'fake',
          defaultModel: 'fake',
          retry: { enabled: false, provider: { maxRetries: 0 } },
        }),
      },
    }),
  },
  {
    name: 'opencode',
    package: 'opencode-ai',
    version: '1.18.33',
    settings: (server) => ({
      env: {
        OPENCODE_DISABLE_AUTOUPDATE: '1',
        OPENCODE_DISABLE_MODELS_FETCH: '1',
        OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
      },
      files: {
        '.config/opencode/opencode.json': json({
          model: 'fake/fake',
          small_model: 'fake/fake',
          autoupdate: false,
          share: 'disabled',
          provider: {
            fake: {
              npm: '@ai-sdk/openai-compatible',
              name: 'fake',
              options: { baseURL: `${server}/v1`, apiKey: KEY },
              models: { fake: { name: 'fake', tool_call: true } },
            },
          },
        }),
      },
    }),
  },
  {
    name: 'gemini',
    package: '@google/gemini-cli',
    version: '0.61.0',
    settings: (server) => ({
      env: {
        GOOGLE_GEMINI_BASE_URL: server,
        GEMINI_API_KEY: KEY,
        GEMINI_TELEMETRY_ENABLED: 'false',
      },
      files: {
        '.gemini/settings.json': json({
          security: { auth: { selectedType: 'gemini-api-key' } },
          general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
          privacy: { usageStatisticsEnabled: false },
        }),
      },
    }),
  },
];

/** A program that speaks the Agent Client Protocol for a CLI which does not. */
export interface RealAdapter {
  /** Its name, and that of its folder. */
  name: string;
  package: string;
  version: string;
  /** Other packages that lie beside it: a Node.js that it needs. */
  beside?: Record<string, string>;
}

export const REAL_ADAPTERS: Readonly<Partial<Record<CliName, RealAdapter>>> = {
  claude: {
    name: 'claude-agent-acp',
    package: '@agentclientprotocol/claude-agent-acp',
    version: '0.101.0',
    beside: { node: '24' },
  },
  codex: { name: 'codex-acp', package: '@agentclientprotocol/codex-acp', version: '2.6.0' },
};

/** The folder with one folder for each installed CLI; `CROSSTALK_AGENTS_CACHE` names another. */
export function cacheFolder(env: NodeJS.ProcessEnv = process.env): string {
  return env['CROSSTALK_AGENTS_CACHE'] ?? join(homedir(), '.cache', 'crosstalk-test-agents');
}

/** A CLI by its name; `<name>@<version>` is another version of it, which has a folder of its own. */
export function realCli(wanted: string): RealCli {
  const [name, version] = wanted.split('@');
  const found = REAL_CLIS.find((cli) => cli.name === name);
  if (found === undefined)
    throw new Error(
      `no agent CLI "${wanted}" in test/agents/clis.ts; there are: ${REAL_CLIS.map((cli) => cli.name).join(', ')}`,
    );
  return version === undefined ? found : { ...found, version, folder: wanted };
}

/** The folder with a CLI's executable, for a PATH. */
export function binFolder(cli: { name: string; folder?: string }, cache = cacheFolder()): string {
  return join(cache, cli.folder ?? cli.name, 'node_modules', '.bin');
}

/** The command line that the program itself proposes for a host file. */
export function headless(cli: RealCli): string {
  const known = knownAgent(cli.name);
  if (known === undefined) throw new Error(`no row for ${cli.name} in src/agents/agents.ts`);
  return known.headless;
}

/**
 * Creates a HOME in which CLIs only talk to `server`, with a dummy key, and trust `folder`.
 *
 * @returns the whole environment for a process that starts them: only PATH comes from the caller
 */
export function homeFor(
  clis: readonly RealCli[],
  server: string,
  home: string,
  cache = cacheFolder(),
  folder = home,
): Record<string, string> {
  const settings = clis.map((cli) => cli.settings(server, folder));
  for (const { files } of settings) {
    for (const [name, content] of Object.entries(files)) {
      mkdirSync(dirname(join(home, name)), { recursive: true });
      writeFileSync(join(home, name), content);
    }
  }
  const temporary = `${home}-tmp`;
  mkdirSync(temporary, { recursive: true });
  return {
    ...(Object.assign({}, ...settings.map(({ env }) => env)) as Record<string, string>),
    HOME: home,
    // codex makes no helpers for its own sandbox below a folder for temporary files.
    TMPDIR: temporary,
    PATH: [...clis.map((cli) => binFolder(cli, cache)), process.env['PATH'] ?? ''].join(':'),
  };
}
