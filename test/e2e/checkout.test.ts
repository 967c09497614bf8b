import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Bus, type Host } from '../support/bus.ts';
import { git } from '../support/git.ts';

/** Everything that git and the file system report about a checkout, apart from what was fetched. */
function picture(dir: string): unknown {
  return {
    head: git(dir, 'rev-parse', 'HEAD'),
    branches: git(dir, 'for-each-ref', '--format=%(refname) %(objectname)', 'refs/heads/'),
    status: git(dir, 'status', '--porcelain=v2', '--branch').replace(/^# branch\.ab.*\n/m, ''),
    index: git(dir, 'ls-files', '--stage'),
    rebase: git(dir, 'status').includes('rebase in progress'),
    note: readFileSync(join(dir, 'note.md'), 'utf8'),
    untracked: readFileSync(join(dir, 'untracked.md'), 'utf8'),
  };
}

it('a checkout that is dirty, on another branch and in the middle of a conflicting rebase stops nothing and stays as it is', async () => {
  const bus = new Bus();
  const front = await bus.host('front', { concierge: 'echo from front' });
  const back = await bus.host('back', { worker: 'echo from back' });
  const { dir } = back;
  writeFileSync(join(dir, 'note.md'), 'one\n');
  git(dir, 'add', 'note.md');
  git(dir, 'commit', '--quiet', '-m', 'one');
  git(dir, 'checkout', '--quiet', '-b', 'other');
  writeFileSync(join(dir, 'note.md'), 'two\n');
  git(dir, 'commit', '--quiet', '-am', 'two');
  git(dir, 'checkout', '--quiet', 'main');
  writeFileSync(join(dir, 'note.md'), 'three\n');
  git(dir, 'commit', '--quiet', '-am', 'three');
  git(dir, 'checkout', '--quiet', 'other');
  expect(() => git(dir, 'rebase', '--quiet', 'main')).toThrow();
  writeFileSync(join(dir, 'untracked.md'), 'mine\n');
  writeFileSync(join(dir, 'CLAUDE.md'), 'edited\n');
  const before = picture(dir);

  const running = back.start();
  const question = await front.send('worker', 'are you there?');
  expect((await front.run('replies', '--wait', '--timeout', '100', question)).out).toContain(
    'from back',
  );
  const fromBack = await back.send('concierge', 'and you?');
  await front.once();
  expect((await back.run('replies', '--wait', '--timeout', '100', fromBack)).out).toContain(
    'from front',
  );
  await back.run('channel', 'create', 'another');
  await back.run('sync');
  await running.stop();

  expect(picture(dir)).toEqual(before);
});

it(
  'a clean checkout on the branch is fast-forwarded, so that files can be read there',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const front = await bus.host('front', { worker: 'echo done' });
    const sent = await front.send('worker', 'hello');
    expect(readFileSync(join(front.dir, 'data/channels', front.channel(), sent), 'utf8')).toContain(
      'hello',
    );
    await front.once();
    const [reply] = bus.from('worker');
    expect(git(front.dir, 'status', '--porcelain')).toBe('');
    expect(
      readFileSync(join(front.dir, 'data/channels', front.channel(), reply?.relPath ?? ''), 'utf8'),
    ).toContain('done');
  },
);

/** Replaces the history of the bus by another one, as anybody who can push may. */
function rewrite(host: Host): void {
  const clone = mkdtempSync(join(host.bus.root, 'rewriter-'));
  git(clone, 'clone', '--quiet', host.bus.hub, '.');
  git(clone, 'checkout', '--quiet', '--orphan', 'other');
  writeFileSync(join(clone, 'local', 'rewritten.md'), 'rewritten\n');
  git(clone, 'add', '--all');
  git(clone, 'commit', '--quiet', '--message', 'another history');
  git(clone, 'push', '--quiet', '--force', 'origin', 'HEAD:main');
}

it('a checkout follows a history that was rewritten, unless it has commits that never were on the bus', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'true' });
  host.edit({ 'local/kept.md': 'kept\n' });
  const before = git(host.dir, 'rev-parse', 'HEAD').trim();
  await host.run('sync');
  // News that the checkout has not seen lie between the two histories.
  host.edit({ 'local/unseen.md': 'unseen\n' });
  rewrite(host);
  expect((await host.run('sync')).out).toContain('Checkout: forwarded');
  expect(git(host.dir, 'status', '--porcelain')).toBe('');
  expect(git(host.dir, 'rev-parse', 'HEAD')).toBe(git(bus.hub, 'rev-parse', 'main'));
  expect(readFileSync(join(host.dir, 'local', 'rewritten.md'), 'utf8')).toBe('rewritten\n');
  expect(git(host.dir, 'reflog', 'main')).toContain('crosstalk: follow another history');
  expect(git(host.dir, 'rev-list', 'main@{1}')).toContain(before);

  writeFileSync(join(host.dir, 'local', 'mine.md'), 'mine\n');
  git(host.dir, 'add', 'local/mine.md');
  git(host.dir, 'commit', '--quiet', '--message', 'mine');
  const mine = git(host.dir, 'rev-parse', 'HEAD');
  rewrite(host);
  expect((await host.run('sync')).out).toContain('it has commits that are not on the bus');
  expect(git(host.dir, 'rev-parse', 'HEAD')).toBe(mine);
});

it.each([
  ['a merge that begins', (dir: string) => `cp "${dir}/.git/HEAD" "${dir}/.git/MERGE_HEAD"`],
  ['a branch that is left', (dir: string) => `echo ref: refs/heads/other > "${dir}/.git/HEAD"`],
  [
    'a symlink in the place of a folder',
    (dir: string) =>
      `set -- "${dir}"/data/channels/*; mv "$1" "${dir}/moved" && ln -s ../../moved "$1"`,
  ],
])(
  '%s while a message is pushed holds up its checkout as at any other time',
  { tags: 'long' },
  async (_, change) => {
    const host = await new Bus().host('front', { worker: 'echo done' });
    await host.send('worker', 'first');
    const head = git(host.dir, 'rev-parse', 'refs/heads/main');
    // The checkout is planned while the push is under way; the hub takes its time for that.
    const hook = join(host.bus.hub, 'hooks/pre-receive');
    mkdirSync(join(host.bus.hub, 'hooks'), { recursive: true });
    writeFileSync(hook, `#!/bin/sh\nsleep 0.5\n${change(host.dir)}\n`, { mode: 0o755 });
    const sent = await host.send('worker', 'second', '--new');
    rmSync(hook);
    expect(git(host.bus.hub, 'ls-tree', '-r', '--name-only', 'main')).toContain(sent);
    expect(git(host.dir, 'rev-parse', 'refs/heads/main')).toBe(head);
  },
);

it('others than the operator may read the index as before', async () => {
  const host = await new Bus().host('front', { worker: 'true' });
  const index = join(host.dir, '.git/index');
  for (const [umask, mode] of [
    [0o022, 0o644],
    [0o007, 0o660],
  ] as const) {
    const before = process.umask(umask);
    try {
      host.edit({ 'local/a.md': String(umask) });
      expect((await host.run('sync')).out).toContain('Checkout: forwarded');
    } finally {
      process.umask(before);
    }
    expect(statSync(index).mode & 0o777).toBe(mode);
  }
});

it("what differs by the line ends of the operator's git alone is no change, and anything else is one", async () => {
  const host = await new Bus().host('front', { worker: 'true' });
  const files = { 'local/a.md': 'one\ntwo\n', 'local/b.md': 'one\ntwo\n' };
  host.edit(files);
  await host.run('sync');
  git(host.dir, 'config', 'core.autocrlf', 'true');
  for (const path of Object.keys(files)) {
    rmSync(join(host.dir, path));
    git(host.dir, 'checkout', '--', path);
    expect(readFileSync(join(host.dir, path), 'utf8')).toBe('one\r\ntwo\r\n');
    utimesSync(join(host.dir, path), 1, 1);
  }
  host.edit({ 'local/a.md': 'three\n' });
  expect((await host.run('sync')).out).toContain('Checkout: forwarded');
  expect(readFileSync(join(host.dir, 'local/a.md'), 'utf8')).toBe('three\n');
  expect(git(host.dir, 'status', '--porcelain')).toBe('');
  writeFileSync(join(host.dir, 'local/b.md'), 'one\r\ntwo\r\nmine\r\n');
  host.edit({ 'local/b.md': 'three\n' });
  expect((await host.run('sync')).out).toContain('uncommitted changes: local/b.md');
});
