import { expect, it } from 'vitest';
import { KNOWN_AGENTS } from '../../src/agents/agents.ts';
import { renewedLogin, type Login } from '../../src/agents/login.ts';
import { needsOf } from '../../src/agents/sandbox.ts';

type Json = Record<string, unknown>;

const NOW = Date.parse('2026-06-09T19:00:00Z');
const HOUR = 3_600_000;

function renewalOf(name: string): NonNullable<Login['renewal']> {
  const agent = KNOWN_AGENTS.find((one) => one.name === name);
  const renewal = agent && needsOf(agent)?.login.renewal;
  if (renewal === undefined) throw new Error(`nothing comes back for ${name}`);
  return renewal;
}

/** What becomes of a login of which a run has changed its copy. */
const after = (name: string, given: Json, copy: Json, login = given): Json | undefined =>
  renewedLogin(renewalOf(name), { login, given, copy }, NOW);

const jwt = (sub: string, serial = 1): string =>
  ['{"alg":"none"}', JSON.stringify({ iss: 'https://auth', sub, serial }), 'signature']
    .map((part) => Buffer.from(part).toString('base64url'))
    .join('.');

const CLAUDE = {
  claudeAiOauth: { accessToken: 'sk-a1', refreshToken: 'sk-r1', expiresAt: NOW - 1, scopes: ['x'] },
  mcpOAuth: { server: 'mine' },
};
const CLAUDE_NEW = { accessToken: 'sk-a2', refreshToken: 'sk-r2', expiresAt: NOW + 8 * HOUR };
const CODEX = {
  auth_mode: 'chatgpt',
  OPENAI_API_KEY: null,
  tokens: { id_token: jwt('me'), access_token: jwt('me'), refresh_token: 'r1', account_id: 'acc' },
  last_refresh: '2026-06-01T10:00:00.123456789Z',
};
const ENTRY = { type: 'oauth', access: 'a1', refresh: 'r1', expires: NOW - 1, accountId: 'acc' };
const NEW = { ...ENTRY, access: 'a2', refresh: 'r2', expires: NOW + HOUR };

it('of a renewed login the tokens and their time come back, and nothing else of the file', () => {
  const claude = { ...CLAUDE.claudeAiOauth, ...CLAUDE_NEW };
  expect(
    after('claude', CLAUDE, {
      claudeAiOauth: { ...claude, scopes: ['all'], more: 1 },
      mcpOAuth: 'evil',
    }),
  ).toEqual({ ...CLAUDE, claudeAiOauth: claude });
  const tokens = { ...CODEX.tokens, access_token: jwt('me', 2), refresh_token: 'r2' };
  const time = { last_refresh: '2026-06-09T18:59:59.5Z' };
  expect(after('codex', CODEX, { ...CODEX, ...time, tokens, OPENAI_API_KEY: 'evil' })).toEqual({
    ...CODEX,
    ...time,
    tokens,
  });
  for (const name of ['pi', 'opencode'])
    expect(after(name, { one: ENTRY, two: { ...ENTRY } }, { one: NEW, three: NEW })).toEqual({
      one: NEW,
      two: ENTRY,
    });
});

it('a login that is not plainly the same one renewed does not come back', () => {
  for (const name of ['pi', 'opencode']) {
    const key = { type: 'api_key', key: 'mine' };
    for (const copy of [
      {},
      { other: { type: 'api_key', key: '!touch /tmp/x' } },
      { 'https://evil.example': { type: 'wellknown', key: 'X', token: 'y' } },
      { one: { type: 'api_key', key: '!touch /tmp/x' } },
      { one: { ...NEW, type: 'wellknown', key: 'PATH', token: '/evil' } },
      { one: { ...NEW, access: '!touch /tmp/x' } },
      { one: { ...NEW, access: '$(touch /tmp/x)' } },
      { one: { ...NEW, refresh: 'a\nb' } },
      { one: { ...NEW, refresh: '' } },
      { one: { ...NEW, refresh: ['r2'] } },
      // pi takes an address out of such a token.
      { one: { ...NEW, access: 'tid=1;proxy-ep=proxy.evil.example;' } },
      { one: { ...NEW, access: 'a'.repeat(20_000) } },
      { one: { ...NEW, accountId: 'another' } },
      { one: { ...NEW, enterpriseUrl: 'https://evil.example' } },
      { one: { ...NEW, expires: ENTRY.expires } },
      { one: { ...NEW, expires: '9999999999999' } },
      { one: { ...NEW, expires: Number.MAX_VALUE } },
      { one: null },
      { __proto__: { one: NEW } },
      { key: NEW },
    ])
      expect(after(name, { one: ENTRY, key }, copy), JSON.stringify(copy)).toBeUndefined();
  }
  const tokens = (change: Json): Json => ({
    ...CODEX,
    last_refresh: '2026-06-09T18:59:59Z',
    tokens: { ...CODEX.tokens, access_token: jwt('me', 2), ...change },
  });
  expect(after('codex', CODEX, tokens({}))).toBeDefined();
  for (const copy of [
    tokens({ access_token: jwt('somebody') }),
    tokens({ id_token: jwt('somebody') }),
    tokens({ access_token: 'opaque' }),
    tokens({ account_id: 'another' }),
    { ...tokens({}), auth_mode: 'apikey' },
    { ...tokens({}), last_refresh: '2036-06-09T18:59:59Z' },
    { ...tokens({}), last_refresh: 'tomorrow' },
  ])
    expect(after('codex', CODEX, copy), JSON.stringify(copy)).toBeUndefined();
});

it('a login that was renewed, or made anew, outside of the run meanwhile is left as it is', () => {
  const copy = { one: NEW };
  const login = { one: { ...ENTRY, access: 'mine', refresh: 'mine', expires: NOW + 2 } };
  expect(after('pi', { one: ENTRY }, copy, login)).toBeUndefined();
  expect(after('pi', { one: ENTRY }, copy, {})).toBeUndefined();
  // What was changed beside it stays changed.
  const beside = { one: ENTRY, two: { type: 'api_key', key: 'new' } };
  expect(after('pi', { one: ENTRY }, copy, beside)).toEqual({ ...beside, one: NEW });
});
