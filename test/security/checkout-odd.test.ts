import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { findPipe } from '../../src/transport/checkout/pipes.ts';
import { moveIn, stampsOf } from '../../src/transport/checkout/staging.ts';
import { Bus, type Host } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { push } from '../support/push.ts';

const sync = async (host: Host): Promise<string> => (await host.run('sync')).out;
const read = (host: Host, path: string): string => readFileSync(join(host.dir, path), 'utf8');

/** Pushes one entry by the bytes of its path; a submodule names a commit that does not exist. */
function pushRaw(host: Host, mode: string, path: Buffer | string): void {
  const clone = mkdtempSync(join(host.bus.root, 'raw-pusher-'));
  git(clone, 'clone', '--quiet', '--no-checkout', host.bus.hub, '.');
  git(clone, 'read-tree', 'HEAD');
  const args = ['-C', clone, 'hash-object', '-w', '--stdin'];
  const oid = execFileSync('git', args, { input: 'theirs\n', encoding: 'utf8' }).trim();
  const line = Buffer.concat([
    Buffer.from(`${mode} ${oid}\t`),
    Buffer.from(path),
    Buffer.from([0]),
  ]);
  const index = ['-C', clone, 'update-index', '-z', '--index-info'];
  execFileSync('git', index, { input: line });
  git(clone, 'commit', '--quiet', '--message', 'odd');
  git(clone, 'push', '--quiet');
}

const submodule = (host: Host, path: string): void => {
  pushRaw(host, '160000', path);
};

it(
  'a repository that a run makes in the folder of a pushed submodule has nothing executed',
  { tags: 'long' },
  async () => {
    const host = await new Bus().host('front', { worker: 'true' });
    submodule(host, 'local/sub');
    expect(await sync(host)).toContain('Checkout: forwarded');
    const [inner, proof, script] = ['front/local/sub', 'proof', 'script'].map((name) =>
      join(host.bus.root, name),
    ) as [string, string, string];
    git(inner, 'init', '--quiet');
    git(inner, 'commit', '--quiet', '--allow-empty', '--message', 'inner');
    writeFileSync(script, `#!/bin/sh\necho executed > '${proof}'\nexit 1\n`);
    chmodSync(script, 0o755);
    git(inner, 'config', 'core.fsmonitor', script);
    git(inner, 'config', 'core.hooksPath', host.bus.root);
    push(host, [['100644', 'new\n', 'local/new.md']]);
    await sync(host);
    await host.run('doctor');
    expect(existsSync(proof)).toBe(false);
    // Somebody works in it, so it differs from what was pushed: it and the checkout are left
    // unchanged.
    rmSync(join(inner, '.git'), { recursive: true });
    expect(await sync(host)).toContain('Checkout: forwarded');
    expect(read(host, 'local/new.md')).toBe('new\n');
  },
);

it('an operator’s own files in the folder of a submodule survive its becoming a file or a folder', async () => {
  const host = await new Bus().host('front', { worker: 'true' });
  submodule(host, 'local/notes');
  await sync(host);
  writeFileSync(join(host.dir, 'local/notes/mine.md'), 'mine\n');
  push(host, [['100644', 'theirs\n', 'local/notes']]);
  expect(await sync(host)).toContain('is in the way: local/notes/mine.md');
  expect(read(host, 'local/notes/mine.md')).toBe('mine\n');
  push(host, [
    ['0', '', 'local/notes'],
    ['100644', 'theirs\n', 'local/notes/theirs.md'],
  ]);
  expect(await sync(host)).toContain('Checkout: forwarded');
  expect(read(host, 'local/notes/mine.md')).toBe('mine\n');
  expect(read(host, 'local/notes/theirs.md')).toBe('theirs\n');
});

it('an operator’s own file survives a file of its name that takes the place of a folder not shown', async () => {
  const host = await new Bus().host('front', { worker: 'true' });
  push(host, [['0', '', '.gitignore']]);
  await sync(host);
  writeFileSync(join(host.dir, '.gitignore'), 'mine\n');
  push(host, [['100644', 'theirs\n', '.gitignore/x']]);
  await sync(host);
  push(host, [
    ['0', '', '.gitignore/x'],
    ['100644', 'theirs\n', '.gitignore'],
  ]);
  expect(await sync(host)).toContain('is in the way: .gitignore');
  expect(read(host, '.gitignore')).toBe('mine\n');
});

it.skipIf(process.platform === 'darwin')(
  'a pushed name that is not UTF-8 replaces no file of the operator’s, and puts no executable one there',
  async () => {
    const host = await new Bus().host('front', { worker: 'true' });
    await sync(host);
    mkdirSync(join(host.dir, 'local'), { recursive: true });
    const odd = Buffer.from('local/caf\xe9', 'latin1');
    const mine = Buffer.concat([Buffer.from(`${host.dir}/`), odd]);
    writeFileSync(mine, 'mine\n');
    pushRaw(host, '100755', odd);
    expect(await sync(host)).toContain('left as it is, a name on the bus is not UTF-8: local/caf');
    expect(readFileSync(mine, 'utf8')).toBe('mine\n');
    rmSync(mine);
    await sync(host);
    expect(existsSync(mine)).toBe(false);
    // Once it is removed, the checkout continues.
    pushRaw(host, '0', odd);
    push(host, [['100644', 'new\n', 'local/new.md']]);
    expect(await sync(host)).toContain('Checkout: forwarded');
    expect(read(host, 'local/new.md')).toBe('new\n');
  },
);

it('a named pipe that a run puts into the checkout is named, and not waited for again', async () => {
  const host = await new Bus().host('front', { worker: 'true' });
  push(host, [['100644', 'before\n', 'local/a.md']]);
  await sync(host);
  const pipe = join(host.dir, 'local', '.gitattributes');
  execFileSync('mkfifo', [pipe]);
  push(host, [['100644', 'after\n', 'local/a.md']]);
  // This happens after a git has timed out, which takes a minute.
  expect(await findPipe(host.dir, join(host.state, 'git'))).toContain(`${pipe} is a named pipe`);
  expect(await sync(host)).toContain(`left as it is, ${pipe} is a named pipe`);
  rmSync(pipe);
  expect(await sync(host)).toContain('Checkout: forwarded');
  expect(read(host, 'local/a.md')).toBe('after\n');
  expect(git(host.dir, 'status', '--porcelain')).toBe('');
});

it('a change of the operator’s in a file that git is told to assume unchanged is kept', async () => {
  const host = await new Bus().host('front', { worker: 'true' });
  push(host, [
    ['100644', 'one\n', 'local/changed.md'],
    ['100644', 'one\n', 'local/removed.md'],
    ['100644', 'one\n', 'local/clean.md'],
  ]);
  await sync(host);
  const flagged = ['local/changed.md', 'local/removed.md', 'local/clean.md'];
  git(host.dir, 'update-index', '--assume-unchanged', ...flagged);
  push(host, [['100644', 'two\n', 'local/clean.md']]);
  expect(await sync(host)).toContain('Checkout: forwarded');
  expect(read(host, 'local/clean.md')).toBe('two\n');
  for (const [path, entry] of [
    ['local/changed.md', ['100644', 'two\n', 'local/changed.md']],
    ['local/removed.md', ['0', '', 'local/removed.md']],
  ] as const) {
    writeFileSync(join(host.dir, path), 'mine\n');
    push(host, [[...entry]]);
    expect(await sync(host)).toContain(`uncommitted changes: ${path}`);
    expect(read(host, path)).toBe('mine\n');
    writeFileSync(join(host.dir, path), 'one\n');
    expect(await sync(host)).toContain('Checkout: forwarded');
  }
});

it('what the operator makes or changes after git has looked is not overwritten or removed', async () => {
  const root = new Bus().root;
  const [tree, dir] = [join(root, 'tree'), join(root, 'dir')];
  for (const folder of [tree, dir]) mkdirSync(folder);
  const staging = { tree, index: '', stamp: '' };
  const file = join(dir, 'a.md');
  const old = { replaced: new Set(['a.md']), gone: new Set<string>() };
  writeFileSync(file, 'theirs\n');
  const seen = stampsOf(dir, old);
  writeFileSync(join(tree, 'a.md'), 'arrives\n');
  const paths = ['a.md'];
  writeFileSync(file, 'mine!!\n');
  expect(await moveIn(staging, dir, { gone: [], seen, paths })).toBe(false);
  expect(await moveIn(staging, dir, { gone: paths, seen, paths: [] })).toBe(false);
  expect(await moveIn(staging, dir, { gone: [], seen: new Map(), paths })).toBe(false);
  expect(readFileSync(file, 'utf8')).toBe('mine!!\n');
  expect(await moveIn(staging, dir, { gone: [], seen: stampsOf(dir, old), paths })).toBe(true);
  expect(readFileSync(file, 'utf8')).toBe('arrives\n');
});

it('a folder on another disk than the git directory loses no file of any name', async ({
  skip,
}) => {
  const dir = new Bus().root;
  const device = (path: string): number | undefined =>
    statSync(path, { throwIfNoEntry: false })?.dev;
  const disk = ['/dev/shm', '/var/tmp'].find(
    (path) => existsSync(path) && device(path) !== device(dir),
  );
  if (disk === undefined) return skip('there is only one disk');
  const tree = mkdtempSync(join(disk, 'crosstalk-'));
  try {
    writeFileSync(join(tree, 'a.md'), 'arrives\n');
    writeFileSync(join(dir, 'a.md.crosstalk'), 'mine\n');
    const before = readdirSync(dir);
    const moved = { gone: [], seen: new Map<string, string>(), paths: ['a.md'] };
    expect(await moveIn({ tree, index: '', stamp: '' }, dir, moved)).toBe(true);
    expect(readFileSync(join(dir, 'a.md'), 'utf8')).toBe('arrives\n');
    expect(readFileSync(join(dir, 'a.md.crosstalk'), 'utf8')).toBe('mine\n');
    expect(readdirSync(dir).sort()).toEqual([...before, 'a.md'].sort());
  } finally {
    rmSync(tree, { recursive: true });
  }
});
