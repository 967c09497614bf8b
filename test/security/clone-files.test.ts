import { execFile, execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { Bus, scratch, type Host } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { besideIdle } from '../support/stderr.ts';
import { until } from '../support/wait.ts';

const bin = fileURLToPath(new URL('../../bin/crosstalk.js', import.meta.url));

/** A safety net for a command that waits forever; git's own limit is shorter. */
const LONG_MS = 100_000;

interface Ended {
  code: number | null;
  /** The signal that ended it from outside. */
  signal: string | null;
  out: string;
  err: string;
}

/** The real program, so that a hanging one can be ended. */
function program(host: Host, ...argv: string[]): Promise<Ended> {
  return new Promise((resolve) => {
    const env = { ...process.env, ...host.env, CROSSTALK_TRANSPORT: host.dir };
    const options = { cwd: host.dir, env, timeout: LONG_MS, killSignal: 'SIGKILL' as const };
    const child = execFile(process.execPath, [bin, ...argv], options, (_error, out, err) => {
      resolve({ code: child.exitCode, signal: child.signalCode, out, err });
    });
  });
}

/** What a run that can write to the clone can put in the place of a file. */
const ODDITIES: Record<string, (path: string) => void> = {
  'a named pipe': (path) => execFileSync('mkfifo', [path]),
  'a device without an end': (path) => {
    symlinkSync('/dev/zero', path);
  },
  'a file of many gigabytes': (path) => {
    writeFileSync(path, '');
    truncateSync(path, 64 * 1024 ** 3);
  },
};

/** The files of a clone that are read, by us or by a git that we start. */
const PATHS = [
  'HEAD',
  'config',
  'config.worktree',
  'crosstalk/id',
  'index',
  'info/sparse-checkout',
  'objects/info/alternates',
  'packed-refs',
  'refs/heads/main',
  'refs/remotes/origin/main',
  'shallow',
];

it.each(PATHS)(
  'what a run puts in the place of its clone’s %s makes no command wait for ever or fill the memory',
  { tags: 'long' },
  async (name) => {
    const bus = new Bus();
    const host = await bus.host('here', { worker: 'echo done' });
    // Otherwise it contains nothing that is looked up.
    if (name === 'packed-refs') git(host.dir, 'pack-refs', '--all');
    const path = join(host.dir, '.git', name);
    let sent = 0;
    for (const [what, put] of Object.entries(ODDITIES)) {
      host.edit({ 'data/memories/note.md': `${what}\n` });
      const commands = [
        ['sync'],
        ['send', '--to', 'worker', '--new', 'hello'],
        ['dispatch', '--once', '--host', 'here'],
        ['status'],
      ];
      for (const argv of commands.slice(0, what === 'a named pipe' ? 4 : 3)) {
        mkdirSync(dirname(path), { recursive: true });
        if (existsSync(path)) renameSync(path, `${path}.whole`);
        put(path);
        const { code, signal, out, err } = await program(host, ...argv);
        rmSync(path);
        if (existsSync(`${path}.whole`)) renameSync(`${path}.whole`, path);
        const told = `${name}: ${what}: ${argv.join(' ')}: ${String(signal)} ${out}${err}`;
        expect(signal, told).toBeNull();
        if (code !== 0) {
          // There is one line, which names the file.
          expect(err.trim().split('\n'), told).toHaveLength(1);
          expect(err, told).toContain(path);
        } else if (argv[0] === 'send') {
          expect(out, told).toMatch(/^Sent: /);
          sent++;
        }
      }
    }
    // Nothing was sent that was not reported as sent, and everything continues.
    expect(bus.messages().filter(({ message }) => message.from !== 'worker')).toHaveLength(sent);
    const after = await program(host, 'send', '--to', 'worker', '--new', 'after');
    expect([besideIdle(after.err), after.out]).toEqual(['', expect.stringMatching(/^Sent: /)]);
    expect((await program(host, 'dispatch', '--once', '--host', 'here')).code).toBe(0);
    expect(bus.from('worker')).toHaveLength(sent + 1);
    expect((await program(host, 'sync')).code).toBe(0);
    expect(git(host.dir, 'rev-parse', 'main')).toBe(git(bus.hub, 'rev-parse', 'main'));
  },
);

it('a named pipe that an alternate of the clone’s alternate names makes no command wait', async () => {
  const host = await new Bus().host('here', { worker: 'echo done' });
  const other = join(scratch(), 'objects');
  mkdirSync(join(other, 'info'), { recursive: true });
  execFileSync('mkfifo', [join(other, 'info', 'alternates')]);
  writeFileSync(join(host.dir, '.git', 'objects', 'info', 'alternates'), `${other}\n`);
  const { code, signal, err } = await program(host, 'status');
  expect([code, signal]).toEqual([1, null]);
  expect(err).toContain(join(other, 'info', 'alternates'));
});

it('a dispatcher outlives what a run puts in the place of its clone’s configuration', async () => {
  const bus = new Bus();
  const host = await bus.host('here', { worker: 'echo done' });
  const running = host.start();
  // The first one updates the checkout.
  await until('some ticks', () => running.count('tick') > 3);
  const config = join(host.dir, '.git', 'config');
  renameSync(config, `${config}.whole`);
  execFileSync('mkfifo', [config]);
  await running.saw('internal_error', ({ error }) => String(error).includes(config));
  rmSync(config);
  renameSync(`${config}.whole`, config);
  await host.send('worker', 'hello');
  await until('the answer', () => bus.from('worker').length === 1);
});

it('a transport without a remote says what stands in the place of its branch, and keeps its mail', async () => {
  const root = scratch();
  const host = { dir: join(root, 'team'), env: { CROSSTALK_STATE_DIR: join(root, 'state') } };
  const run = (...argv: string[]): Promise<Ended> => program(host as unknown as Host, ...argv);
  mkdirSync(host.dir);
  const made = await run(
    'init',
    host.dir,
    '--alias',
    'here',
    '--from',
    'anna',
    '--cli',
    'echo done',
  );
  expect([made.code, made.err]).toEqual([0, '']);
  const branch = join(host.dir, '.git', git(host.dir, 'symbolic-ref', 'HEAD').trim());
  renameSync(branch, `${branch}.whole`);
  execFileSync('mkfifo', [branch]);
  const odd = await run('send', '--to', 'concierge', 'hello');
  expect([odd.code, odd.signal, odd.err]).toEqual([1, null, expect.stringContaining(branch)]);
  rmSync(branch);
  renameSync(`${branch}.whole`, branch);
  expect((await run('send', '--to', 'concierge', 'hello')).out).toMatch(/^Sent: /);
});

it(
  'nothing is written through a symlink that a run puts into its clone',
  { tags: 'long' },
  async () => {
    for (const name of ['info/sparse-checkout', 'info', 'config', 'crosstalk/id', 'crosstalk']) {
      const bus = new Bus();
      const host = await bus.host('here', { worker: 'echo done' });
      // Otherwise it contains nothing that is looked up.
      if (name === 'packed-refs') git(host.dir, 'pack-refs', '--all');
      const path = join(host.dir, '.git', name);
      const victim = join(scratch(), 'victim');
      const isFolder = name === 'info' || name === 'crosstalk';
      // The existing content stays valid, so that nothing is refused for another reason.
      if (existsSync(path)) renameSync(path, victim);
      else if (name === 'info') mkdirSync(victim);
      else writeFileSync(victim, '');
      symlinkSync(victim, path);
      const watched = isFolder ? join(victim, name === 'info' ? 'sparse-checkout' : 'id') : victim;
      // Another pattern file and another id have to be written.
      writeFileSync(watched, name === 'config' ? readFileSync(watched) : 'mine\n');
      if (name === 'config')
        rmSync(join(host.dir, '.git', 'info', 'sparse-checkout'), { force: true });
      const before = readFileSync(watched, 'utf8');
      host.edit({ 'data/memories/note.md': 'news\n' });
      for (const argv of [['sync'], ['sync', '--window', '7d']]) await host.run(...argv);
      expect([name, readFileSync(watched, 'utf8')]).toEqual([name, before]);
    }
  },
);

it(
  'a folder of refs that a run replaces by a symlink has nothing written into it',
  { tags: 'long' },
  async () => {
    for (const name of ['refs/remotes/origin', 'refs/heads']) {
      const host = await new Bus().host('here', { worker: 'true' });
      await host.run('sync');
      const [folder, elsewhere] = [join(host.dir, '.git', name), scratch()];
      const commit = git(host.dir, 'rev-parse', 'main');
      writeFileSync(join(elsewhere, 'main'), commit);
      rmSync(folder, { recursive: true });
      symlinkSync(elsewhere, folder);
      host.edit({ 'data/memories/note.md': 'news\n' });
      const { out } = await host.run('sync');
      if (name === 'refs/heads') expect(out).toContain(`${folder} is a symlink`);
      expect([name, readFileSync(join(elsewhere, 'main'), 'utf8')]).toEqual([name, commit]);
      expect(readdirSync(elsewhere)).toEqual(['main']);
    }
  },
);

it(
  'what a run puts in the place of its clone’s log of the branch is neither waited for nor written to',
  { tags: 'long' },
  async () => {
    for (const kind of ['a named pipe', 'a symlink', 'a folder']) {
      const bus = new Bus();
      const host = await bus.host('here', { worker: 'true' });
      await host.run('sync');
      const log = join(host.dir, '.git', 'logs', 'refs', 'heads', 'main');
      const victim = join(scratch(), 'victim');
      writeFileSync(victim, 'mine\n');
      rmSync(log, { force: true });
      mkdirSync(dirname(log), { recursive: true });
      if (kind === 'a named pipe') execFileSync('mkfifo', [log]);
      else if (kind === 'a symlink') symlinkSync(victim, log);
      else mkdirSync(join(log, 'inside'), { recursive: true });
      // Only a move to another history writes there.
      const tree = git(bus.hub, 'rev-parse', 'main^{tree}').trim();
      git(
        bus.hub,
        'update-ref',
        'refs/heads/main',
        git(bus.hub, 'commit-tree', '-m', 'new', tree).trim(),
      );
      const synced = await program(host, 'sync');
      expect([kind, synced.signal, synced.out]).toEqual([
        kind,
        null,
        expect.stringContaining('forwarded'),
      ]);
      expect(readFileSync(victim, 'utf8')).toBe('mine\n');
    }
  },
);
