import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { withoutCredentials, withoutCredentialsIn } from '../../src/credentials.ts';
import { CrosstalkError, reasonOf } from '../../src/errors.ts';
import { Bus, type Host } from '../support/bus.ts';
import { command, type Ran } from '../support/command.ts';
import { git } from '../support/git.ts';
import { McpClient } from '../support/mcp.ts';
import { Program } from '../support/process.ts';
import { processorTime } from '../support/processor-time.ts';
import { freePort, startHttp, startSilent } from '../support/servers.ts';
import { until } from '../support/wait.ts';
import { TOKEN, Web } from '../support/web.ts';

// trust.md §5: URLs are printed without credentials, and secrets never appear on a command line.

const bin = fileURLToPath(new URL('../../bin/crosstalk.js', import.meta.url));
/** A token as the user's name, and a password that contains an `@`. */
const LOGIN = 'ghpUSERTOKEN:pass@S3CRET';
const USERINFO = 'ghpUSERTOKEN:pass%40S3CRET';

function secretsIn(text: string): string[] {
  return text.split('\n').filter((line) => /ghpUSERTOKEN|S3CRET|pass%40/.test(line));
}

it.each([
  ['https://bot:secret@host/a.git', 'https://host/a.git'],
  ['https://token@host:8443/a', 'https://host:8443/a'],
  ['https://bot:p%40ss@host/a', 'https://host/a'],
  ['https://bot:p@ss@host/a', 'https://host/a'],
  [
    "fatal: unable to access 'http://u:p@h/x/': refused",
    "fatal: unable to access 'http://h/x/': refused",
  ],
  ['ssh://me:pw@host:22/a', 'ssh://host:22/a'],
  ['git+ssh://me@host/a and git://you@host/b', 'git+ssh://host/a and git://host/b'],
  ['me:secret@host:group/a.git', 'host:group/a.git'],
  ['ghp_token@github.com:group/a', 'github.com:group/a'],
  ['https://host/a?access_token=secret&page=2', 'https://host/a?access_token=***&page=2'],
  [
    'https://host/a.git?x=1;private-token=secret#key=secret',
    'https://host/a.git?x=1;private-token=***#key=***',
  ],
  ['https://a:b@h/x?next=https://c:d@k/y', 'https://h/x?next=https://k/y'],
  ['HTTPS://A:B@h', 'HTTPS://h'],
])('%s is printed as %s', (given, shown) => {
  expect(withoutCredentials(given)).toBe(shown);
  expect(withoutCredentials(shown)).toBe(shown);
});

it.each([
  'worker@front answers at 10:30: done',
  'no host serves worker@front; add it with: crosstalk actor add worker',
  'see https://example.com/a@b and mail to me@example.com.',
  'git@github.com: Permission denied (publickey).',
])('%s is printed as it is', (text) => {
  expect(withoutCredentials(text)).toBe(text);
});

it('no text takes long, and none keeps a password that stands in a URL', { tags: 'long' }, () => {
  const authority = fc.stringMatching(/^[^\s/?#<>]{0,12}$/);
  fc.assert(
    fc.property(fc.string(), authority, fc.string(), (before, user, after) => {
      const printed = withoutCredentials(`${before} https://${user}SECRET:SECRET@host/ ${after}`);
      expect(printed).not.toContain('SECRET');
    }),
    { numRuns: 2000 },
  );
  const begun = processorTime();
  for (const piece of ['https://', '@', 'a@b:', 'x', '://a', '?token=', 'a@b:c/'])
    withoutCredentials(piece.repeat((4 << 20) / piece.length));
  expect(processorTime() - begun).toBeLessThan(10_000);
});

it('an error is made without credentials, whatever it was made of', () => {
  const url = `https://${USERINFO}@host/x.git`;
  const cause = new Error(`Command failed: git clone ${url}`);
  const error = new CrosstalkError('refused', `${url} did not answer`, {
    data: { urls: [{ url }] },
  });
  const seen = [error.message, error.stack, JSON.stringify(error.data), reasonOf(cause)];
  expect(secretsIn(seen.join('\n'))).toEqual([]);
  expect(secretsIn(JSON.stringify(withoutCredentialsIn({ deep: [{ url }], at: null })))).toEqual(
    [],
  );
});

/** Everything that people and programs are told by commands that use the remote. */
async function everything(host: Host, log: string): Promise<string> {
  const seen: Ran[] = [];
  const env = { CROSSTALK_DEBUG: '1' };
  const run = async (...argv: string[]): Promise<void> => {
    seen.push(await host.runWith({ env }, ...argv));
  };
  await run('send', '--to', 'worker', 'hello');
  await run('dispatch', '--once', '--host', 'front', '--log', log);
  await run('dispatch', '--once', '--host', 'front');
  for (const argv of [
    ['status'],
    ['doctor'],
    ['dlq'],
    ['host', 'show'],
    ['log'],
    ['channel', 'list'],
  ]) {
    await run(...argv);
    await run(...argv, '--json');
  }
  for (const { id } of JSON.parse((await host.run('dlq', '--json')).out) as { id: string }[])
    await run('dlq', '--show', id);
  await run('sync');
  await run('upgrade');
  await run('channel', 'create', 'another');
  await run(
    'archive',
    '--before',
    '2026-01-01',
    '--bundle',
    join(host.bus.root, `${String(Date.now())}.bundle`),
  );
  await run('explain', '00000000', 'worker');
  const { out } = await host.run('status', '--json');
  expect(out).toContain('{');
  return [...seen.flatMap((ran) => [ran.out, ran.err]), readFileSync(log, 'utf8')].join('\n');
}

it.each(['wrong password', 'nobody listens', 'refused push'])(
  'the credentials of a remote are told by no command, log or answer: %s',
  { tags: 'long' },
  async (how) => {
    const bus = new Bus();
    // An agent CLI that prints the output of its own git.
    const leaking = join(bus.root, 'leaking.sh');
    writeFileSync(leaking, `echo "fatal: https://${USERINFO}@host/x.git is gone" >&2; exit 1`);
    const host = await bus.host('front', { worker: 'echo done', failing: `sh ${leaking}` });
    await host.send('failing', 'hello');
    const first = JSON.stringify(await host.once(), undefined, 1);
    expect(secretsIn(first)).toEqual([]);
    expect(first).toContain('host/x.git is gone');
    git(bus.hub, 'config', 'http.receivepack', how === 'refused push' ? 'false' : 'true');
    const address =
      how === 'nobody listens'
        ? `127.0.0.1:${String(await freePort())}`
        : await startHttp(bus.root, how === 'wrong password' ? 'me:other' : LOGIN);
    git(host.dir, 'remote', 'set-url', 'origin', `http://${USERINFO}@${address}/hub.git`);
    const told = await everything(host, join(bus.root, 'log'));
    expect(secretsIn(told)).toEqual([]);
    expect(told).toContain('host/x.git is gone');

    const mcp = await McpClient.of(host);
    const calls = [
      await mcp.call('status', {}),
      await mcp.call('send', { to: 'worker', body: 'from a tool' }),
      await mcp.call('doctor', {}),
    ];
    const web = await Web.start(host);
    const pages = [
      await web.raw('GET', '/api/now', web.bearer()),
      await web.raw('GET', '/api/hosts', web.bearer()),
    ];
    expect(pages.map(({ status }) => status)).toEqual([200, 200]);
    expect(secretsIn(JSON.stringify([calls, pages, mcp.err], undefined, 1))).toEqual([]);
  },
);

it.each(['init', 'join'])('the credentials of a remote are not told when %s fails', async (how) => {
  const bus = new Bus();
  if (how === 'join') await bus.host('front', { worker: 'true' });
  const good = await startHttp(bus.root, LOGIN);
  const bad = await startHttp(bus.root, 'me:other');
  const silent = `127.0.0.1:${String(await freePort())}`;
  const seen: Ran[] = [];
  for (const address of [bad, silent, `${good}/nowhere`]) {
    const url = `http://${USERINFO}@${address}/hub.git`;
    seen.push(
      await command(['init', join(bus.root, 'new'), '--remote', url, '--cli', 'true'], {
        cwd: bus.root,
        env: { CROSSTALK_DEBUG: '1', CROSSTALK_STATE_DIR: join(bus.root, 'state') },
      }),
    );
  }
  expect(seen.map(({ code }) => code)).toEqual([1, 1, 1]);
  expect(secretsIn(JSON.stringify(seen, undefined, 1))).toEqual([]);
});

it(
  'archive says where a partial clone comes from without the password',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'true' });
    git(bus.hub, 'config', 'http.receivepack', 'true');
    git(bus.hub, 'config', 'uploadpack.allowFilter', 'true');
    const address = await startHttp(bus.root, LOGIN);
    host.edit({
      [`data/channels/${host.channel()}/2025/01/01/120000000Z-00000001.md`]:
        '---\nfrom: a\nto: nobody\ntype: text\ntimestamp: 2025-01-01T12:00:00Z\n---\n\nold\n',
    });
    const dir = join(bus.root, 'partial');
    const env = { CROSSTALK_STATE_DIR: join(bus.root, 'partial-state') };
    const run = (...argv: string[]): Promise<Ran> => command(argv, { cwd: bus.root, env });
    const made = await run(
      ...['init', dir, '--remote', `http://${USERINFO}@${address}/hub.git`, '--alias', 'other'],
      ...['--cli', 'true'],
    );
    expect([made.code, made.err]).toEqual([0, '']);
    const bundle = join(bus.root, 'old.bundle');
    const refused = await run(
      ...['archive', '--transport', dir, '--before', '2025-06-01', '--bundle', bundle],
      ...['--with-waiting', '--yes'],
    );
    expect(refused.code).toBe(1);
    expect(refused.err).toMatch(/partial.*http:\/\/127\.0\.0\.1/s);
    expect(secretsIn(`${refused.out}${refused.err}${made.out}`)).toEqual([]);
  },
);

/** A git that records its own command lines, and those of every program it starts for a remote. */
function watchedGit(root: string): { env: NodeJS.ProcessEnv; seen: () => string } {
  const real = execFileSync('git', ['--exec-path']).toString().trim();
  const folder = join(root, 'git-core');
  const log = join(root, 'command-lines');
  mkdirSync(folder);
  for (const name of readdirSync(real)) symlinkSync(join(real, name), join(folder, name));
  for (const name of ['git', 'git-remote-http', 'git-remote-https']) {
    const path = join(folder, name);
    rmSync(path, { force: true });
    const script = `#!/bin/sh\nprintf '%s\\n' "${name} $*" >> '${log}'\nexec '${join(real, name)}' "$@"\n`;
    writeFileSync(path, script, { mode: 0o755 });
  }
  const path = `${folder}:${process.env['PATH'] ?? ''}`;
  return { env: { GIT_EXEC_PATH: folder, PATH: path }, seen: () => readFileSync(log, 'utf8') };
}

it.each(['init', 'join'])(
  'the password of a remote stands on no command line: %s, then fetch and push',
  { tags: 'long' },
  async (how) => {
    const bus = new Bus();
    if (how === 'join') await bus.host('front', { worker: 'true' });
    git(bus.hub, 'config', 'http.receivepack', 'true');
    const address = await startHttp(bus.root, LOGIN);
    const { env, seen } = watchedGit(bus.root);
    const dir = join(bus.root, 'new');
    const all = { ...env, CROSSTALK_STATE_DIR: join(bus.root, 'state') };
    const url = `http://${USERINFO}@${address}/hub.git`;
    const run = (...argv: string[]): Promise<Ran> => command(argv, { cwd: bus.root, env: all });
    const made = await run('init', dir, '--remote', url, '--alias', 'new', '--cli', 'echo done');
    expect([made.code, made.err]).toEqual([0, '']);
    for (const argv of [
      ['send', '--to', 'concierge', 'hello'],
      ['dispatch', '--once', '--host', 'new'],
      ['sync'],
    ])
      expect((await run(...argv, '--transport', dir)).code).toBe(0);
    // It tries a push, and may report other problems.
    await run('doctor', '--transport', dir);
    expect(seen()).toContain('git-remote-http ');
    expect(secretsIn(seen())).toEqual([]);
    expect(bus.from('concierge')).toHaveLength(1);
  },
);

it.skipIf(process.platform !== 'linux')(
  'a password that was given to init on its command line is gone from it before the remote is asked',
  async () => {
    const bus = new Bus();
    const url = `http://${USERINFO}@${await startSilent()}/hub.git`;
    const host = { dir: bus.root, env: {} };
    const program = new Program(
      host,
      'init',
      join(bus.root, 'new'),
      '--remote',
      url,
      '--cli',
      'true',
    );
    await until('a command line without it', () => {
      const line = readFileSync(`/proc/${String(program.child.pid)}/cmdline`, 'utf8');
      return line !== '' && secretsIn(line).length === 0;
    });
    expect(program.running).toBe(true);
    await program.stop('SIGINT');
  },
);

it(
  'the token of the page is handed to nothing that crosstalk starts',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const worker = `echo "[$CROSSTALK_WEB_TOKEN]"`;
    const host = await bus.host('front', { worker });
    const env = { ...host.env, CROSSTALK_WEB_TOKEN: TOKEN };
    await host.send('worker', 'what do you see?');
    const dispatcher = new Program({ dir: host.dir, env }, 'dispatch', '--once', '--host', 'front');
    expect(await dispatcher.ended()).toBe(0);
    expect(bus.from('worker').map(({ message }) => message.body.trim())).toEqual(['[]']);
    const agent = `sh -c 'echo "[$CROSSTALK_WEB_TOKEN]"'`;
    const attached = spawnSync(process.execPath, [bin, 'attach', '--agent', agent], {
      cwd: host.dir,
      env: { ...process.env, ...env, CROSSTALK_TRANSPORT: host.dir },
    });
    expect(attached.stdout.toString()).toContain('[]\n');
    expect(attached.stdout.toString()).not.toContain(TOKEN);
  },
);

it.skipIf(process.platform !== 'linux')(
  'a token that was given on the command line is gone from it, and the operator is told what is better',
  async () => {
    const host = await new Bus().host('front', { worker: 'true' });
    const program = new Program(host, 'web', '--port', '0', '--token', TOKEN);
    await until('the address', () => program.out.includes('Open:'));
    expect(program.err).toMatch(/CROSSTALK_WEB_TOKEN keeps it to yourself/);
    const line = readFileSync(`/proc/${String(program.child.pid)}/cmdline`, 'utf8');
    expect(line).not.toContain(TOKEN);
    await program.stop('SIGTERM');
  },
);
