import { expect, it } from 'vitest';
import { accountOf } from '../../src/agents/agents.ts';
import { modelHosts } from '../../src/agents/addresses.ts';

/** The hosts that a command and its settings name. */
function hosts(
  command: string,
  files: Record<string, string> = {},
  env: NodeJS.ProcessEnv = {},
): string[] {
  const account = accountOf(command);
  if (account === undefined) throw new Error(`no known CLI: ${command}`);
  return modelHosts(account, command, env, (path) => files[path] ?? '');
}

it('the address of a model is found in each field that is made for it', () => {
  const url = 'https://model.example/v1';
  const quoted = JSON.stringify(url);
  for (const found of [
    hosts('claude -p', {}, { ANTHROPIC_BASE_URL: url }),
    hosts(`ANTHROPIC_BASE_URL=${url} claude -p`),
    hosts(`env ANTHROPIC_BASE_URL=${url} claude -p`, {}, { ANTHROPIC_BASE_URL: 'http://other' }),
    hosts('claude -p', { '.claude/settings.json': `{"env": {"ANTHROPIC_BASE_URL": ${quoted}}}` }),
    hosts('codex exec -', {
      '.codex/config.toml': `[model_providers."my one"] # mine\nbase_url = ${quoted}\n`,
    }),
    hosts('codex exec -', { '.codex/config.toml': `model_providers.x = { base_url = ${quoted} }` }),
    hosts('codex exec -', { '.codex/config.toml': `openai_base_url = '${url}'` }),
    hosts(`codex exec -c 'model_providers.x.base_url="${url}"' -`),
    hosts(`codex exec --config=openai_base_url=${url} -`),
    hosts('gemini', { '.gemini/.env': `A=1\nexport GOOGLE_GEMINI_BASE_URL = "${url}"\n` }),
    hosts('opencode run', {
      '.config/opencode/opencode.jsonc': `{ // mine\n "provider": {"x": {"options": {"baseURL": ${quoted}}}}, }`,
    }),
    hosts(
      'opencode run',
      { '/etc/mine.json': `{"provider": {"x": {"options": {"baseURL": ${quoted}}}}}` },
      { OPENCODE_CONFIG: '/etc/mine.json' },
    ),
    hosts('qwen', { '.qwen/settings.json': `{"security": {"auth": {"baseUrl": ${quoted}}}}` }),
    hosts('pi -p', {
      '.pi/agent/models.json': `{"providers": {"x": {"models": [{"baseUrl": ${quoted}}]}}}`,
    }),
  ])
    expect(found).toEqual(['model.example:443']);
  // A model of this machine is named as any other.
  expect(hosts('claude -p', {}, { ANTHROPIC_BASE_URL: 'http://127.0.0.1:8080' })).toEqual([
    '127.0.0.1:8080',
  ]);
});

it('an address in prose, or in a field that is made for something else, opens nothing', () => {
  const url = 'http://127.0.0.1:9999/';
  const settings = JSON.stringify({
    apiKeyHelper: `curl ${url}`,
    statusLine: { command: `curl ${url}` },
    hooks: { Stop: [{ hooks: [{ type: 'command', command: `curl ${url}` }] }] },
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: url, NOTES: url, ANTHROPIC_MODEL: url },
    ANTHROPIC_BASE_URL: url,
  });
  for (const found of [
    hosts(`claude -p --append-system-prompt 'see ${url}' '${url}' # ${url}`),
    hosts(`claude -p ANTHROPIC_BASE_URL=${url}`),
    hosts(`claude -p; ANTHROPIC_BASE_URL=${url} true`),
    hosts('claude -p', { '.claude/CLAUDE.md': url, '.claude/settings.json': settings }),
    hosts('claude -p', { '.claude/settings.json': `not JSON ${url}` }),
    hosts(
      'claude -p',
      {},
      { ANTHROPIC_CUSTOM_HEADERS: url, CLAUDE_NOTES_URL: url, OPENAI_BASE_URL: url },
    ),
    hosts('claude -p', {}, { ANTHROPIC_BASE_URL: `see ${url}` }),
    hosts('claude -p', {}, { ANTHROPIC_BASE_URL: 'file:///etc/passwd' }),
    hosts('claude -p', {}, { ANTHROPIC_BASE_URL: 'https://*.example.com' }),
    hosts('codex exec -', {
      '.codex/config.toml': `# base_url = "${url}"\nnotify = ["curl", "${url}"]\n[mcp_servers.x]\nurl = "${url}"\n[projects."${url}"]\ntrust_level = "trusted"\n`,
    }),
    hosts(`codex exec -c 'developer_instructions="${url}"' -`),
    hosts('gemini', { '.gemini/.env': `# GOOGLE_GEMINI_BASE_URL=${url}\nNOTES=${url}\n` }),
    hosts('opencode run', {
      '.config/opencode/opencode.json': JSON.stringify({
        instructions: [url],
        mcp: { x: { type: 'remote', url } },
        provider: { x: { name: url, options: { apiKey: url } } },
      }),
    }),
    hosts('pi -p', { '.pi/agent/models.json': `{"providers": {"x": {"apiKey": "!curl ${url}"}}}` }),
  ])
    expect(found).toEqual([]);
});
