import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openTransport } from '../../src/actions/context.ts';
import { Publisher } from '../../src/bus/publisher.ts';
import { Outbox, type OutboxEntry } from '../../src/state/outbox.ts';
import type { Commit, Transport } from '../../src/transport/transport.ts';
import { transportId } from '../../src/transport/clone/clone.ts';
import { classify } from '../../src/transport/git/failure.ts';
import { Bus, scratch, type Host } from '../support/bus.ts';
import { command } from '../support/command.ts';
import { git, readBlobs } from '../support/git.ts';
import { Program } from '../support/process.ts';
import { rowsIn } from '../support/rows.ts';
import { until } from '../support/wait.ts';

async function opened({ dir, env }: Host): Promise<Transport> {
  return (await openTransport(dir, { ...process.env, ...env })).transport;
}

const commit = (path: string, content = path): Commit => ({
  author: { name: 'a', email: 'a@b' },
  at: new Date(0).toISOString(),
  subject: path,
  files: [{ path, content }],
});

it(
  'writers that race for one branch all get through, one commit each, in one push each',
  { tags: 'slow' },
  async () => {
    const bus = new Bus();
    const hosts = await Promise.all(['a'].map((alias) => bus.host(alias, { worker: 'true' })));
    for (const alias of ['b', 'c', 'd']) hosts.push(await bus.host(alias, { worker: 'true' }));
    const transports = await Promise.all(hosts.map((host) => opened(host)));
    const results = await Promise.all(
      transports.map((transport, n) =>
        transport.publish([[commit(`x/${String(n)}-1`)], [commit(`x/${String(n)}-2`)]]),
      ),
    );
    for (const transport of transports) transport.close();
    expect(results.every(({ ok }) => ok)).toBe(true);
    expect(git(bus.hub, 'ls-tree', '--name-only', 'main', 'x/').trim().split('\n')).toHaveLength(8);
    expect(git(bus.hub, 'log', '--format=%s', 'main', '--', 'x/').trim().split('\n')).toHaveLength(
      8,
    );
  },
);

it(
  'many loose objects are packed by the dispatcher and by send, unasked, and none is lost',
  { tags: 'slow' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'echo done' });
    const loose = (): number => Number(git(host.dir, 'count-objects').split(' ')[0]);
    for (const tidy of [
      (): Promise<unknown> => host.once(),
      (): Promise<unknown> => host.send('worker', 'hello'),
    ]) {
      const one = scatter(host.dir, 10_000);
      expect(loose()).toBeGreaterThanOrEqual(10_000);
      await tidy();
      expect(loose()).toBeLessThan(1000);
      expect(git(host.dir, 'cat-file', '-p', one)).toContain('loose');
    }
    git(host.dir, 'fsck', '--strict');
    expect((await host.run('doctor')).out).toContain(`ok    objects: ${String(loose())} loose`);
  },
);

it('many packs are packed together, and what is in them stays', { tags: 'long' }, async () => {
  const host = await new Bus().host('front', { worker: 'echo done' });
  const packs = (): number =>
    Number(/^packs: (\d+)$/m.exec(git(host.dir, 'count-objects', '-v'))?.[1]);
  const ones = Array.from({ length: 60 }, () => scatter(host.dir, 5, 1));
  expect(packs()).toBeGreaterThanOrEqual(60);
  await host.once();
  expect(packs()).toBeLessThan(20);
  for (const one of ones) expect(git(host.dir, 'cat-file', '-p', one)).toContain('loose');
  git(host.dir, 'fsck', '--strict');
});

it('what compression would make no smaller is pushed without trying, and text is compressed', async () => {
  const bus = new Bus();
  const transport = await opened(await bus.host('front', { worker: 'true' }));
  // The hub keeps each push as the pack that came.
  git(bus.hub, 'config', 'receive.unpackLimit', '1');
  const packs = join(bus.hub, 'objects', 'pack');
  const sizes = (): number[] =>
    readdirSync(packs)
      .filter((name) => name.endsWith('.pack'))
      .map((name) => statSync(join(packs, name)).size);
  const KIB = 1024;
  const pushed = async (bytes: Buffer, text: string): Promise<number> => {
    const before = sizes();
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    const blob = { path: `data/files/${sha256}`, sha256, bytes: bytes.length };
    const entry = { ...commit(`x/${sha256}`, text), blobs: [blob] };
    const options = { bytesOf: () => Promise.resolve(bytes) };
    expect(await transport.publish([[entry]], options)).toMatchObject({ ok: true });
    expect(readBlobs(bus.hub, [`main:${blob.path}`])[0]?.equals(bytes)).toBe(true);
    return sizes().reduce((a, b) => a + b, 0) - before.reduce((a, b) => a + b, 0);
  };
  const picture = randomBytes(300 * KIB);
  expect(await pushed(picture, 'a'.repeat(40 * KIB))).toBeGreaterThan(340 * KIB);
  // It would not be worth it where much else travels along.
  expect(await pushed(randomBytes(300 * KIB), 'a'.repeat(100 * KIB))).toBeLessThan(310 * KIB);
  expect(await pushed(Buffer.from('a line\n'.repeat(40 * KIB)), 'a')).toBeLessThan(10 * KIB);
  transport.close();
});

/** Writes objects that nothing refers to, as loose ones or, past the limit, a pack; the id of one. */
function scatter(dir: string, count: number, limit = count + 1): string {
  const stream = Array.from({ length: count }, (_, n) => {
    const text = `loose ${String(n)} ${String(Math.random())}`;
    return `blob\nmark :${String(n + 1)}\ndata ${String(text.length)}\n${text}\n`;
  });
  const settings = ['-c', `fastimport.unpackLimit=${String(limit)}`];
  return execFileSync('git', ['-C', dir, ...settings, 'fast-import', '--quiet'], {
    input: `${stream.join('')}get-mark :1\n`,
    encoding: 'utf8',
  }).trim();
}

it('what comes while the outbox is being read is not called published before it was', async () => {
  const entry = (id: string): OutboxEntry => ({
    id,
    commits: [
      {
        author: { name: 'a', email: 'a@b' },
        at: new Date(0).toISOString(),
        subject: id,
        files: [],
      },
    ],
  });
  const pushed: string[] = [];
  let second: Promise<unknown> | undefined;
  class Interrupted extends Outbox {
    override async all(): Promise<OutboxEntry[]> {
      const all = await super.all();
      if (second !== undefined) return all;
      await this.put(entry('B'));
      second = publisher.publish('B').then(() => [...pushed]);
      return all;
    }
  }
  const outbox = new Interrupted(scratch());
  const publisher = new Publisher({
    outbox,
    now: () => new Date(),
    publish: (entries) => {
      pushed.push(...entries.flat().map(({ subject }) => subject));
      const commits = entries.flat().length;
      return Promise.resolve({ ok: true, tip: '', commits, attempts: 1, refused: [] });
    },
    lock: () => Promise.resolve({ ok: true, release: () => Promise.resolve() }),
  });
  await outbox.put(entry('A'));
  await publisher.publish('A');
  expect(await second).toEqual(['A', 'B']);
});

it('a send whose dispatcher is killed in the middle of it is done by the command, once', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo done' });
  await host.run('sync');
  const dispatcher = new Program(host, 'dispatch', '--host', 'front', '--interval', '60');
  await dispatcher.saw('tick');
  // The push is under way until the dispatcher is gone; git ends it also without that.
  const hook = join(bus.hub, 'hooks', 'pre-receive');
  const gate = join(bus.root, 'gate');
  const wait = `while test ! -e ${gate}; do sleep 0.05; done`;
  writeFileSync(hook, `#!/bin/sh\ntouch ${bus.root}/pushing; ${wait}\n`, { mode: 0o755 });
  const send = new Program(host, 'send', '--to', 'someone', '--from', 'me', 'once');
  await until('the push', () => (existsSync(join(bus.root, 'pushing')) ? true : undefined));
  await dispatcher.stop('SIGKILL');
  writeFileSync(gate, '');
  expect(await send.ended()).toBe(0);
  const relPath = /^Sent: (.+)$/m.exec(send.out)?.[1];
  expect(bus.messages().map((message) => message.relPath)).toEqual([relPath]);
  expect(rowsIn(host.state, 'outbox')).toEqual([]);
});

it('a hundred sends at once on one machine all arrive', { tags: 'long' }, async () => {
  const bus = new Bus();
  const host = await bus.host('front', { other: 'true' });
  const running = host.start();
  await running.saw('host_file_loaded');
  const sent = await Promise.all(
    Array.from({ length: 100 }, (_, n) => host.send('nobody', `message ${String(n)}`)),
  );
  await running.stop();
  expect(new Set(bus.messages().map(({ relPath }) => relPath))).toEqual(new Set(sent));
  expect(running.events.filter(({ event }) => event === 'push_done').length).toBeLessThan(60);
});

it(
  'processes that fetch in one clone at the same moment all get the news',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'true' });
    const transports = await Promise.all(Array.from({ length: 8 }, () => opened(host)));
    for (let round = 0; round < 5; round++) {
      host.edit({ 'note.md': String(round) });
      const refreshed = await Promise.all(transports.map((transport) => transport.refresh()));
      expect(refreshed.filter(({ ok }) => !ok)).toEqual([]);
    }
    for (const transport of transports) transport.close();
  },
);

it('sends without a dispatcher wait for one another and all arrive', { tags: 'long' }, async () => {
  const bus = new Bus();
  const host = await bus.host('front', { other: 'true' });
  const sent = await Promise.all(
    Array.from({ length: 12 }, (_, n) => host.send('nobody', `message ${String(n)}`)),
  );
  expect(
    bus
      .messages()
      .map(({ relPath }) => relPath)
      .sort(),
  ).toEqual(sent.sort());
});

it('a transport works on any default branch', { tags: 'long' }, async () => {
  const bus = new Bus('trunk');
  const dir = join(bus.root, 'one');
  const env = { CROSSTALK_STATE_DIR: join(bus.root, 'state') };
  await command(['init', dir, '--remote', bus.hub, '--alias', 'one', '--cli', 'echo done'], {
    cwd: bus.root,
    env,
  });
  const sent = await command(['send', '--transport', dir, '--to', 'concierge', 'hello'], {
    cwd: bus.root,
    env,
  });
  expect(sent.out).toMatch(/^Sent: /);
  await command(['dispatch', '--once', '--transport', dir], { cwd: bus.root, env });
  expect(bus.messages('trunk').map(({ message }) => message.from)).toEqual([
    'operator',
    'concierge',
  ]);
});

it('a plain git clone of a transport works as it is', { tags: 'long' }, async () => {
  const bus = new Bus('trunk');
  const env = { CROSSTALK_STATE_DIR: join(bus.root, 'state') };
  await command(['init', join(bus.root, 'one'), '--remote', bus.hub, '--cli', 'echo done'], {
    cwd: bus.root,
    env,
  });
  git(bus.root, 'clone', '--quiet', bus.hub, 'clone');
  const sent = await command(['send', '--to', 'concierge', 'hello'], {
    cwd: join(bus.root, 'clone', 'upstream'),
    env,
  });
  expect(sent.out).toMatch(/^Sent: /);
});

describe('solo mode', () => {
  const solo = async (): Promise<{
    root: string;
    dir: string;
    run: (...argv: string[]) => ReturnType<typeof command>;
  }> => {
    const root = scratch();
    const dir = join(root, 'solo');
    const run = (...argv: string[]): ReturnType<typeof command> =>
      command(argv, { cwd: argv[0] === 'init' ? root : dir });
    await run('init', 'solo', '--alias', 'here', '--cli', 'echo done');
    return { root, dir, run };
  };

  it('the local branch is the bus, and a clean checkout follows it', async () => {
    const { dir, run } = await solo();
    expect((await run('send', '--to', 'concierge', 'hello')).out).toMatch(/^Sent: /);
    expect((await run('dispatch', '--once', '--host', 'here')).code).toBe(0);
    expect(git(dir, 'log', '--format=%an', '-2', 'main').trim().split('\n')).toEqual([
      'concierge',
      'operator',
    ]);
    expect(git(dir, 'status', '--porcelain')).toBe('');
  });

  it('local changes survive, and a commit made afterwards deletes no mail', async () => {
    const { dir, run } = await solo();
    writeFileSync(join(dir, 'CLAUDE.md'), 'edited\n');
    const { out } = await run('send', '--to', 'concierge', 'hello');
    expect(git(dir, 'status', '--porcelain')).toBe(' M CLAUDE.md\n');
    git(dir, 'commit', '--quiet', '--all', '--message', 'mine');
    expect((await run('replies', out.trim().replace('Sent: ', ''))).out).toMatch(/^PENDING /);
    expect(readFileSync(join(dir, 'CLAUDE.md'), 'utf8')).toBe('edited\n');
  });

  it('a checkout that could not follow is brought along later, and no mail is lost by it', async () => {
    const { dir, run } = await solo();
    writeFileSync(join(dir, '.git', 'index.lock'), '');
    expect((await run('send', '--to', 'concierge', 'hello')).out).toMatch(/^Sent: /);
    expect(git(dir, 'status', '--porcelain')).toMatch(/^D {2}data/);
    rmSync(join(dir, '.git', 'index.lock'));
    expect((await run('sync')).out).toContain('Checkout: forwarded');
    expect(git(dir, 'status', '--porcelain')).toBe('');
    expect((await run('sync')).out).toContain('Checkout: current');
  });

  it('a checkout that could not follow is brought along by the next message, with all in between', async () => {
    const { dir, run } = await solo();
    writeFileSync(join(dir, '.git', 'index.lock'), '');
    await run('send', '--to', 'concierge', 'one');
    rmSync(join(dir, '.git', 'index.lock'));
    await run('send', '--to', 'concierge', 'two');
    expect(git(dir, 'status', '--porcelain')).toBe('');
  });

  it(
    'adding an origin later pushes what is there, and the machine keeps its state',
    { tags: 'long' },
    async () => {
      const { root, dir, run } = await solo();
      await run('send', '--to', 'concierge', 'hello');
      await run('dispatch', '--once', '--host', 'here');
      const hub = join(root, 'hub.git');
      mkdirSync(hub);
      git(hub, 'init', '--quiet', '--bare');
      git(dir, 'remote', 'add', 'origin', hub);
      const before = await run('dispatch', '--once', '--host', 'here');
      expect(before.err).toContain('"name":"remote.origin.url"');
      expect(git(hub, 'for-each-ref')).toBe('');
      const { held } = JSON.parse((await run('host', 'show', '--json')).out) as {
        held: { digest: string }[];
      };
      await run('host', 'approve', ...held.map(({ digest }) => digest));
      const second = await run('dispatch', '--once', '--host', 'here');
      expect(second.code).toBe(0);
      expect(second.err).not.toContain('dispatch_start');
      expect(git(hub, 'log', '--format=%an', 'main').trim().split('\n')[0]).toBe('concierge');
      expect((await run('send', '--to', 'concierge', 'again')).out).toMatch(/^Sent: /);
      expect(git(hub, 'log', '-1', '--format=%an', 'main').trim()).toBe('operator');
    },
  );
});

it('a remote that cannot be reached queues the message, and sync sends it later', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'true' });
  bus.unplug();
  const sent = await host.run('send', '--to', 'worker', 'hello');
  expect(sent.code).toBe(0);
  expect(sent.out).toMatch(/^Queued: .+\.md\n$/);
  expect(sent.err).toMatch(/^crosstalk send: queued, not on the remote yet: /m);
  bus.plug();
  expect((await host.run('sync')).out).toContain('Pushed: 1');
  expect(bus.messages()).toHaveLength(1);
});

it('a history that was rewritten is said so, and nothing answered is answered again', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo done' });
  await host.send('worker', 'one');
  await host.once();
  const clone = join(bus.root, 'rewriter');
  git(bus.root, 'clone', '--quiet', bus.hub, clone);
  git(
    clone,
    'reset',
    '--quiet',
    '--soft',
    git(clone, 'rev-list', '--max-parents=0', 'HEAD').trim(),
  );
  git(clone, 'commit', '--quiet', '--amend', '--message', 'all in one');
  git(clone, 'push', '--quiet', '--force');
  await host.send('worker', 'two');
  const log = await host.once();
  expect(log.map(({ event }) => event)).toContain('cursor_lost');
  expect(log.filter(({ event }) => event === 'dispatch_start')).toHaveLength(1);
  expect(bus.from('worker')).toHaveLength(2);
});

it(
  'a message whose file name is older than the cursor is still new',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'echo done' });
    await host.send('worker', 'now');
    await host.once();
    const path = `data/channels/${host.channel()}/2001/01/01/000000000Z-0123456789ab.md`;
    host.edit({
      [path]:
        '---\nfrom: past\nto: worker\ntype: text\ntimestamp: 2001-01-01T00:00:00Z\n---\n\nhello\n',
    });
    await host.once();
    expect(
      bus
        .from('worker')
        .map(({ message }) => message.to[0]?.name)
        .sort(),
    ).toEqual(['operator', 'past']);
  },
);

describe('the transport id', () => {
  const id = (origin: string): string => transportId({ origin, dir: '/x' });
  it('does not depend on credentials or on how the address ends', () => {
    expect(id('https://me:secret@example.com/team/bus.git')).toBe(
      id('https://example.com/team/bus'),
    );
    expect(id('https://example.com/team/bus')).toMatch(/^bus-[0-9a-f]{12}$/);
  });
  it('differs between addresses', () => {
    expect(id('git@example.com:a/bus.git')).not.toBe(id('git@example.com:b/bus.git'));
  });
});

it.each([
  [' ! [rejected]        x -> main (fetch first)', 'behind'],
  ["error: cannot lock ref 'refs/heads/main': is at 1f but expected 2a", 'contention'],
  ['fatal: Authentication failed for', 'auth'],
  [
    'git@example.com: Permission denied (publickey).\nfatal: Could not read from remote repository.',
    'auth',
  ],
  ["fatal: unable to access 'https://x/': Could not resolve host: x", 'unreachable'],
  [' ! [remote rejected] x -> main (pre-receive hook declined)', 'rejected'],
  ['error: file write error: No space left on device', 'no_space'],
  ["fatal: couldn't find remote ref refs/heads/main", 'no_branch'],
])('git saying %j is %s', (stderr, kind) => {
  expect(classify(stderr).kind).toBe(kind);
});

it('credentials never show in a reason', () => {
  expect(classify("fatal: unable to access 'https://me:secret@example.com/'").reason).not.toContain(
    'secret',
  );
});

it('what a pusher or a remote has git say does nothing to a terminal', () => {
  const path = classify("error: invalid path 'local/git~1/\u202eevil'").reason;
  expect(path).toBe(String.raw`error: invalid path 'local/git~1/\u202eevil'`);
  expect(classify('remote: error: \u001b]0;title\u0007\r').reason).toBe(
    String.raw`remote: error: \u001b]0;title\u0007`,
  );
});

it('files are in the order in which they were written, however many commits that takes', async () => {
  const host = await new Bus().host('front', { worker: 'true' });
  const names = Array.from({ length: 40 }, (_, n) => String(40 - n).padStart(2, '0'));
  const paths = names.map((name) => `local/x/${name}.md`);
  for (const path of paths) host.edit({ [path]: path });
  await host.run('sync');
  const { transport } = await openTransport(host.dir, { ...process.env, ...host.env });
  const tip = (await transport.tip()) ?? '';
  expect(await transport.order(undefined, tip, paths)).toEqual(paths);
  transport.close();
});
