import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Bus, type Host } from '../support/bus.ts';
import { command } from '../support/command.ts';
import { git } from '../support/git.ts';
import { Program } from '../support/process.ts';
import { until } from '../support/wait.ts';
import {
  freePort,
  sshMissing,
  startHttp,
  startSilent,
  startSlow,
  startSshd,
  startThrottled,
} from '../support/servers.ts';

/** A question that is answered over the given remote. */
async function conversation(bus: Bus, remote: string, env: NodeJS.ProcessEnv): Promise<void> {
  const dir = join(bus.root, 'machine');
  const all = { CROSSTALK_STATE_DIR: join(bus.root, 'state'), ...env };
  const run = (...argv: string[]): ReturnType<typeof command> =>
    command(argv, { cwd: bus.root, env: all });
  const made = await run(
    'init',
    dir,
    '--remote',
    remote,
    '--alias',
    'machine',
    '--cli',
    'echo done',
  );
  expect([made.code, made.err]).toEqual([0, '']);
  expect((await run('send', '--transport', dir, '--to', 'concierge', 'hello')).out).toMatch(
    /^Sent: /,
  );
  expect((await run('dispatch', '--transport', dir, '--host', 'machine', '--once')).code).toBe(0);
  expect(bus.messages().map(({ message }) => message.from)).toEqual(['operator', 'concierge']);
}

/** Points a machine at another remote and returns the output of `send`. */
async function sendTo(
  host: Host,
  remote: string,
  env: NodeJS.ProcessEnv = {},
): Promise<{ out: string; err: string }> {
  await host.pointTo(remote);
  return host.runWith({ env }, 'send', '--to', 'worker', 'hello');
}

describe.skipIf(sshMissing() !== undefined)(
  `over ssh${sshMissing() === undefined ? '' : ` (skipped, ${sshMissing() ?? ''})`}`,
  () => {
    it('two machines talk through a real sshd', { tags: 'long' }, async () => {
      const bus = new Bus();
      const { command: ssh } = await startSshd(bus.root);
      await conversation(bus, `ssh://root@127.0.0.1${bus.hub}`, { GIT_SSH_COMMAND: ssh });
    });
    it(
      'a dispatcher keeps one ssh connection for all it does, and ends it with itself',
      { tags: 'long' },
      async () => {
        const bus = new Bus();
        const host = await bus.host('front', { worker: 'echo done' });
        await host.run('sync');
        const { command: ssh } = await startSshd(bus.root);
        // Replaces a user's ~/.ssh/config, which ssh does not look for in HOME, by an ssh on the
        // PATH.
        mkdirSync(join(bus.root, 'bin'));
        writeFileSync(join(bus.root, 'bin', 'ssh'), `#!/bin/sh\nexec /usr/bin/${ssh} "$@"\n`, {
          mode: 0o755,
        });
        await host.pointTo(`ssh://root@127.0.0.1${bus.hub}`);
        const env = { PATH: `${join(bus.root, 'bin')}:${process.env['PATH'] ?? ''}` };
        const log = (): string => readFileSync(join(bus.root, 'sshd.log'), 'utf8');
        const machine = { dir: host.dir, env: { ...host.env, ...env } };
        const program = new Program(machine, 'dispatch', '--host', 'front', '--interval', '0.2');
        await until('five polls', () =>
          program.events.filter(({ event }) => event === 'tick').length > 5 ? true : undefined,
        );
        const { out } = await host.runWith({ env }, 'send', '--to', 'worker', 'hello');
        expect(out).toMatch(/^Sent: /);
        await program.saw('dispatch_done');
        expect(program.events.filter(({ event }) => event === 'fetch_failed')).toEqual([]);
        expect(log().match(/Accepted publickey/g)).toHaveLength(1);
        expect(await program.stop('SIGTERM')).toBe(0);
        await until('the end of the connection', () =>
          /Disconnected from user|Connection closed/.test(log()) ? true : undefined,
        );
      },
    );
    it('a key that is refused queues the message and says so', async () => {
      const bus = new Bus();
      const host = await bus.host('front', { worker: 'true' });
      const { badCommand } = await startSshd(bus.root);
      const { out, err } = await sendTo(host, `ssh://root@127.0.0.1${bus.hub}`, {
        GIT_SSH_COMMAND: badCommand,
      });
      expect(out).toMatch(/^Queued: /);
      expect(err).toContain('Permission denied');
    });
  },
);

describe('over smart HTTP', () => {
  it('two machines talk through git http-backend, with a password', { tags: 'long' }, async () => {
    const bus = new Bus();
    git(bus.hub, 'config', 'http.receivepack', 'true');
    const address = await startHttp(bus.root, 'me:secret');
    await conversation(bus, `http://me:secret@${address}/hub.git`, {});
  });
  it('a wrong password queues the message, says so, and is shown nowhere', async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'true' });
    const address = await startHttp(bus.root, 'me:secret');
    const { out, err } = await sendTo(host, `http://me:wr0ng@${address}/hub.git`);
    expect(out).toMatch(/^Queued: /);
    expect(err).toMatch(/Authentication failed|could not read/);
    const shown = [
      await host.run('status'),
      await host.run('sync'),
      await host.run('dispatch', '--once', '--host', 'front'),
    ];
    expect(JSON.stringify([err, shown])).not.toContain('wr0ng');
  });
  it('a remote that may only be read queues the message and sends it once it may be written', async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'true' });
    git(bus.hub, 'config', 'http.receivepack', 'false');
    const address = await startHttp(bus.root, 'me:secret');
    expect((await sendTo(host, `http://me:secret@${address}/hub.git`)).out).toMatch(/^Queued: /);
    git(bus.hub, 'config', 'http.receivepack', 'true');
    expect((await host.run('sync')).out).toContain('Pushed: 1');
  });
});

it('a remote that accepts and never answers costs the time limit, and the message is queued', async () => {
  const host = await new Bus().host('front', { worker: 'true' });
  const env = { CROSSTALK_NETWORK_TIMEOUT: '0.5' };
  const { out, err } = await sendTo(host, `http://${await startSilent()}/hub.git`, env);
  expect(out).toMatch(/^Queued: /);
  expect(err).toContain('git push did not end within 0.5 s');
});

it(
  'a dispatcher that is told to stop waits only so long for a remote that never answers',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'true' });
    const remote = `http://${await startSilent()}/hub.git`;
    const { out } = await sendTo(host, remote, { CROSSTALK_NETWORK_TIMEOUT: '0.5' });
    expect(out).toMatch(/^Queued: /);
    const env = { ...host.env, CROSSTALK_NETWORK_TIMEOUT: '100000' };
    const program = new Program({ env, dir: host.dir }, 'dispatch', '--host', 'front');
    await program.saw('dispatcher_started');
    expect(await program.stop('SIGTERM')).toBe(0);
    expect((await host.run('status')).out).toMatch(/^Outbox$/m);
  },
);

it('a slow remote only takes longer; one slower than the time limit queues the message', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'true' });
  git(bus.hub, 'config', 'http.receivepack', 'true');
  const port = Number((await startHttp(bus.root, 'me:secret')).split(':')[1]);
  let delay = 100;
  const remote = `http://me:secret@${await startSlow(port, () => delay)}/hub.git`;
  expect((await sendTo(host, remote)).out).toMatch(/^Sent: /);
  delay = 2000;
  const { out, err } = await sendTo(host, remote, { CROSSTALK_NETWORK_TIMEOUT: '1' });
  expect(out).toMatch(/^Queued: /);
  expect(err).toContain('did not end within 1 s');
  delay = 0;
  expect((await host.run('sync')).out).toContain('Pushed: 1');
  expect(bus.messages()).toHaveLength(2);
});

it(
  'what takes longer than the time limit on a slow link comes all the same, as long as it moves on',
  { tags: 'slow' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'true' });
    git(bus.hub, 'config', 'http.receivepack', 'true');
    const port = Number((await startHttp(bus.root, 'me:secret')).split(':')[1]);
    await host.pointTo(`http://me:secret@${await startThrottled(port, 150_000)}/hub.git`);
    const large = randomBytes(900_000);
    host.edit({ 'data/memories/large.bin': large });
    const env = { CROSSTALK_NETWORK_TIMEOUT: '4' };
    expect(await host.runWith({ env }, 'sync')).toMatchObject({ code: 0, err: '' });
    expect(git(host.dir, 'rev-parse', 'origin/main')).toBe(git(bus.hub, 'rev-parse', 'main'));
    const text = randomBytes(600_000).toString('base64');
    const sent = await host.runWith({ env, stdin: text }, 'send', '--to', 'worker');
    expect(sent.code).toBe(0);
    expect(sent.err).toMatch(/^(crosstalk send: no dispatcher is running here.*\n)?$/);
    expect(sent.out).toMatch(/^Sent: /);
    expect(bus.messages().map(({ message }) => message.body.trim())).toContain(text);
  },
);

it.each([
  ['a port nobody listens on', async () => `http://127.0.0.1:${String(await freePort())}/hub.git`],
  ['a name that does not resolve', () => Promise.resolve('http://nowhere.invalid/hub.git')],
  ['a folder that is not there', () => Promise.resolve('/nonexistent/hub.git')],
])('%s queues the message, which is sent when the remote is back', async (_, remote) => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'true' });
  const { out, err } = await sendTo(host, await remote());
  expect(out).toMatch(/^Queued: /);
  expect(err).toMatch(/^crosstalk send: queued, not on the remote yet: .+$/m);
  await host.pointTo(bus.hub);
  expect((await host.run('sync')).out).toContain('Pushed: 1');
  expect(bus.messages()).toHaveLength(1);
});

it('a hook that refuses one message holds up no other', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'true' });
  writeFileSync(
    join(bus.hub, 'hooks', 'update'),
    '#!/bin/sh\ngit log -p "$2..$3" | grep -q "forbidden word" && { echo "policy says no" >&2; exit 1; }\nexit 0\n',
    { mode: 0o755 },
  );
  const refused = await host.run('send', '--to', 'worker', 'a forbidden word');
  expect(refused.out).toMatch(/^Queued: /);
  expect((await host.run('send', '--to', 'worker', 'a kind word')).out).toMatch(/^Sent: /);
  expect(bus.messages().map(({ message }) => message.body)).toEqual(['a kind word']);
  expect((await host.run('status', '--json')).out).toContain(refused.out.trim().slice(8));
});

it('a branch that was deleted at the remote is made again from what is here', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo done' });
  const first = await host.send('worker', 'before');
  git(bus.hub, 'update-ref', '-d', 'refs/heads/main');
  const second = await host.send('worker', 'after');
  await host.once();
  expect(
    bus
      .from('worker')
      .flatMap(({ message }) => message.re)
      .sort(),
  ).toEqual([first, second].sort());
});

it('a shallow clone and a partial clone take part like any other', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo done' });
  await host.send('worker', 'one');
  git(bus.hub, 'config', 'uploadpack.allowFilter', 'true');
  for (const [name, option] of [
    ['shallow', '--depth=1'],
    ['partial', '--filter=blob:none'],
  ] as const) {
    git(bus.root, 'clone', '--quiet', option, `file://${bus.hub}`, name);
    const env = {
      CROSSTALK_STATE_DIR: join(bus.root, `${name}-state`),
      CROSSTALK_TRANSPORT: join(bus.root, name),
    };
    const sent = await command(['send', '--to', 'worker', name], { cwd: bus.root, env });
    expect([sent.err, sent.out]).toEqual(['', expect.stringMatching(/^Sent: /)]);
    expect(
      (await command(['replies', sent.out.trim().slice(6)], { cwd: bus.root, env })).out,
    ).toMatch(/^PENDING /);
  }
  await host.once();
  expect(bus.from('worker')).toHaveLength(1);
});

it(
  'a clone that is made shallow right above what its machine has seen still gets its mail',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'echo done' });
    const other = await bus.host('back', {});
    const asked = [await other.send('worker', 'before')];
    await host.once();
    await host.once();
    asked.push(await other.send('worker', 'at the cut'));
    // The cursor is the parent of the only commit that the clone keeps.
    git(host.dir, 'fetch', '--quiet', '--depth=1', 'origin', 'main');
    git(host.dir, 'reset', '--quiet', '--hard', 'FETCH_HEAD');
    git(host.dir, 'reflog', 'expire', '--expire=now', '--all');
    git(host.dir, 'gc', '--quiet', '--prune=now');
    await host.once();
    asked.push(await other.send('worker', 'after'));
    await host.once();
    expect(bus.from('worker').map(({ message }) => message.re)).toEqual(asked.map((one) => [one]));
  },
);

it('stale locks of a dead git stop no mail', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo done' });
  for (const name of ['index.lock', 'shallow.lock', 'HEAD.lock', 'config.lock'])
    writeFileSync(join(host.dir, '.git', name), '');
  const refLock = join(host.dir, '.git', 'refs', 'remotes', 'origin', 'main.lock');
  writeFileSync(refLock, '');
  utimesSync(refLock, new Date(0), new Date(0));
  const question = await host.send('worker', 'hello');
  await host.once();
  expect((await host.run('replies', question)).out).toContain('  done');
  expect((await host.run('doctor')).out).toContain('ok    own locks: none');
  const old = join(host.dir, '.git', 'index.lock');
  utimesSync(old, new Date(0), new Date(0));
  const ill = await host.run('doctor');
  expect([ill.code, ill.out]).toEqual([
    1,
    expect.stringContaining(`broken lock: ${old} was left by a git that was killed`),
  ]);
  expect(ill.out).toContain(`if no git runs there: rm ${old}`);
});

it('a lock that a killed git has just left on our own branch keeps nothing from being fetched', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'true' });
  const own = join(host.state, 'git', 'refs', 'remotes', 'origin', 'main.lock');
  bus.unplug();
  expect((await host.run('send', '--to', 'worker', 'queued')).out).toMatch(/^Queued: /);
  bus.plug();
  host.edit({ news: 'of another machine\n' });
  writeFileSync(own, '');
  const synced = await host.run('sync');
  expect([synced.code, synced.err, synced.out]).toEqual([
    0,
    '',
    expect.stringContaining('Pushed: 1\n'),
  ]);
  expect(existsSync(own)).toBe(false);
});

it('a lock that a killed git has left at the remote is named, and not run against without a pause', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'true' });
  const [lock, tried] = [join(bus.hub, 'refs', 'heads', 'main.lock'), join(bus.root, 'tried')];
  const hook = join(bus.hub, 'hooks', 'pre-receive');
  writeFileSync(hook, `#!/bin/sh\necho x >> '${tried}'\n`, { mode: 0o755 });
  writeFileSync(lock, '');
  const sent = await host.run('send', '--to', 'worker', 'queued');
  expect([sent.code, sent.out.slice(0, 8)]).toEqual([0, 'Queued: ']);
  expect(sent.err).toMatch(
    /the remote has a lock, \S+\/refs\/heads\/main\.lock; if it stays, a git was killed there: remove it/,
  );
  expect(readFileSync(tried, 'utf8').length / 2).toBeLessThanOrEqual(6);
  rmSync(lock);
  expect((await host.run('sync')).out).toContain('Pushed: 1\n');
});

it.skipIf(process.getuid?.() === 0)(
  'a hub that may not be written queues the message',
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'true' });
    chmodSync(join(bus.hub, 'objects'), 0o500);
    expect((await host.run('send', '--to', 'worker', 'x')).out).toMatch(/^Queued: /);
    chmodSync(join(bus.hub, 'objects'), 0o700);
  },
);

it('a message whose object is missing in the clone stops nothing, and is delivered once it is back', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo done' });
  await host.once();
  const { relPath, path, object } = await oddMessage(host);
  rmSync(object, { force: true });
  const question = await host.send('worker', 'hello');
  const running = host.start();
  const said = await running.saw('message_malformed', (event) => event['path'] === path);
  expect(said['reason']).toContain('missing from this clone');
  await running.saw('push_done');
  expect((await host.run('replies', question)).out).toContain('  done');
  expect((await host.run('status')).out).toMatch(/^stuck: .*missing from this clone/);
  await running.stop();
  git(host.dir, 'fetch', '--quiet', '--refetch', 'origin');
  await host.once();
  expect((await host.run('replies', relPath)).out).toContain('  done');
  expect((await host.run('replies', question)).out.match(/ {2}done/g)).toHaveLength(1);
});

it('a message whose object is corrupt in the clone stops nothing, comes again, and is delivered', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo done' });
  await host.once();
  const { relPath, object } = await oddMessage(host);
  damage(object);
  const question = await host.send('worker', 'hello');
  const running = host.start('--interval', '1');
  await running.saw('clone_mended');
  const sent = [relPath, question];
  await until('the answers', () => sent.every((one) => answered(bus).includes(one)));
  await running.stop();
  expect(answered(bus).toSorted()).toEqual(sent.toSorted());
});

const answered = (bus: Bus): string[] => bus.from('worker').flatMap(({ message }) => message.re);

/** A message on the bus, and the file of its object in the clone. */
async function oddMessage(host: Host): Promise<{ relPath: string; path: string; object: string }> {
  const relPath = '2026/06/09/190000000Z-0123456789ab.md';
  const path = `data/channels/${host.channel()}/${relPath}`;
  host.edit({
    [path]: '---\nfrom: a\nto: worker\ntype: text\ntimestamp: 2026-06-09T19:00:00Z\n---\n\nlost\n',
  });
  await host.run('sync');
  const oid = git(host.dir, 'rev-parse', `origin/main:${path}`).trim();
  return {
    relPath,
    path,
    object: join(host.dir, '.git', 'objects', oid.slice(0, 2), oid.slice(2)),
  };
}

/**
 * Keeps the header of a loose object and damages the rest: git finds it, and fails when reading it.
 */
function damage(path: string): void {
  const bytes = readFileSync(path);
  chmodSync(path, 0o600);
  writeFileSync(path, Buffer.concat([bytes.subarray(0, bytes.length - 12), Buffer.alloc(12)]));
}

it('a branch that others never leave alone queues the message after a bounded number of tries', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'true' });
  const hook = join(bus.hub, 'hooks', 'pre-receive');
  const busy =
    'unset GIT_QUARANTINE_PATH GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES\n' +
    'export GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x\n' +
    'git update-ref refs/heads/main $(git commit-tree main^{tree} -p main -m busy)\n';
  writeFileSync(hook, `#!/bin/sh\n${busy}`, { mode: 0o755 });
  const sent = await host.run('send', '--to', 'worker', 'hello');
  expect([sent.code, sent.out.slice(0, 8)]).toEqual([0, 'Queued: ']);
  rmSync(hook);
  expect((await host.run('sync')).out).toContain('Pushed: 1');
});

it('a push that takes its time is shown by status, with since when it is under way', async () => {
  const bus = new Bus();
  const host = await bus.host('front', {});
  const go = join(bus.root, 'go');
  const waits = `#!/bin/sh\nwhile [ ! -e ${go} ]; do sleep 0.02; done\n`;
  writeFileSync(join(bus.hub, 'hooks', 'pre-receive'), waits, { mode: 0o755 });
  const pushing = async (): Promise<{ pid: number; since: string } | null> => {
    const { out } = await host.run('status', '--json');
    return (JSON.parse(out) as { pushing: { pid: number; since: string } | null }).pushing;
  };
  expect(await pushing()).toBe(null);
  const begun = new Date().toISOString();
  const sending = host.run('send', '--to', 'nobody', 'hello');
  const found = await until('the push', async () => (await pushing()) ?? undefined);
  expect([found.pid, found.since >= begun]).toEqual([process.pid, true]);
  expect((await host.run('status')).out).toMatch(/^Push under way\n +since .+ process \d+$/m);
  writeFileSync(go, '');
  expect((await sending).out).toMatch(/^Sent: /);
  expect(await pushing()).toBe(null);
});
