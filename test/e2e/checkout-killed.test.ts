import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { Bus, type Host } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { Program } from '../support/process.ts';
import { push } from '../support/push.ts';

const preload = fileURLToPath(new URL('../support/killed-rename.cjs', import.meta.url));

/**
 * Lets `crosstalk sync` be killed before its n-th rename into a folder: that is how each file of the
 * checkout, its branch and its index come into their place.
 *
 * @returns whether it came there
 */
async function killedSync(
  host: Host,
  n: number,
  folder: string,
  ...options: string[]
): Promise<boolean> {
  const dir = join(host.dir, folder);
  const killed = { NODE_OPTIONS: `--require ${preload}`, KILL_IN: dir, KILL_AT: String(n) };
  const env = { ...host.env, ...killed };
  const ended = await new Program({ dir: host.dir, env }, 'sync', ...options).ended();
  expect([0, 'SIGKILL']).toContain(ended);
  // The lock of a branch is taken away once it is old.
  const lock = join(host.dir, '.git/refs/heads/main.lock');
  if (existsSync(lock)) utimesSync(lock, 0, 0);
  return ended === 'SIGKILL';
}

const sync = async (host: Host): Promise<string> => (await host.run('sync')).out;
const read = (host: Host, path: string): string => readFileSync(join(host.dir, path), 'utf8');

/** Puts the same files on the bus, with other contents. */
function pushAll(host: Host, content: string): void {
  push(host, [
    ['100644', `${content}\n`, 'local/a.md'],
    ['100755', `${content}\n`, 'local/b.md'],
    ['100644', `${content}\n`, 'local/new/c.md'],
    ['100644', content, `local/${content}.md`],
  ]);
}

it('a checkout whose process was killed at any moment goes on with the next news', async () => {
  const host = await new Bus().host('front', { worker: 'true' });
  pushAll(host, 'before-1');
  await sync(host);
  let n = 1;
  for (; ; n++) {
    const [before, after] = [`before-${String(n)}`, `after-${String(n)}`];
    push(host, [['0', '', `local/${before}.md`]]);
    pushAll(host, after);
    if (!(await killedSync(host, n, '.'))) break;
    const latest = `before-${String(n + 1)}`;
    // Every second time, all of it has changed once more.
    if (n % 2 === 0) pushAll(host, latest);
    else push(host, [['100644', latest, `local/${latest}.md`]]);
    expect(await sync(host)).toContain('Checkout: forwarded');
    expect(git(host.dir, 'status', '--porcelain')).toBe('');
    expect(git(host.dir, 'rev-parse', 'HEAD')).toBe(git(host.bus.hub, 'rev-parse', 'main'));
    const content = n % 2 === 0 ? latest : after;
    for (const name of ['a', 'b', 'new/c'])
      expect(read(host, `local/${name}.md`)).toBe(`${content}\n`);
    const names = [before, after, latest].map((name) => `local/${name}.md`);
    expect(names.map((name) => existsSync(join(host.dir, name)))).toEqual([false, true, true]);
    const ours = /crosstalk-checkout|\.lock$/;
    expect(readdirSync(join(host.dir, '.git')).filter((name) => ours.test(name))).toEqual([]);
    expect(await sync(host)).toContain('Checkout: current');
  }
  // Four files, the branch as it is at the remote, the branch, and the index.
  expect(n - 1).toBe(7);
});

it(
  'what an operator has written since a checkout was killed is kept, and named',
  { tags: 'long' },
  async () => {
    const host = await new Bus().host('front', { worker: 'true' });
    push(host, [
      ['100644', 'before\n', 'local/a.md'],
      ['100644', 'before\n', 'local/mine.md'],
    ]);
    await sync(host);
    push(host, [
      ['100644', 'after\n', 'local/a.md'],
      ['100644', 'after\n', 'local/mine.md'],
      ['100644', 'new\n', 'local/new.md'],
    ]);
    expect(await killedSync(host, 2, 'local')).toBe(true);
    expect(read(host, 'local/a.md')).toBe('after\n');
    writeFileSync(join(host.dir, 'local/mine.md'), 'mine\n');
    writeFileSync(join(host.dir, 'local/new.md'), 'mine too\n');
    expect(await sync(host)).toContain('it has uncommitted changes: local/mine.md');
    expect(read(host, 'local/mine.md')).toBe('mine\n');
    git(host.dir, 'checkout', '--', 'local/mine.md');
    expect(await sync(host)).toContain('in the way: local/new.md');
    expect(read(host, 'local/new.md')).toBe('mine too\n');
  },
);

it(
  'a checkout that was killed before it could show a wider window shows it the next time',
  { tags: 'long' },
  async () => {
    for (let n = 1; ; n++) {
      const host = await new Bus().host('front', { worker: 'true' });
      const old = `data/channels/${host.channel()}/2020/01/02/030405006Z-0123456789ab.md`;
      push(host, [['100644', 'old\n', old]]);
      await host.run('sync', '--window', '1d');
      expect(existsSync(join(host.dir, old))).toBe(false);
      if (!(await killedSync(host, n, '.', '--window', 'all'))) break;
      await sync(host);
      expect(read(host, old)).toBe('old\n');
      expect(git(host.dir, 'status', '--porcelain')).toBe('');
    }
  },
);

it(
  'the first files of a clone that was killed with a part of them written are brought',
  { tags: 'long' },
  async () => {
    const { bus } = await new Bus().host('front', { worker: 'true' });
    const host = await bus.host('back', { worker: 'true' });
    for (let n = 1; ; n++) {
      push(host, [['100644', 'new\n', `local/new-${String(n)}.md`]]);
      // The state of a clone that was created and not updated yet.
      await host.news();
      git(host.dir, 'rm', '-r', '-f', '--quiet', '--sparse', '.');
      for (const path of ['index', 'refs/heads/main', 'info/sparse-checkout'])
        execFileSync('rm', ['-f', join(host.dir, '.git', path)]);
      for (const path of ['checkout.json', 'info/sparse-checkout'])
        execFileSync('rm', ['-f', join(host.state, 'git', path)]);
      if (!(await killedSync(host, n, '.'))) break;
      expect(await sync(host)).toContain('Checkout: forwarded');
      expect(git(host.dir, 'status', '--porcelain')).toBe('');
      expect(read(host, `local/new-${String(n)}.md`)).toBe('new\n');
    }
  },
);

it(
  'an operator’s own file with the path of one that is not shown survives a killed checkout',
  { tags: 'long' },
  async () => {
    const host = await new Bus().host('front', { worker: 'true' });
    push(host, [['100644', 'theirs\n', '.mcp.json']]);
    await sync(host);
    writeFileSync(join(host.dir, '.mcp.json'), 'mine\n');
    push(host, [
      ['0', '', '.mcp.json'],
      ['100644', 'new\n', 'local/new.md'],
    ]);
    expect(await killedSync(host, 1, 'local')).toBe(true);
    await sync(host);
    expect(git(host.dir, 'status', '--porcelain')).toBe('?? .mcp.json\n');
    expect(read(host, '.mcp.json')).toBe('mine\n');
    expect(read(host, 'local/new.md')).toBe('new\n');
  },
);

it(
  'while another git is at work on the index, nothing is moved, and what a killed process has moved stays',
  { tags: 'long' },
  async () => {
    const host = await new Bus().host('front', { worker: 'true' });
    await sync(host);
    push(host, [
      ['100644', 'new\n', 'local/new.md'],
      ['100644', 'new\n', 'local/other.md'],
    ]);
    const lock = join(host.dir, '.git', 'index.lock');
    // The lock that was left is that of another git.
    expect(await killedSync(host, 2, 'local')).toBe(true);
    writeFileSync(lock, '');
    expect(await sync(host)).toContain('index.lock exists');
    expect(read(host, 'local/new.md')).toBe('new\n');
    execFileSync('rm', [lock]);
    expect(await sync(host)).toContain('Checkout: forwarded');
    expect(git(host.dir, 'status', '--porcelain')).toBe('');
  },
);

it.each(['full', 'kill'])(
  'a lock whose process could not say whose it is is not left behind: %s',
  async (mode) => {
    const host = await new Bus().host('front', { worker: 'true' });
    await host.run('sync');
    push(host, [['100644', 'new\n', 'local/a.md']]);
    const broken = fileURLToPath(new URL('../support/broken-lock.cjs', import.meta.url));
    const env = { ...host.env, NODE_OPTIONS: `--require ${broken}`, LOCK: mode };
    const program = new Program({ dir: host.dir, env }, 'sync');
    await program.ended();
    expect(program.out).toContain(mode === 'full' ? 'no space left on device' : '');
    expect(existsSync(join(host.dir, 'local/a.md'))).toBe(false);
    expect(existsSync(join(host.dir, '.git/index.lock'))).toBe(false);
    expect((await host.run('sync')).out).toContain('Checkout: forwarded');
  },
);
