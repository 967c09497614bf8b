import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { acquire, holderOf } from '../../src/state/lock.ts';
import { Bus, scratch, type Event, type Host } from '../support/bus.ts';
import { Program } from '../support/process.ts';
import { until } from '../support/wait.ts';

const bin = fileURLToPath(new URL('../../bin/crosstalk.js', import.meta.url));
/** What starts a program with process ids of its own, as a container does. */
const APART = ['--pid', '--fork', '--mount-proc'];
const canBeApart = spawnSync('unshare', [...APART, 'true']).status === 0;

/** A machine whose state directory lies on a file system with this number, and where a lock may be given twice. */
function lyingOn(
  host: Host,
  type: number,
  lostLock?: string,
): { dir: string; env: NodeJS.ProcessEnv } {
  const hook = fileURLToPath(new URL('../support/file-system.cjs', import.meta.url));
  const env = { ...host.env, NODE_OPTIONS: `--require ${hook}`, FILE_SYSTEM: String(type) };
  return { dir: host.dir, env: { ...env, ...(lostLock !== undefined && { LOST_LOCK: lostLock }) } };
}

/** A command to its end: its exit code, and what it prints. */
async function ended(...given: ConstructorParameters<typeof Program>): Promise<[unknown, string]> {
  const program = new Program(...given);
  const code = await program.ended();
  return [code, program.out + program.err];
}

/** A machine whose dispatcher serves, and cannot be asked: its socket is out of reach for others. */
async function served(interval = '0.3'): Promise<{ bus: Bus; host: Host; first: Program }> {
  const bus = new Bus();
  const host = await bus.host('front', { worker: `echo run >> ${bus.root}/runs; echo done` });
  const first = new Program(host, 'dispatch', '--host', 'front', '--interval', interval);
  await first.saw('tick');
  rmSync(join(host.state, 'wake.sock'), { force: true });
  return { bus, host, first };
}

/** A second dispatcher, in another container on the same volume. */
function another(host: Host): { status: number | null; stderr: string } {
  const argv = [process.execPath, bin, 'dispatch', '--once', '--host', 'front'];
  const env = { ...process.env, ...host.env, CROSSTALK_TRANSPORT: host.dir, TMPDIR: scratch() };
  return spawnSync('unshare', [...APART, ...argv], { cwd: host.dir, env, encoding: 'utf8' });
}

it('a dispatcher whose state directory is replaced under it ends with one line, and runs no mail beside the next', async () => {
  const { bus, host, first } = await served('0.1');
  execFileSync('sh', [
    '-c',
    'cp -a "$0" "$0-copy" && rm -rf "$0" && mv "$0-copy" "$0"',
    host.state,
  ]);
  expect(await first.ended()).toBe(1);
  expect(first.err.trim().split('\n').at(-1)).toContain(
    `the state directory ${host.state} was replaced while this dispatcher ran`,
  );
  const next = new Program(host, 'dispatch', '--host', 'front', '--interval', '0.1');
  await next.saw('tick');
  await host.send('worker', 'once');
  await next.saw('dispatch_done');
  expect(readFileSync(join(bus.root, 'runs'), 'utf8')).toBe('run\n');
});

it.skipIf(!canBeApart)(
  'a dispatcher in another container on the same volume is refused, also while the first is stopped',
  async () => {
    const { bus, host, first } = await served();
    first.child.kill('SIGSTOP');
    try {
      const second = another(host);
      expect([second.status, second.stderr]).toEqual([
        1,
        expect.stringContaining(`another dispatcher serves ${host.dir}`),
      ]);
    } finally {
      first.child.kill('SIGCONT');
    }
    // The refused one has taken nothing from the first.
    expect(another(host).status).toBe(1);
    await host.send('worker', 'once');
    await first.saw('dispatch_done');
    expect(readFileSync(join(bus.root, 'runs'), 'utf8')).toBe('run\n');
    expect((await host.run('status')).out).toContain('healthy');
  },
);

it.skipIf(!canBeApart)(
  'status in another container knows that a dispatcher runs, and that a killed one does not',
  async () => {
    const { host, first } = await served();
    const env = { ...process.env, ...host.env, CROSSTALK_TRANSPORT: host.dir };
    const status = (): unknown => {
      const argv = [process.execPath, bin, 'status', '--json'];
      const asked = spawnSync('unshare', [...APART, ...argv], {
        ...{ cwd: host.dir, env, encoding: 'utf8' as const },
      });
      return (JSON.parse(asked.stdout) as { dispatcher: unknown }).dispatcher;
    };
    expect(status()).toMatchObject({ pid: first.child.pid });
    await first.stop('SIGKILL');
    expect(status()).toBe(null);
    expect(another(host).status).toBe(0);
  },
);

it.skipIf(!canBeApart)(
  'a command in another container sends for itself, also while the dispatcher is stopped, which takes it in without a fetch',
  async () => {
    const { bus, host, first } = await served('3');
    const send = (): { status: number | null; stdout: string } => {
      const env = { ...process.env, ...host.env, CROSSTALK_TRANSPORT: host.dir, TMPDIR: scratch() };
      const argv = [process.execPath, bin, 'send', '--to', 'worker', 'hello'];
      return spawnSync('unshare', [...APART, ...argv], { cwd: host.dir, env, encoding: 'utf8' });
    };
    first.child.kill('SIGSTOP');
    try {
      const sent = expect.stringMatching(/^Sent: /) as unknown;
      expect(send()).toMatchObject({ status: 0, stdout: sent });
      expect(bus.messages()).toHaveLength(1);
    } finally {
      first.child.kill('SIGCONT');
    }
    await until('the answer', () => bus.from('worker').length === 1);
    // Now it writes nothing itself, so that no push of its own lets it look.
    expect((await host.run('pause')).code).toBe(0);
    const begun = first.events.length;
    const taken = (): Event[] =>
      first.events.slice(begun).filter(({ event, added }) => event === 'tick' && Number(added) > 0);
    const isBrought = (): boolean => taken().some((tick) => tick['fetch_ms'] === undefined);
    // A poll may come first.
    for (let n = 1; n <= 10 && !isBrought(); n++) {
      expect(send().status).toBe(0);
      await until('its tick', () => taken().length >= n);
    }
    expect(isBrought()).toBe(true);
  },
);

it('a dispatcher refuses a state directory whose file system gives its lock to another process as well', async () => {
  const host = await new Bus().host('front', { worker: 'echo done' });
  const lock = join(host.state, 'dispatcher.lock.db');
  const dispatch = ['dispatch', '--once', '--host', 'front'];
  const FUSE = 0x65735546;
  expect(await ended(lyingOn(host, FUSE), ...dispatch)).toEqual([0, expect.anything()]);
  // Linux itself keeps the locks of ext4, so no child is asked there.
  expect((await ended(lyingOn(host, 0xef53, lock), ...dispatch))[0]).toBe(0);
  const started = [['dispatch', '--host', 'front'], dispatch, [...dispatch, '--shared-state']];
  for (const argv of started) {
    const [code, said] = await ended(lyingOn(host, FUSE, lock), ...argv);
    expect([code, said.trim().split('\n')]).toEqual([
      1,
      [
        expect.stringContaining(
          `the file system of the state directory ${host.state} keeps no locks: another process could lock ${lock}`,
        ),
      ],
    ]);
    expect(said).toContain('give a directory on another file system with CROSSTALK_STATE_DIR');
  }
});

it('a dispatcher refuses a state directory on NFS by name, --shared-state lets it start, and doctor warns of it', async () => {
  const host = await new Bus().host('front', { worker: 'echo done' });
  const onNfs = lyingOn(host, 0x6969);
  const dispatch = ['dispatch', '--once', '--host', 'front'];
  const [code, said] = await ended(onNfs, ...dispatch);
  expect([code, said.trim().split('\n')]).toEqual([
    1,
    [
      expect.stringContaining(
        `the state directory ${host.state} is on NFS, which other machines may use`,
      ),
    ],
  ]);
  expect(said).toContain('give another with CROSSTALK_STATE_DIR, or start with --shared-state');
  expect(await ended(onNfs, 'send', '--to', 'worker', 'hello')).toEqual([
    0,
    expect.stringContaining('Sent: '),
  ]);
  expect((await ended(onNfs, ...dispatch, '--shared-state'))[0]).toBe(0);
  expect((await ended(onNfs, 'doctor', '--host', 'front'))[1]).toContain(
    `state directory: ${host.state} is on NFS, which other machines may use at the same time`,
  );
});

it('of eight processes that want a lock, one has it at any time, and the next has it when one is killed', async () => {
  const root = scratch();
  const held = await acquire(root, 'writer', { wait: 0 });
  expect(held.ok && (await holderOf(root, 'writer'))?.pid).toBe(process.pid);
  expect(await acquire(root, 'writer', { wait: 0 })).toMatchObject({ ok: false });
  const counter = join(root, 'counter');
  const lock = fileURLToPath(new URL('../../src/state/lock.ts', import.meta.url));
  const script = `
    const { acquire } = await import(${JSON.stringify(lock)});
    const { readFileSync, writeFileSync, existsSync } = await import('node:fs');
    for (let n = 0; n < 5; n++) {
      const lock = await acquire(${JSON.stringify(root)}, 'writer', { wait: 60000 });
      if (!lock.ok) process.exit(3);
      const before = existsSync(${JSON.stringify(counter)}) ? Number(readFileSync(${JSON.stringify(counter)}, 'utf8')) : 0;
      await new Promise((resolve) => setTimeout(resolve, 2));
      writeFileSync(${JSON.stringify(counter)}, String(before + 1));
      if (n === 4 && before % 2 === 0) process.kill(process.pid, 'SIGKILL');
      await lock.release();
    }`;
  if (held.ok) await held.release();
  const file = join(root, 'taker.mjs');
  execFileSync('sh', ['-c', 'cat > "$0"', file], { input: script });
  const all = Array.from({ length: 8 }, () => `node --import tsx "$0" &`).join(' ');
  execFileSync('sh', ['-c', `${all} wait`, file], { stdio: 'pipe' });
  expect(readFileSync(counter, 'utf8')).toBe('40');
  expect(await holderOf(root, 'writer')).toBe(undefined);
});

it('a folder, a named pipe or a damaged file in the place of a lock lets nobody wait', async () => {
  const root = scratch();
  const name = join(root, 'writer.lock');
  mkdirSync(join(name, 'in it'), { recursive: true });
  const first = await acquire(root, 'writer', { wait: 0 });
  expect(first.ok).toBe(true);
  rmSync(name);
  execFileSync('mkfifo', [name]);
  expect(await acquire(root, 'writer', { wait: 0 })).toMatchObject({ ok: false });
  expect(await holderOf(root, 'writer')).toMatchObject({ pid: 0 });
  if (first.ok) await first.release();
  writeFileSync(join(root, 'writer.lock.db'), 'no lock, '.repeat(1000));
  await expect(acquire(root, 'writer', { wait: 0 })).rejects.toThrow(
    `${join(root, 'writer.lock.db')} is damaged, or is no file of crosstalk`,
  );
});
