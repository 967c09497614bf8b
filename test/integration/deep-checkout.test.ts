import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openTransport } from '../../src/actions/context.ts';
import { deepFolder } from '../../src/transport/checkout/deep.ts';
import { Git } from '../../src/transport/git/git.ts';
import { nested, plant, tree } from '../support/bomb.ts';
import { Bus, type Host } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { Program } from '../support/process.ts';
import { push } from '../support/push.ts';

const DEEP = 5000;
const REASON =
  'folders are nested more than 200 deep, too deep for git: PATH; the checkout goes on once they are removed from the bus';

/** A folder with one file below a chain of folders, made as a pusher's own tool would; its id. */
function chain(dir: string, levels: number, name = 'x'): string {
  const path = `${`${name}/`.repeat(levels - 1)}f.md`;
  const commit = `commit refs/deep/made\ncommitter a <a@example.com> 1 +0000\ndata 1\nx\n`;
  const input = `${commit}deleteall\nM 644 inline ${path}\ndata 2\nx\n\n`;
  execFileSync('git', ['-C', dir, 'fast-import', '--quiet', '--force'], { input });
  const oid = git(dir, 'rev-parse', 'refs/deep/made^{tree}').trim();
  git(dir, 'update-ref', '-d', 'refs/deep/made');
  return oid;
}

/** Commits the tree of an earlier commit again, as a pusher does who takes something away. */
function takeBack(bus: Bus, to: string): void {
  const made = git(bus.hub, 'commit-tree', '-p', 'main', '-m', 'gone', `${to}^{tree}`).trim();
  git(bus.hub, 'update-ref', 'refs/heads/main', made);
}

const tipOf = (bus: Bus): string => git(bus.hub, 'rev-parse', 'main').trim();
const sync = async (host: Host, ...options: string[]): Promise<string> =>
  /Checkout: (.*)\n/.exec((await host.run('sync', ...options)).out)?.[1] ?? '';
const lock = (host: Host): boolean => existsSync(join(host.dir, '.git', 'index.lock'));
const staged = (host: Host): boolean =>
  readdirSync(join(host.dir, '.git')).some((name) => name.startsWith('crosstalk-checkout'));

async function machine(): Promise<{ bus: Bus; host: Host }> {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo answered' });
  expect(await sync(host)).toMatch(/forwarded|current/);
  return { bus, host };
}

const PLACES: readonly [where: string, path: (host: Host) => string, named: string | undefined][] =
  [
    ['in a channel', (host) => `data/channels/${host.channel()}/deep`, undefined],
    ['in a folder that is shown', () => 'local/deep', 'local/deep/x/x'],
    ['among the attached files', () => 'data/files/deep', 'data/files/deep/x'],
    ['where nothing of a transport is', () => 'ju\u202enk', 'ju\\u202enk/x/x/x'],
  ];

describe('folders nested five thousand deep', () => {
  it.each(PLACES)(
    '%s leave the checkout where it is, and it goes on once they are gone',
    { tags: 'long' },
    async (_, pathOf, named) => {
      const { bus, host } = await machine();
      const [before, path] = [tipOf(bus), pathOf(host)];
      plant(bus.hub, { [path]: { mode: '040000', oid: chain(bus.hub, DEEP) } });
      const reason = `left as it is, ${REASON.replace('PATH', named ?? path)}`;
      const head = git(host.dir, 'rev-parse', 'HEAD');
      expect(await sync(host)).toBe(reason);
      expect(await sync(host, '--window', '7d')).toBe(`${reason}, messages of the last 7d`);
      expect(await sync(host)).toBe(`${reason}, messages of the last 7d`);
      expect(await sync(host, '--window', 'all')).toBe(reason);
      expect([lock(host), staged(host)]).toEqual([false, false]);
      expect(git(host.dir, 'rev-parse', 'HEAD')).toBe(head);
      expect(git(host.dir, 'status', '--porcelain')).toBe('');
      const question = await host.send('worker', 'are you there?');
      await host.once();
      expect((await host.run('replies', question)).out).toContain('answered');
      takeBack(bus, before);
      expect(await sync(host)).toBe('forwarded');
      expect(git(host.dir, 'rev-parse', 'HEAD')).toBe(git(bus.hub, 'rev-parse', 'main'));
      expect(git(host.dir, 'status', '--porcelain')).toBe('');
    },
  );

  it(
    'are found before the first files of a clone are brought, which come once they are gone',
    { tags: 'long' },
    async () => {
      const { bus, host } = await machine();
      const before = tipOf(bus);
      plant(bus.hub, { junk: { mode: '040000', oid: chain(bus.hub, DEEP) } });
      // The state of a clone that was created and not updated yet.
      git(host.dir, 'rm', '-r', '-f', '--quiet', '--sparse', '.');
      for (const path of ['index', 'refs/heads/main', 'info/sparse-checkout'])
        rmSync(join(host.dir, '.git', path), { force: true });
      for (const path of ['checkout.json', 'info/sparse-checkout'])
        rmSync(join(host.state, 'git', path), { force: true });
      expect(await sync(host)).toBe(`left as it is, ${REASON.replace('PATH', 'junk/x/x/x')}`);
      expect(lock(host)).toBe(false);
      takeBack(bus, before);
      expect(await sync(host)).toBe('forwarded');
      expect(git(host.dir, 'status', '--porcelain')).toBe('');
    },
  );
});

it('folders two hundred deep are brought into the checkout, one more are not', async () => {
  const { bus, host } = await machine();
  const before = tipOf(bus);
  const put = (levels: number): void => {
    plant(bus.hub, { 'local/deep': { mode: '040000', oid: chain(bus.hub, levels) } });
  };
  // `local` is one of them.
  put(200);
  expect(await sync(host)).toBe(`left as it is, ${REASON.replace('PATH', 'local/deep/x/x')}`);
  takeBack(bus, before);
  put(199);
  expect(await sync(host)).toBe('forwarded');
  expect(git(host.dir, 'status', '--porcelain')).toBe('');
  const file = `local/deep/${'x/'.repeat(198)}f.md`;
  expect(readFileSync(join(host.dir, file), 'utf8')).toBe('x\n');
  takeBack(bus, before);
  expect(await sync(host)).toBe('forwarded');
});

it('a folder that stands at too many places is named, and not taken for a million files', async () => {
  const { bus, host } = await machine();
  const before = tipOf(bus);
  const junk = nested(bus.hub, chain(bus.hub, 1), 10, 10);
  plant(bus.hub, { 'local/junk': { mode: '040000', oid: junk } });
  expect(await sync(host)).toMatch(
    /^left as it is, the same folder stands at too many places: local\/junk\/n\d\/n\d; the checkout goes on once that is removed from the bus$/,
  );
  takeBack(bus, before);
  expect(await sync(host)).toBe('forwarded');
});

it('a git that dies of a signal is said to have, and the checkout goes on when it no longer does', async () => {
  const { bus, host } = await machine();
  push(host, [['100644', 'new\n', 'local/new.md']]);
  const bin = join(bus.root, 'dying-bin');
  mkdirSync(bin);
  const realGit = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();
  const dying = (commands: string): Record<string, string | undefined> => {
    const script = `#!/bin/sh
case " $* " in ${commands}) kill -SEGV $$ ;; esac
exec '${realGit}' "$@"
`;
    writeFileSync(join(bin, 'git'), script);
    chmodSync(join(bin, 'git'), 0o755);
    return { ...host.env, PATH: `${bin}:${process.env['PATH'] ?? ''}` };
  };
  const said = async (commands: string): Promise<string> => {
    const program = new Program({ dir: host.dir, env: dying(commands) }, 'sync');
    expect(await program.ended()).toBe(0);
    return program.out;
  };
  const died = 'was ended by a signal, or gave up without a word';
  expect(await said('*" read-tree -m -u "*')).toContain(`left as it is, git read-tree ${died}\n`);
  expect([lock(host), staged(host)]).toEqual([false, false]);
  expect(await sync(host)).toBe('forwarded');
  expect(git(host.dir, 'status', '--porcelain')).toBe('');
});

describe('looking for deep folders', () => {
  async function looked(
    bus: Bus,
    from: string | undefined,
    shown: readonly string[],
  ): Promise<{ found: string | undefined; reads: number }> {
    const env = { ...process.env, CROSSTALK_STATE_DIR: `${bus.root}/hub-state` };
    const { transport } = await openTransport(bus.hub, env);
    try {
      const reads = transport.cost.reads;
      const { objects } = transport;
      const found = await deepFolder(
        new Git(bus.hub, process.env),
        objects,
        from,
        tipOf(bus),
        shown,
      );
      return { found, reads: transport.cost.reads - reads };
    } finally {
      transport.close();
    }
  }

  it('finds one that is made of parts which stand elsewhere', { tags: 'long' }, async () => {
    const { bus } = await machine();
    const from = tipOf(bus);
    const part = chain(bus.hub, 150);
    let long = part;
    for (let level = 0; level < 100; level++)
      long = tree(bus.hub, [{ mode: '040000', oid: long, name: 'y' }]);
    const folder = (oid: string): { mode: '040000'; oid: string } => ({ mode: '040000', oid });
    plant(bus.hub, { 'a/part': folder(part), 'b/part': folder(part), 'c/long': folder(long) });
    const { found, reads } = await looked(bus, from, ['data/channels', 'hosts']);
    expect(found).toMatch(/^c\/long\/y\/y/);
    // Each part once, however often it is met.
    expect(reads).toBeLessThan(2 * 151 + 100 + 10);
  });

  it('costs as much as the objects that are new, and a few reads where nothing but mail is', async () => {
    const { bus, host } = await machine();
    const from = tipOf(bus);
    const junk = nested(bus.hub, chain(bus.hub, 1), 10, 10);
    plant(bus.hub, { junk: { mode: '040000', oid: junk } });
    const shown = ['hosts', 'local', 'upstream', 'data/channels', 'data/memories'];
    const bomb = await looked(bus, from, shown);
    expect(bomb.found).toBeUndefined();
    expect(bomb.reads).toBeLessThan(20);
    const next = tipOf(bus);
    await host.send('nobody', 'hello');
    expect(await looked(bus, next, shown)).toEqual({ found: undefined, reads: 4 });
  });
});
