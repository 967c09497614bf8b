import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { Bus } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { push } from '../support/push.ts';

const SETTINGS = [
  '.claude/settings.json',
  '.mcp.json',
  'opencode.json',
  '.opencode/plugin/x.js',
  '.gemini/settings.json',
  '.codex/config.toml',
  '.pi/settings.json',
  '.envrc',
  '.gitattributes',
  '.gitmodules',
  'GEMINI.md',
  'data/.claude/settings.json',
  'data/files/ab/cd',
  'data/note.md',
  'bin/tool',
];

it('the checkout shows the paths of a transport only, and what else arrives is said', async () => {
  const host = await new Bus().host('front', { worker: 'echo done' });
  await host.once();
  push(host, [
    ...SETTINGS.map((path) => ['100644', '{}\n', path] as const),
    ['100644', 'shown\n', 'local/skills/x.md'],
  ]);
  const log = await host.once();
  for (const path of SETTINGS)
    expect([path, existsSync(join(host.dir, path))]).toEqual([path, false]);
  expect(readFileSync(join(host.dir, 'local/skills/x.md'), 'utf8')).toBe('shown\n');
  expect(git(host.dir, 'status', '--porcelain')).toBe('');
  const said = log.filter(({ event }) => event === 'foreign_path').map(({ path }) => path);
  expect(said).toContain('.claude');
  expect(said).toContain('data/note.md');
  expect((await host.run('doctor')).out).toContain('not shown, since nothing of a transport');
  // The operator's own git respects this.
  push(host, [['100644', '{}\n', '.cursor/rules']]);
  git(host.dir, 'pull', '--quiet');
  expect(existsSync(join(host.dir, '.cursor'))).toBe(false);
  // Delivery continues.
  const question = await host.send('worker', 'still there?');
  await host.once();
  expect((await host.run('replies', question)).out).toContain('  done');
});

it('files that 6.0.0 has put into a checkout are taken away with the next news', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'true' });
  push(host, [['100644', '{}\n', '.mcp.json']]);
  git(host.dir, 'sparse-checkout', 'disable');
  git(host.dir, 'pull', '--quiet');
  expect(existsSync(join(host.dir, '.mcp.json'))).toBe(true);
  await host.send('nobody', 'news');
  await host.run('sync');
  expect(existsSync(join(host.dir, '.mcp.json'))).toBe(false);
  expect(git(host.dir, 'status', '--porcelain')).toBe('');
});

it('what arrives is a plain file: no symlink, no executable bit, whatever git is told of modes', async () => {
  const host = await new Bus().host('front', { worker: 'true' });
  git(host.dir, 'config', 'core.fileMode', 'false');
  await host.once();
  push(host, [
    ['100755', '#!/bin/sh\n', 'local/run.sh'],
    ['100755', '#!/bin/sh\n', 'CLAUDE.md'],
    ['120000', '/etc/passwd', 'local/link'],
  ]);
  await host.once();
  for (const path of ['local/run.sh', 'CLAUDE.md'])
    expect([path, lstatSync(join(host.dir, path)).mode & 0o111]).toEqual([path, 0]);
  expect(lstatSync(join(host.dir, 'local/link')).isSymbolicLink()).toBe(false);
});

it('an operator’s own files in the checkout are not touched, wherever they are', async () => {
  const host = await new Bus().host('front', { worker: 'true' });
  mkdirSync(join(host.dir, 'local'), { recursive: true });
  writeFileSync(join(host.dir, '.mcp.json'), 'mine\n');
  writeFileSync(join(host.dir, 'local', 'mine.md'), 'mine\n');
  push(host, [
    ['100644', 'theirs\n', '.mcp.json'],
    ['100644', 'theirs\n', 'local/mine.md'],
  ]);
  await host.once();
  expect(readFileSync(join(host.dir, '.mcp.json'), 'utf8')).toBe('mine\n');
  expect(readFileSync(join(host.dir, 'local', 'mine.md'), 'utf8')).toBe('mine\n');
});

it(
  'an operator’s own file in the place of a folder that arrives is not replaced by it',
  { tags: 'long' },
  async () => {
    const host = await new Bus().host('front', { worker: 'true' });
    await host.once();
    const [file, link, inside] = ['plans', 'linked', 'notes/mine.md'].map((name) =>
      join(host.dir, 'local', name),
    ) as [string, string, string];
    const elsewhere = mkdtempSync(join(host.bus.root, 'elsewhere-'));
    mkdirSync(join(host.dir, 'local'), { recursive: true });
    writeFileSync(file, 'mine\n');
    symlinkSync(elsewhere, link);
    push(host, [['100644', 'theirs\n', 'local/plans/x.md']]);
    await host.once();
    expect(readFileSync(file, 'utf8')).toBe('mine\n');
    rmSync(file);
    push(host, [['100644', 'theirs\n', 'local/linked/x.md']]);
    await host.once();
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    rmSync(link);
    push(host, [['100644', 'theirs\n', 'local/notes/x.md']]);
    await host.once();
    // A folder of the bus that becomes a file is replaced, unless it contains a file of the
    // operator's.
    writeFileSync(inside, 'mine\n');
    push(host, [
      ['0', '', 'local/notes/x.md'],
      ['100644', 'theirs\n', 'local/notes'],
    ]);
    await host.once();
    expect(readFileSync(inside, 'utf8')).toBe('mine\n');
    rmSync(inside);
    await host.once();
    expect(readFileSync(join(host.dir, 'local', 'notes'), 'utf8')).toBe('theirs\n');
  },
);

it('an operator’s own file is kept where the bus has one that is not shown, whatever git is told', async () => {
  const host = await new Bus().host('front', { worker: 'true' });
  await host.once();
  git(host.dir, 'config', '--global', 'sparse.expectFilesOutsideOfPatterns', 'true');
  try {
    push(host, [['100644', 'theirs\n', '.mcp.json']]);
    await host.once();
    writeFileSync(join(host.dir, '.mcp.json'), 'mine\n');
    push(host, [['0', '', '.mcp.json']]);
    await host.once();
    expect(readFileSync(join(host.dir, '.mcp.json'), 'utf8')).toBe('mine\n');
  } finally {
    git(host.dir, 'config', '--global', '--unset', 'sparse.expectFilesOutsideOfPatterns');
  }
});

it('an operator’s own file with the path of one that is not shown keeps the checkout from nothing', async () => {
  const host = await new Bus().host('front', { worker: 'true' });
  await host.once();
  const own = ['.mcp.json', '.claude/settings.json', 'data/files/ab/cd'];
  for (const path of own) {
    mkdirSync(dirname(join(host.dir, path)), { recursive: true });
    writeFileSync(join(host.dir, path), 'mine\n');
  }
  const pushed = async (mode: string, content: string, shown: string): Promise<void> => {
    push(host, [
      ...own.map((path) => [mode, content, path] as const),
      ['100644', shown, 'local/shown.md'],
    ]);
    expect((await host.run('sync')).out).toContain('Checkout: forwarded');
    expect(readFileSync(join(host.dir, 'local/shown.md'), 'utf8')).toBe(shown);
    expect(git(host.dir, 'diff', '--cached', '--name-only')).toBe('');
    for (const path of own) expect(readFileSync(join(host.dir, path), 'utf8')).toBe('mine\n');
  };
  await pushed('100644', 'theirs\n', 'one\n');
  await pushed('100644', 'theirs again\n', 'two\n');
  await pushed('0', '', 'three\n');
  await pushed('100644', 'theirs\n', 'four\n');
  expect((await host.run('doctor')).out).toMatch(/checkout: current/);
  // A change of a shown file is the operator's work, and is reported by name.
  writeFileSync(join(host.dir, 'local/shown.md'), 'edited\n');
  push(host, [['100644', 'five\n', 'local/shown.md']]);
  expect((await host.run('sync')).out).toContain('it has uncommitted changes: local/shown.md');
});

it(
  'a push that the file system does not take leaves the checkout as it was, and it follows again',
  { tags: 'long' },
  async () => {
    const host = await new Bus().host('front', { worker: 'true' });
    push(host, [
      ['100644', 'before\n', 'local/a.md'],
      ['100644', 'before\n', 'local/b.md'],
    ]);
    await host.once();
    const long = `local/x${'y'.repeat(300)}`;
    push(host, [
      ['100644', 'after\n', 'local/a.md'],
      ['0', '', 'local/b.md'],
      ['100644', 'new\n', 'local/c.md'],
      ['100644', 'new\n', long],
    ]);
    await host.once();
    expect(git(host.dir, 'status', '--porcelain')).toBe('');
    expect(readFileSync(join(host.dir, 'local', 'a.md'), 'utf8')).toBe('before\n');
    push(host, [['0', '', long]]);
    await host.once();
    expect(readFileSync(join(host.dir, 'local', 'a.md'), 'utf8')).toBe('after\n');
    expect(existsSync(join(host.dir, 'local', 'b.md'))).toBe(false);
    expect(readFileSync(join(host.dir, 'local', 'c.md'), 'utf8')).toBe('new\n');
  },
);

it('a small push that stands for hundreds of megabytes leaves the checkout where it is, and mail goes on', async () => {
  const host = await new Bus().host('front', { worker: 'echo done' });
  await host.once();
  const before = git(host.dir, 'rev-parse', 'HEAD');
  const big = 'x'.repeat(1024 * 1024);
  push(
    host,
    Array.from({ length: 300 }, (_, n) => ['100644', big, `local/bulk/${String(n)}.md`] as const),
  );
  const question = await host.send('worker', 'still there?');
  await host.once();
  expect((await host.run('replies', question)).out).toContain('  done');
  expect(existsSync(join(host.dir, 'local/bulk'))).toBe(false);
  expect(git(host.dir, 'rev-parse', 'HEAD')).toBe(before);
  expect((await host.run('doctor')).out).toMatch(
    /warn +checkout: the checkout is left as it is: it would hold \d+ files of 30\d MiB/,
  );
});
