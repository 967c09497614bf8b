import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { openTransport } from '../../src/operations/context.ts';
import type { Commit, Transport } from '../../src/transport/transport.ts';
import { Bus } from '../support/bus.ts';
import { git } from '../support/git.ts';

const FOLDER = 'x/crowd';

function commit(names: readonly string[], content: (name: string) => string = String): Commit {
  return {
    author: { name: 'a', email: 'a@b' },
    at: new Date(0).toISOString(),
    subject: `${String(names.length)} files`,
    files: names.map((name) => ({ path: `${FOLDER}/${name}`, content: `${content(name)}\n` })),
  };
}

const many = (count: number, name: (n: number) => string): string[] =>
  Array.from({ length: count }, (_, n) => name(n));

/** A bus with a folder of 1,600 files and a folder in it, and a transport to publish by. */
async function crowd(): Promise<{ bus: Bus; dir: string; transport: Transport }> {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'true' });
  const { transport } = await openTransport(host.dir, { ...process.env, ...host.env });
  const names = [...many(1600, (n) => `m${String(n).padStart(20, '0')}`), 'm/inner', 'ü'];
  await published(transport, [commit(names)]);
  return { bus, dir: host.dir, transport };
}

async function published(transport: Transport, commits: Commit[]): Promise<void> {
  expect(await transport.publish([commits])).toMatchObject({ ok: true });
}

/** What is below the folder on the remote: path to content. */
function standing({ hub }: Bus): Map<string, string> {
  const lines = git(hub, 'ls-tree', '-r', '-z', 'main', `${FOLDER}/`).split('\0').slice(0, -1);
  const entries = lines.map((line) => /^100644 blob (\w+)\t(.*)$/s.exec(line) ?? []);
  const batch = execFileSync('git', ['-C', hub, 'cat-file', '--batch'], {
    input: entries.map(([, oid = '']) => `${oid}\n`).join(''),
    maxBuffer: 1 << 26,
  }).toString('utf8');
  const texts = batch.split('\n').filter((_, n) => n % 3 === 1);
  return new Map(
    entries.map(([, , path = ''], n) => [path.slice(FOLDER.length + 1), texts[n] ?? '']),
  );
}

/** Whether the tree of the folder was written by us, as an object of its own. */
function isOwn(bus: Bus, dir: string, commit = 'main'): boolean {
  const oid = git(bus.hub, 'rev-parse', `${commit}:${FOLDER}`).trim();
  return existsSync(join(dir, '.git', 'objects', oid.slice(0, 2), oid.slice(2)));
}

it('many files for a large folder come to stand in it, wherever their names belong', async () => {
  const { bus, dir, transport } = await crowd();
  const before = standing(bus);
  expect(before.size).toBe(1602);
  expect(isOwn(bus, dir)).toBe(false);
  // Before all others, around the folder `m`, which is sorted as `m/`, among the others, behind them, and of two bytes.
  const first = [
    ...many(120, (n) => `a${String(n)}`),
    ...['m!', 'm-1', 'm.', 'm.md', 'm0', 'm00000000000000000007a', 'mm', 'zz', 'ä', '€'],
  ];
  const second = many(130, (n) => `m${String(n * 11).padStart(20, '0')}.md`);
  await published(transport, [commit(first), commit(second)]);
  transport.close();
  const after = standing(bus);
  for (const name of [...first, ...second]) before.set(name, name);
  expect(new Map([...after].sort())).toEqual(new Map([...before].sort()));
  expect([isOwn(bus, dir), isOwn(bus, dir, 'main^')]).toEqual([true, true]);
  git(bus.hub, 'fsck', '--strict', '--no-dangling');
  const log = git(bus.hub, 'log', '--format=%s %an <%ae> %at', '-2', 'main').trim().split('\n');
  expect(log).toEqual(['130 files a <a@b> 0', '130 files a <a@b> 0']);
});

it(
  'a file that is there already, or a folder of such a name, is left to git',
  { tags: 'long' },
  async () => {
    const { bus, dir, transport } = await crowd();
    const expected = standing(bus);
    const replaced = [`m${'7'.padStart(20, '0')}`, ...many(100, (n) => `b${String(n)}`)];
    await published(transport, [commit(replaced, (name) => `new ${name}`)]);
    for (const name of replaced) expected.set(name, `new ${name}`);
    expect(standing(bus)).toEqual(expected);
    expect(isOwn(bus, dir)).toBe(false);
    // A file takes the place of a folder.
    const over = ['m', ...many(100, (n) => `c${String(n)}`)];
    await published(transport, [commit(over)]);
    transport.close();
    expected.delete('m/inner');
    for (const name of over) expected.set(name, name);
    expect(standing(bus).size).toBe(expected.size);
    expect(isOwn(bus, dir)).toBe(false);
    git(bus.hub, 'fsck', '--strict', '--no-dangling');
  },
);

it('a folder whose entries stand in an order that is not git’s is left to git', async () => {
  const { bus, transport } = await crowd();
  const listed = git(bus.hub, 'ls-tree', '-z', `main:${FOLDER}`).split('\0').slice(0, -1);
  const rows = listed.map((line) => /^0?(\d+) \w+ (\w+)\t(.*)$/s.exec(line) ?? []);
  // A stranger has put the last entry before all others.
  const raw = Buffer.concat(
    [...rows.slice(-1), ...rows.slice(0, -1)].flatMap(([, mode, oid = '', name]) => [
      Buffer.from(`${mode ?? ''} ${name ?? ''}\0`),
      Buffer.from(oid, 'hex'),
    ]),
  );
  const options = { input: raw, encoding: 'utf8' } as const;
  const odd = ['-C', bus.hub, 'hash-object', '-t', 'tree', '--literally', '-w', '--stdin'];
  const oid = execFileSync('git', odd, options).trim();
  const from = git(bus.hub, 'rev-parse', 'main').trim();
  const author = 's <s@s> 0 +0000';
  execFileSync('git', ['-C', bus.hub, 'fast-import', '--quiet', '--force'], {
    input: `commit refs/heads/main\nauthor ${author}\ncommitter ${author}\ndata 3\nodd\nfrom ${from}\nM 040000 ${oid} ${FOLDER}\n`,
  });
  expect(git(bus.hub, 'rev-parse', `main:${FOLDER}`).trim()).toBe(oid);
  const added = many(150, (n) => `n${String(n)}`);
  await published(transport, [commit(added)]);
  transport.close();
  for (const name of [added[0] ?? '', 'm/inner', 'ü'])
    git(bus.hub, 'cat-file', '-e', `main:${FOLDER}/${name}`);
  expect(standing(bus).size).toBe(1602 + 150);
});

it.each([
  ['emptied', ''],
  ['filled with zeros', '\0'.repeat(9000)],
])(
  'a tree of ours that a power failure has %s is written again',
  { tags: 'long' },
  async (_, left) => {
    const names = many(150, (n) => `n${String(n)}`);
    const whole = await crowd();
    await published(whole.transport, [commit(names)]);
    whole.transport.close();
    // The same files make the same tree on any bus.
    const tree = git(whole.bus.hub, 'rev-parse', `main:${FOLDER}`).trim();
    const { bus, dir, transport } = await crowd();
    const path = join(dir, '.git', 'objects', tree.slice(0, 2), tree.slice(2));
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, left);
    await published(transport, [commit(names)]);
    transport.close();
    expect(git(bus.hub, 'rev-parse', `main:${FOLDER}`).trim()).toBe(tree);
    git(bus.hub, 'fsck', '--strict', '--no-dangling');
  },
);

it('files of several folders, few files, and a folder that is emptied are left to git', async () => {
  const { bus, dir, transport } = await crowd();
  const { files, ...rest } = commit(many(150, (n) => `d${String(n)}`));
  const elsewhere = { path: 'x/other', content: 'other\n' };
  await published(transport, [{ ...rest, files: [...files, elsewhere] }]);
  await published(transport, [commit(many(50, (n) => `e${String(n)}`))]);
  await published(transport, [commit(many(150, (n) => `deeper/${String(n)}`))]);
  expect([standing(bus).size, isOwn(bus, dir)]).toEqual([1602 + 150 + 50 + 150, false]);
  await published(transport, [{ ...commit(many(150, (n) => `f${String(n)}`)), clear: FOLDER }]);
  transport.close();
  expect([standing(bus).size, isOwn(bus, dir)]).toEqual([150, false]);
  expect(git(bus.hub, 'cat-file', '-p', 'main:x/other')).toBe('other\n');
});
