import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createConnection, createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ask, listen } from '../../src/dispatcher/socket/wake.ts';
import { parseSendAnswer } from '../../src/actions/sending/handed.ts';
import { isPrivate } from '../../src/state/directory.ts';
import { statePaths } from '../../src/state/state-paths.ts';
import { Bus, scratch, type Host } from '../support/bus.ts';
import { path as relPathOf } from '../support/messages.ts';
import { asOther, noOtherUser, otherListens } from '../support/other-user.ts';
import { Program } from '../support/process.ts';
import { processorTime } from '../support/processor-time.ts';
import { until } from '../support/wait.ts';

// trust.md §5: other users of this machine have no access.

const bin = fileURLToPath(new URL('../../bin/crosstalk.js', import.meta.url));
const forged = relPathOf(1);
const TOKEN = 'token-that-nobody-may-read';
/** The answer of an attacker who wants to be believed. */
const FORGED = {
  pid: 4711,
  tip: '0'.repeat(40),
  send: {
    sent: {
      channel: 'x',
      from: 'operator',
      messages: [{ relPath: forged, to: ['worker'], re: [], cause: [] }],
      delivered: { published: true, direct: false },
    },
    notes: [],
  },
};

/** A machine whose state directory has a path that is too long for a socket. */
async function longState(): Promise<{
  bus: Bus;
  host: Host;
  long: Pick<Host, 'env' | 'dir'>;
  state: string;
}> {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo done' });
  const state = join(bus.root, 'x'.repeat(120), 'state');
  const env = { CROSSTALK_STATE_DIR: state, CROSSTALK_WEB_TOKEN: TOKEN, TMPDIR: '/tmp' };
  return { bus, host, state, long: { dir: host.dir, env } };
}

describe.skipIf(noOtherUser !== '')(`other users of this machine${noOtherUser}`, () => {
  it(
    'who makes the folder of 6.0.0’s socket first hears nothing and is not believed',
    { tags: 'long' },
    async () => {
      const { bus, long, state } = await longState();
      const digest = createHash('sha256').update(state).digest('hex').slice(0, 16);
      const squatted = `/tmp/crosstalk-${String(process.getuid?.())}-${digest}`;
      const thief = await otherListens(squatted, 'wake.sock', FORGED);
      const sent = new Program(long, 'send', '--to', 'worker', 'between us');
      expect(await sent.ended()).toBe(0);
      expect(thief.heard()).toBe('');
      expect(sent.out).toMatch(/^Sent: /);
      expect(sent.out).not.toContain(forged);
      expect(bus.messages().map(({ message }) => message.body.trim())).toEqual(['between us']);

      // The real dispatcher is still found, in a place that nobody else could have created first.
      const dispatcher = new Program(long, 'dispatch', '--host', 'front');
      await dispatcher.saw('tick');
      const handed = new Program(long, 'send', '--to', 'worker', 'handed over');
      expect(await handed.ended()).toBe(0);
      await dispatcher.saw('push_done');
      const place = readlinkSync(join(state, 'wake.sock'));
      expect(statSync(dirname(place)).mode & 0o777).toBe(0o700);
      expect(statSync(place).mode & 0o777).toBe(0o600);
      await dispatcher.stop('SIGTERM');
      expect(existsSync(dirname(place))).toBe(false);
      expect(thief.heard()).toBe('');
    },
  );

  it('who put a socket into a state directory that was open to all is not asked, and it is said once', async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'echo done' });
    // Accessible to everybody, unlike the folders of the tests.
    const state = mkdtempSync('/tmp/crosstalk-open-');
    onTestFinished(() => {
      rmSync(state, { recursive: true, force: true });
    });
    chmodSync(state, 0o777);
    writeFileSync(join(state, 'of somebody else'), '');
    const thief = await otherListens(state, 'wake.sock', FORGED);
    const sent = await host.runWith(
      { env: { CROSSTALK_STATE_DIR: state } },
      ...['send', '--to', 'worker', 'between us'],
    );
    expect(thief.heard()).toBe('');
    expect(sent.out).toMatch(/^Sent: /);
    expect(sent.out).not.toContain(forged);
    expect(
      sent.err.match(/the dispatcher of this machine is not asked: .*open to other users/g),
    ).toHaveLength(1);

    const refused = await host.runWith(
      { env: { CROSSTALK_STATE_DIR: state } },
      ...['dispatch', '--host', 'front'],
    );
    expect(refused.code).toBe(1);
    expect(refused.err).toContain(
      "other users of this machine could answer in the dispatcher's place",
    );
    expect(refused.err).not.toContain('Sent');
  });

  it('who owns a symlink, a folder or a socket in our place is not asked', async () => {
    const root = mkdtempSync('/tmp/crosstalk-mixed-');
    onTestFinished(() => {
      rmSync(root, { recursive: true, force: true });
    });
    chmodSync(root, 0o1777);
    const asked = (path: string): Promise<unknown> => ask(path, { op: 'ping' }, 5000);
    const thief = await otherListens(join(root, 'theirs'), 'wake.sock', FORGED);
    expect(await asked(join(root, 'theirs', 'wake.sock'))).toEqual({ kind: 'nobody' });

    // The attacker's symlink, in a folder to which everybody may write, for a path that is too
    // long.
    const deep = join(root, 'y'.repeat(110));
    mkdirSync(deep);
    chmodSync(deep, 0o1777);
    asOther(
      `mkdir -m 700 ${root}/crosstalk-ABCDEF && ln -s ${root}/crosstalk-ABCDEF/wake.sock ${deep}/wake.sock`,
    );
    expect(await asked(join(deep, 'wake.sock'))).toEqual({ kind: 'nobody' });

    // Our symlink to the attacker's folder, as if they had won a race for its creation.
    const ours = join(scratch(), 'z'.repeat(110));
    mkdirSync(ours, { mode: 0o700 });
    const folder = join(root, 'crosstalk-GHIJKL');
    await otherListens(folder, 'wake.sock', FORGED);
    symlinkSync(join(folder, 'wake.sock'), join(ours, 'wake.sock'));
    expect(await asked(join(ours, 'wake.sock'))).toEqual({ kind: 'nobody' });
    expect(thief.heard()).toBe('');
  });

  it('who makes the folder for shared ssh connections first shares none', async () => {
    const folder = join('/tmp', `crosstalk-ssh-${String(process.pid)}`);
    const thief = await otherListens(folder, 'x', {});
    expect(await isPrivate(join(folder, 'ssh'), { make: true })).toBe(false);
    expect(await isPrivate(join(folder, 'ssh'), { make: false })).toBe(false);
    expect(thief.heard()).toBe('');
  });
});

it('a socket that other users may write to is not asked, whoever made it', async () => {
  const path = join(scratch(), 'wake.sock');
  const server = createServer((socket) => socket.end(`${JSON.stringify(FORGED)}\n`));
  await new Promise<void>((resolve) => server.listen(path, resolve));
  onTestFinished(() => {
    server.close();
  });
  chmodSync(path, 0o666);
  expect(await ask(path, { op: 'ping' }, 5000)).toEqual({ kind: 'nobody' });
  chmodSync(path, 0o600);
  expect(await ask(path, { op: 'ping' }, 5000)).toMatchObject({ kind: 'answered' });
});

it('what a socket says is taken apart as anybody’s, and costs what arrives, on both ends', async () => {
  const folder = scratch();
  const path = join(folder, 'wake.sock');
  let asked = 0;
  const ear = await listen(path, (request) => {
    asked++;
    return Promise.resolve({ pid: 1, tip: JSON.stringify(request).slice(0, 20) });
  });
  const begun = processorTime();
  // A request of 7 MiB in pieces of 64 bytes, and one that is longer than allowed.
  for (const [size, answered] of [
    [7 << 20, true],
    [9 << 20, false],
  ] as const) {
    const client = createConnection(path);
    client.on('error', () => undefined);
    let answer = '';
    client.on('data', (data: Buffer) => (answer += data.toString()));
    const closed = new Promise((resolve) => client.once('close', resolve));
    const line = `${JSON.stringify({ op: 'send', request: 'x'.repeat(size) })}\n`;
    for (let at = 0; at < line.length; at += 64) client.write(line.slice(at, at + 64));
    if (answered) await until('an answer', () => answer.includes('\n'));
    client.end();
    await closed;
    expect(answer !== '').toBe(answered);
  }
  expect(asked).toBe(1);
  expect(processorTime() - begun).toBeLessThan(20_000);
  await ear.close();

  for (const odd of [
    null,
    [],
    'x',
    { sent: {} },
    { sent: { ...FORGED.send.sent, messages: [{ relPath: '../x' }] } },
  ])
    expect(parseSendAnswer(odd)).toBeUndefined();
  const steering = { error: { code: 'aborted', message: 'x' }, notes: [1, 'note'] };
  expect(parseSendAnswer(steering)).toEqual({
    error: { code: 'internal', message: 'x' },
    notes: ['note'],
  });
  expect(parseSendAnswer(FORGED.send)).toEqual(FORGED.send);
});

/** Files and folders below a folder to which others than their owner have rights. */
function open(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .concat('.')
    .filter((name) => {
      const found = lstatSync(join(folder, name));
      return !found.isSymbolicLink() && (found.mode & 0o077) !== 0;
    });
}

/** A command in a process with this umask. */
function withUmask(umask: string, host: Pick<Host, 'env' | 'dir'>, ...argv: string[]): string {
  return execFileSync(
    'sh',
    ['-c', `umask ${umask}; exec "$0" "$@"`, process.execPath, bin, ...argv],
    {
      cwd: dirname(host.dir),
      env: { ...process.env, ...host.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  ).toString();
}

it.each(['000', '022'])(
  'every file of the state directories is its owner’s alone under the umask %s, at any time',
  { tags: 'long' },
  (umask) => {
    const bus = new Bus();
    const dir = join(bus.root, 'front');
    const home = join(bus.root, 'states');
    const seen = join(bus.root, 'seen');
    const env = { XDG_STATE_HOME: home, CROSSTALK_TRANSPORT: dir };
    const look = `find ${home} -perm /077 ! -type l >> ${seen}`;
    const run = (...argv: string[]): string => withUmask(umask, { dir, env }, ...argv);
    const worker = `crosstalk send --to operator --anyway hello >&2; ${look}; echo done`;
    withUmask(
      umask,
      { dir, env: { XDG_STATE_HOME: home } },
      ...[
        'init',
        dir,
        '--remote',
        bus.hub,
        '--alias',
        'front',
        '--actor',
        'worker',
        '--cli',
        worker,
      ],
    );
    run('actor', 'add', 'failing', '--cli', 'exit 1');
    run('send', '--to', 'worker', 'hello');
    run('send', '--to', 'failing', 'hello');
    run('dispatch', '--once', '--host', 'front', '--log', join(bus.root, 'log'));
    run('pause');
    run('resume');
    run('search', 'hello');
    run('status');
    run('attach', '--agent', 'true');
    expect(readFileSync(seen, 'utf8')).toBe('');
    expect(bus.from('worker').length).toBeGreaterThan(1);
    expect(readdirSync(home, { recursive: true })).not.toEqual([]);
    expect(open(home)).toEqual([]);
  },
);

it('a state directory that others could read is closed to them, with what 6.0.0 left in it', async () => {
  const host = await new Bus().host('front', { worker: 'echo done' });
  const follows = 'source: answer:nobody\nto: worker\nhost: front';
  host.edit({ 'local/subscriptions/follows.md': `---\n${follows}\n---\ngo on\n` });
  await host.once();
  await host.send('worker', 'hello');
  await host.run('search', 'hello');
  execFileSync('chmod', ['-R', 'go+rX', host.state]);
  expect(open(host.state)).toEqual(expect.arrayContaining(['index.db', 'state.db']));
  await host.run('status');
  expect(open(host.state)).toEqual([]);

  // What any part of the program keeps there is known as ours, so that the folder itself is closed.
  const paths = statePaths(host.state);
  for (const path of Object.values<string>({ ...paths }).filter((path) => !existsSync(path))) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, '');
  }
  // What 6.0.0 left.
  mkdirSync(join(host.state, 'dead-letters'));
  for (const name of ['cursors.json', 'git-listing.json', 'dead-letters/x.json'])
    writeFileSync(join(host.state, name), '');
  execFileSync('chmod', ['-R', 'go+rX', host.state]);
  await host.run('status');
  expect(open(host.state)).toEqual([]);

  // If the folder contains other things it is left unchanged, but our files in it are still
  // protected.
  writeFileSync(join(host.state, 'notes of mine'), '', { mode: 0o644 });
  execFileSync('chmod', ['-R', 'go+rX', host.state]);
  await host.run('search', 'hello');
  expect(open(host.state).sort()).toEqual(['.', 'notes of mine']);
});

it.skipIf(noOtherUser !== '')(
  `a clone of somebody else is refused, with how to get an own one${noOtherUser}`,
  () => {
    const bus = new Bus();
    const dir = join(bus.root, 'front');
    const env = { CROSSTALK_TRANSPORT: dir };
    withUmask('022', { dir, env }, 'init', dir, '--alias', 'front', '--cli', 'true');
    execFileSync('chmod', ['755', process.env['HOME'] ?? '', dirname(bus.root), bus.root]);
    const theirs = scratch();
    execFileSync('chown', ['65534', theirs]);
    const run = `cd ${theirs} && HOME=${theirs} CROSSTALK_TRANSPORT=${dir} ${process.execPath} ${bin} send --to worker hi >out 2>err; echo $? >>out`;
    asOther(run);
    expect(readFileSync(join(theirs, 'out'), 'utf8')).toBe('1\n');
    expect(readFileSync(join(theirs, 'err'), 'utf8')).toMatch(
      /^crosstalk send: cannot write to \S+\/front\/\.git\/crosstalk, which belongs to this clone: EACCES: .*; nothing was sent: use a clone of your own, made with: crosstalk init <dir> --remote <url>\n$/,
    );
  },
);
