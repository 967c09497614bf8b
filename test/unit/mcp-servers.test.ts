import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it, onTestFinished } from 'vitest';
import { serversOf, type FilledServer } from '../../src/agents/mcp/servers-of.ts';
import { parseProfile } from '../../src/protocol/files/actor.ts';
import {
  parseMcpServers,
  secretsIn,
  withSecrets,
  type McpServer,
} from '../../src/protocol/files/mcp-servers.ts';
import { profileWith } from '../support/tools.ts';

const GIT = {
  name: 'git',
  command: 'npx',
  args: ['-y', 'server', 'it’s "here"'],
  env: { TOKEN: 'Bearer ${git.token}', PLAIN: 'x' },
};
const WEB = {
  name: 'web',
  url: 'https://example.org/mcp?k=${key}',
  headers: { 'X-Key': '${key}' },
};

it('the servers of a profile are read, and the secrets that they need', () => {
  const read = parseProfile(profileWith('worker', [GIT, WEB]), 'worker');
  expect(read).toMatchObject({ ok: true, value: { mcps: [GIT, WEB] } });
  const mcps = read.ok ? (read.value.mcps ?? []) : [];
  expect(secretsIn(mcps)).toEqual(['git.token', 'key']);
  expect(
    mcps.map((one) =>
      withSecrets(
        one,
        new Map([
          ['git.token', '$&'],
          ['key', 'k'],
        ]),
      ),
    ),
  ).toEqual([
    { ...GIT, env: { TOKEN: 'Bearer $&', PLAIN: 'x' } },
    { ...WEB, url: 'https://example.org/mcp?k=k', headers: { 'X-Key': 'k' } },
  ]);
});

it('a profile without servers says nothing of them', () => {
  const read = parseProfile('---\nname: worker\nmcps: []\n---\n', 'worker');
  expect(read.ok && Object.keys(read.value)).toEqual(['name', 'description', 'body']);
});

it.each([
  ['a text', 'npx', 'mcps is "npx"'],
  [
    'too many',
    Array.from({ length: 21 }, (_, at) => ({ name: `s${String(at)}`, command: 'x' })),
    'at most 20',
  ],
  ['a text as server', ['npx'], 'mcps[0] is "npx"'],
  ['no name', [{ command: 'x' }], 'mcps[0].name is "nothing"'],
  ['a name that means another path', [{ name: '../x', command: 'x' }], 'mcps[0].name is "../x"'],
  [
    'two of a name',
    [
      { name: 'a', command: 'x' },
      { name: 'a', command: 'y' },
    ],
    'mcps names "a" twice',
  ],
  ['neither command nor url', [{ name: 'a' }], 'needs either a command or a url'],
  ['both', [{ name: 'a', command: 'x', url: 'https://x' }], 'needs either a command or a url'],
  ['a foreign field', [{ name: 'a', command: 'x', cwd: '/' }], 'has "cwd"'],
  ['headers of a program', [{ name: 'a', command: 'x', headers: {} }], 'headers belongs to'],
  ['variables of an address', [{ name: 'a', url: 'https://x', env: {} }], 'env belongs to'],
  ['a program of the folder it works in', [{ name: 'a', command: './x' }], 'absolute path'],
  ['a program below that folder', [{ name: 'a', command: 'bin/x' }], 'absolute path'],
  ['an option as program', [{ name: 'a', command: '-c' }], 'absolute path'],
  ['a secret as program', [{ name: 'a', command: '/x/${S}' }], 'cannot stand on a command line'],
  ['a secret as argument', [{ name: 'a', command: 'x', args: ['--key=${S}'] }], 'command line'],
  ['a line break', [{ name: 'a', command: 'x', args: ['a\nb'] }], 'expected a list of at most'],
  [
    'a variable of the CLI',
    [{ name: 'a', url: 'https://x', headers: { A: '$HOME' } }],
    'no $ but in',
  ],
  [
    'a file of the CLI',
    [{ name: 'a', command: 'x', env: { A: '{file:/etc/passwd}' } }],
    'no $ but',
  ],
  ['a default of the CLI', [{ name: 'a', command: 'x', env: { A: '${B:-c}' } }], 'no $ but in'],
  ['no variable', [{ name: 'a', command: 'x', env: { 'A;B': 'c' } }], 'no name for it'],
  ['no header', [{ name: 'a', url: 'https://x', headers: { 'A B': 'c' } }], 'no name for it'],
  ['another scheme', [{ name: 'a', url: 'file:///etc/passwd' }], 'begins with https://'],
  ['a login in the address', [{ name: 'a', url: 'https://u:p@x' }], 'begins with https://'],
])('a profile with %s for servers is not readable', (_what, mcps, problem) => {
  const problems: string[] = [];
  parseMcpServers(mcps, problems);
  expect(problems.join('; ')).toContain(problem);
});

it('nothing that is parsed makes the parser throw', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      parseMcpServers(value, []);
      parseMcpServers([value], []);
      parseMcpServers([{ name: 'a', command: 'x', args: value, env: value }], []);
    }),
  );
});

const filled = (server: McpServer, secret: string): FilledServer => ({
  named: server,
  filled: withSecrets(server, new Map(secretsIn([server]).map((name) => [name, secret]))),
});
const where = { runDir: "/run/it's $HOME", env: {}, asks: false, inWorkspace: true };

it.each([
  ['claude', 'claude -p'],
  ['codex', 'codex exec -'],
  ['gemini', 'gemini --skip-trust -m x'],
  ['opencode', 'opencode run'],
])('%s gets servers without a secret in what is added to its command line', (_name, command) => {
  const read: McpServer[] = parseMcpServers([GIT, { ...WEB, url: 'https://example.org/mcp' }], []);
  const servers = serversOf(command);
  const made = servers.ok
    ? servers.render(
        read.map((one) => filled(one, 'S3CRET-$-OF')),
        where,
      )
    : undefined;
  expect(made?.flags).not.toContain('S3CRET');
  expect(made?.left).toEqual([]);
  expect(JSON.stringify([made?.files, made?.env])).toContain('S3CRET-$-OF');
  // A shell reads what is added as words, whatever the path of the run.
  const words = spawnSync('/bin/sh', ['-c', `printf '%s\\n' x ${made?.flags ?? ''}`], {
    encoding: 'utf8',
  });
  const [, ...rest] = words.stdout.trimEnd().split('\n');
  if (made?.flags !== '') expect(rest.join(' ')).toContain("/run/it's $HOME/mcp");
});

it.each([
  ['claude', 'claude -p', 'x${HOME}x'],
  ['gemini', 'gemini --skip-trust', 'x$HOMEx'],
  ['opencode', 'opencode run', 'x{env:HOME}x'],
])('%s is not given a header of which it would replace a part', (_name, command, secret) => {
  const [web] = parseMcpServers([{ ...WEB, url: 'https://example.org/mcp' }], []);
  const servers = serversOf(command);
  const made = servers.ok && web ? servers.render([filled(web, secret)], where) : undefined;
  expect(made?.left).toMatchObject([{ name: 'web' }]);
  expect(JSON.stringify(made)).not.toContain(JSON.stringify(secret).slice(1, -1));
});

it('codex is not given an address that holds a secret, as it would stand on its command line', () => {
  const [web] = parseMcpServers([WEB], []);
  const servers = serversOf('codex exec -');
  const made = servers.ok && web ? servers.render([filled(web, 'S3CRET')], where) : undefined;
  expect(made?.left).toMatchObject([{ name: 'web' }]);
  expect(made?.flags).toBe('');
});

it.each([
  ['pi -p', 'no way is known'],
  ['cat', 'no way is known'],
  ['claude', 'with a terminal'],
  ['claude -p | tee x', 'no plain call'],
  ['claude -p -- x', 'no plain call'],
  ['gemini', 'only with --skip-trust'],
  ['env -i opencode run', 'sets OPENCODE_CONFIG_CONTENT itself'],
])('nothing is added to %s', (command, why) => {
  expect(serversOf(command)).toMatchObject({
    ok: false,
    why: expect.stringContaining(why) as unknown,
  });
});

it('the script of a server starts exactly its program, with its arguments and variables', () => {
  const folder = mkdtempSync(join(tmpdir(), 'crosstalk-script-'));
  onTestFinished(() => {
    rmSync(folder, { recursive: true });
  });
  const text = fc
    .string({ maxLength: 30 })
    .filter((one) => !/[\p{Cc}$]|\{(?:env|file):/u.test(one));
  fc.assert(
    fc.property(fc.array(text, { maxLength: 4 }), text, fc.string(), (args, plain, secret) => {
      fc.pre(!secret.includes('\0'));
      const show =
        'console.log(JSON.stringify([process.argv.slice(1), process.env.A, process.env.B]))';
      const problems: string[] = [];
      const [server] = parseMcpServers(
        [
          {
            name: 'a',
            command: process.execPath,
            args: ['-e', show.replaceAll('$', ''), '--', ...args],
            env: { A: plain, B: '${S}' },
          },
        ],
        problems,
      );
      if (server === undefined) throw new Error(problems.join());
      const servers = serversOf('claude -p');
      const made = servers.ok
        ? servers.render([filled(server, secret)], { ...where, runDir: folder })
        : undefined;
      for (const { name, content } of made?.files ?? []) writeFileSync(join(folder, name), content);
      const ran = spawnSync('/bin/sh', [join(folder, 'mcp-a.sh')], { encoding: 'utf8' });
      expect(JSON.parse(ran.stdout), ran.stderr).toEqual([args, plain, secret]);
    }),
    { numRuns: 25 },
  );
});
