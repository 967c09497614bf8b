import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Bus, type Host } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { Program } from '../support/process.ts';
import { push } from '../support/push.ts';

const realGit = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();

/**
 * Lets the git with which `crosstalk sync` moves the checkout kill that command; `around` is what
 * it does before.
 */
async function killedSync(host: Host, around: string, ...options: string[]): Promise<void> {
  const bin = join(host.bus.root, 'killing-bin');
  mkdirSync(bin, { recursive: true });
  const script = `#!/bin/sh
case " $* " in *" read-tree -m -u "*)
${around}
kill -9 $PPID
exit 1 ;;
esac
exec '${realGit}' "$@"
`;
  writeFileSync(join(bin, 'git'), script);
  chmodSync(join(bin, 'git'), 0o755);
  const env = { ...host.env, PATH: `${bin}:${process.env['PATH'] ?? ''}` };
  const killed = new Program({ dir: host.dir, env }, 'sync', ...options);
  expect(await killed.ended()).toBe('SIGKILL');
}

/** All of the work is done; only the branch was not moved yet. */
const WHOLE = `'${realGit}' "$@"`;
const NOTHING = ':';
/** The files of a `git read-tree` that was killed before it wrote its index. */
const PARTS = `cp "$GIT_INDEX_FILE" "$GIT_INDEX_FILE.before"
'${realGit}' "$@"
mv "$GIT_INDEX_FILE.before" "$GIT_INDEX_FILE"
cd "$GIT_WORK_TREE"
rm -f local/missing.md
printf 'aft' > local/part.md
printf 'ne' > local/new-part.md`;

const sync = async (host: Host): Promise<string> => (await host.run('sync')).out;
const read = (host: Host, path: string): string => readFileSync(join(host.dir, path), 'utf8');

it('a checkout whose process was killed before its branch could follow goes on with the next news', async () => {
  const host = await new Bus().host('front', { worker: 'true' });
  await sync(host);
  push(host, [['100755', 'one\n', 'local/a.md']]);
  await killedSync(host, WHOLE);
  expect(git(host.dir, 'status', '--porcelain')).not.toBe('');
  push(host, [['100644', 'two\n', 'local/b.md']]);
  expect(await sync(host)).toContain('Checkout: forwarded');
  expect(git(host.dir, 'status', '--porcelain')).toBe('');
  expect(git(host.dir, 'rev-parse', 'HEAD')).toBe(git(host.bus.hub, 'rev-parse', 'main'));
  expect([read(host, 'local/a.md'), read(host, 'local/b.md')]).toEqual(['one\n', 'two\n']);
});

it('a checkout that was killed with a part of its files written goes on with the next news', async () => {
  const host = await new Bus().host('front', { worker: 'true' });
  push(
    host,
    ['missing', 'part', 'whole', 'gone', 'later'].map(
      (name) => ['100644', 'before\n', `local/${name}.md`] as const,
    ),
  );
  await sync(host);
  push(host, [
    ...['missing', 'part', 'whole'].map(
      (name) => ['100644', 'after\n', `local/${name}.md`] as const,
    ),
    ['0', '', 'local/gone.md'],
    ['100644', 'new\n', 'local/new-part.md'],
    ['100644', 'new\n', 'local/new.md'],
  ]);
  await killedSync(host, PARTS);
  push(host, [
    ['100644', 'latest\n', 'local/whole.md'],
    ['100644', 'latest\n', 'local/later.md'],
    ['100644', 'latest\n', 'local/new-part.md'],
  ]);
  expect(await sync(host)).toContain('Checkout: forwarded');
  expect(git(host.dir, 'status', '--porcelain')).toBe('');
  expect(git(host.dir, 'rev-parse', 'HEAD')).toBe(git(host.bus.hub, 'rev-parse', 'main'));
  const names = ['missing', 'part', 'whole', 'later', 'new-part', 'new'];
  expect(names.map((name) => read(host, `local/${name}.md`))).toEqual(
    ['after', 'after', 'latest', 'latest', 'latest', 'new'].map((text) => `${text}\n`),
  );
  expect(existsSync(join(host.dir, 'local/gone.md'))).toBe(false);
});

it(
  'what an operator has written since a checkout was killed is kept, and named',
  { tags: 'long' },
  async () => {
    const host = await new Bus().host('front', { worker: 'true' });
    push(host, [
      ['100644', 'before\n', 'local/part.md'],
      ['100644', 'before\n', 'local/mine.md'],
    ]);
    await sync(host);
    push(host, [
      ['100644', 'after\n', 'local/part.md'],
      ['100644', 'after\n', 'local/mine.md'],
      ['100644', 'new\n', 'local/new-part.md'],
    ]);
    await killedSync(host, PARTS);
    writeFileSync(join(host.dir, 'local/mine.md'), 'mine\n');
    writeFileSync(join(host.dir, 'local/new-part.md'), 'mine too\n');
    expect(await sync(host)).toContain('it has uncommitted changes: local/mine.md');
    expect(read(host, 'local/mine.md')).toBe('mine\n');
    git(host.dir, 'checkout', '--', 'local/mine.md');
    expect(await sync(host)).toContain('in the way: local/new-part.md');
    expect(read(host, 'local/new-part.md')).toBe('mine too\n');
  },
);

it(
  'a checkout that was killed before it could show a wider window shows it the next time',
  { tags: 'long' },
  async () => {
    const host = await new Bus().host('front', { worker: 'true' });
    const old = `data/channels/${host.channel()}/2020/01/02/030405006Z-0123456789ab.md`;
    push(host, [['100644', 'old\n', old]]);
    await host.run('sync', '--window', '1d');
    expect(existsSync(join(host.dir, old))).toBe(false);
    await killedSync(host, NOTHING, '--window', 'all');
    await sync(host);
    expect(read(host, old)).toBe('old\n');
    expect(git(host.dir, 'status', '--porcelain')).toBe('');
  },
);

it(
  'the first files of a clone that was killed with a part of them written are brought',
  { tags: 'long' },
  async () => {
    const { bus } = await new Bus().host('front', { worker: 'true' });
    const host = await bus.host('back', { worker: 'true' });
    push(host, [
      ['100644', 'after\n', 'local/part.md'],
      ['100644', 'new\n', 'local/new-part.md'],
      ['100644', 'new\n', 'local/missing.md'],
    ]);
    // The state of a clone that was created and not updated yet.
    await host.news();
    git(host.dir, 'rm', '-r', '-f', '--quiet', '--sparse', '.');
    for (const path of ['index', 'refs/heads/main', 'info/sparse-checkout'])
      execFileSync('rm', ['-f', join(host.dir, '.git', path)]);
    for (const path of ['checkout.json', 'info/sparse-checkout'])
      execFileSync('rm', ['-f', join(host.state, 'git', path)]);
    await killedSync(
      host,
      PARTS.replace('cp "$GIT', 'touch "$GIT_INDEX_FILE.before"; : "$GIT').replace(
        'mv "$GIT_INDEX_FILE.before" "$GIT_INDEX_FILE"',
        'rm "$GIT_INDEX_FILE" "$GIT_INDEX_FILE.before"',
      ),
    );
    expect(await sync(host)).toContain('Checkout: forwarded');
    expect(git(host.dir, 'status', '--porcelain')).toBe('');
    expect(read(host, 'local/part.md')).toBe('after\n');
    expect(read(host, 'local/missing.md')).toBe('new\n');
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
    // A file that is not shown was left out of the index, and nothing was moved.
    await killedSync(host, NOTHING);
    expect(git(host.dir, 'diff', '--cached', '--name-only')).toBe('.mcp.json\n');
    await sync(host);
    expect(git(host.dir, 'status', '--porcelain')).toBe('?? .mcp.json\n');
    expect(read(host, '.mcp.json')).toBe('mine\n');
    expect(read(host, 'local/new.md')).toBe('new\n');
  },
);

it(
  'while another git is at work on the index, nothing of a move that goes on is taken back',
  { tags: 'long' },
  async () => {
    const host = await new Bus().host('front', { worker: 'true' });
    await sync(host);
    push(host, [['100644', 'new\n', 'local/new.md']]);
    await killedSync(host, PARTS);
    // The lock that another process of crosstalk would hold while it moves the checkout.
    const lock = join(host.dir, '.git', 'index.lock');
    writeFileSync(lock, '');
    expect(await sync(host)).toContain('index.lock exists');
    expect(read(host, 'local/new.md')).toBe('new\n');
    execFileSync('rm', [lock]);
    expect(await sync(host)).toContain('Checkout: forwarded');
    expect(git(host.dir, 'status', '--porcelain')).toBe('?? local/new-part.md\n?? local/part.md\n');
  },
);

it(
  'a checkout that cannot take the lock of the index takes nothing back that another has written',
  { tags: 'long' },
  async () => {
    const host = await new Bus().host('front', { worker: 'true' });
    await sync(host);
    push(host, [['100644', 'new\n', 'local/new.md']]);
    // Another process is first: its git holds the lock when ours asks for it, and finishes a moment
    // later.
    const bin = join(host.bus.root, 'racing-bin');
    mkdirSync(bin);
    writeFileSync(
      join(bin, 'git'),
      `#!/bin/sh
case " $* " in *" read-tree -m -u "*)
'${realGit}' "$@"
touch "$GIT_INDEX_FILE.lock"
'${realGit}' "$@"
code=$?
rm "$GIT_INDEX_FILE.lock"
exit $code ;;
esac
exec '${realGit}' "$@"
`,
    );
    chmodSync(join(bin, 'git'), 0o755);
    const env = { ...host.env, PATH: `${bin}:${process.env['PATH'] ?? ''}` };
    await new Program({ dir: host.dir, env }, 'sync').ended();
    expect(read(host, 'local/new.md')).toBe('new\n');
    expect(await sync(host)).toContain('Checkout: forwarded');
    expect(git(host.dir, 'status', '--porcelain')).toBe('');
  },
);
