import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import {
  formatMemory,
  memoryFileAt,
  parseMemory,
  type Memory,
} from '../../src/protocol/files/memory.ts';
import { Bus, type Host } from '../support/bus.ts';
import type { Ran } from '../support/command.ts';
import { git } from '../support/git.ts';

interface Listed {
  file: string;
  from: string;
  subject: string;
  scope: string;
  channel: string | null;
  alias: string[];
  supersedes: string | null;
  superseded_by: string | null;
  queued: boolean;
}

async function add(host: Host, subject: string, ...options: string[]): Promise<string> {
  const ran = await host.run('memory', 'add', '--subject', subject, ...options, `about ${subject}`);
  const file = /^Remembered: (.+)\n$/.exec(ran.out)?.[1];
  if (file === undefined) throw new Error(`memory add: ${ran.out}${ran.err}`);
  return file;
}

async function listed(host: Host, ...options: string[]): Promise<Listed[]> {
  return JSON.parse((await host.run('memory', 'list', '--json', ...options)).out) as Listed[];
}

const subjects = (memories: readonly Listed[]): string[] =>
  memories.map(({ subject }) => subject).sort();
const suffix = (file: string): string => file.slice(20, -3);
const refused = (ran: Ran): [number, string, number] => [
  ran.code,
  ran.err,
  ran.err.trim().split('\n').length,
];

/** A note written by hand: its file name and its text. */
function note(n: number, fields: Partial<Memory> = {}): [file: string, text: string] {
  const file = memoryFileAt(new Date(Date.UTC(2026, 0, 1, 0, n)), n.toString(16).padStart(8, '0'));
  const text = formatMemory({
    from: 'hand',
    timestamp: '2026-01-01T00:00:00.000Z',
    subject: `note ${String(n)}`,
    scope: 'global',
    supersedes: [],
    alias: [],
    extra: {},
    body: `body ${String(n)}\n`,
    ...fields,
  });
  return [file, text];
}

/** Commits notes to the transport by hand. */
function write(host: Host, notes: readonly [string, string | Buffer][]): void {
  host.edit(Object.fromEntries(notes.map(([file, text]) => [`data/memories/${file}`, text])));
}

/** A folder's files with their bytes. */
function folder(dir: string): Record<string, string> {
  return Object.fromEntries(
    readdirSync(dir)
      .sort()
      .map((name) => [name, readFileSync(join(dir, name)).toString('base64')]),
  );
}

it('what one machine remembers, every other one lists and shows', { tags: 'long' }, async () => {
  const bus = new Bus();
  const front = await bus.host('front', { worker: 'echo never' });
  const back = await bus.host('back', {});
  const before = git(bus.hub, 'rev-list', '--count', 'main').trim();
  const file = await add(
    front,
    'Releases go out on Tuesdays',
    '--alias',
    'deploy',
    '--alias',
    'release train',
    '--from',
    'anna',
  );
  expect(Number(git(bus.hub, 'rev-list', '--count', 'main'))).toBe(Number(before) + 1);
  expect(git(bus.hub, 'show', '--format=%an', '--name-only', 'main').trim().split(/\n+/)).toEqual([
    'anna',
    `data/memories/${file}`,
  ]);
  const stored = parseMemory(git(bus.hub, 'show', `main:data/memories/${file}`));
  expect(stored).toMatchObject({
    ok: true,
    value: {
      from: 'anna',
      subject: 'Releases go out on Tuesdays',
      scope: 'global',
      alias: ['deploy', 'release train'],
      body: 'about Releases go out on Tuesdays',
    },
  });

  const list = await back.run('memory', 'list');
  expect([list.code, list.err]).toEqual([0, '']);
  expect(list.out).toMatch(
    new RegExp(
      `^${suffix(file)}  \\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d  anna  global  Releases go out on Tuesdays\\n$`,
    ),
  );
  for (const name of [file, suffix(file), suffix(file).slice(0, 6), `data/memories/${file}`]) {
    const { out } = await back.run('memory', 'show', name);
    expect(out).toMatch(/^alias +deploy\nalias +release train$/m);
    expect(out.endsWith('\n\nabout Releases go out on Tuesdays\n')).toBe(true);
  }
  const json = JSON.parse((await back.run('memory', 'show', file, '--json')).out) as unknown;
  expect(json).toMatchObject({ file, body: 'about Releases go out on Tuesdays', queued: false });

  // It is not a message: nobody is woken, and nothing is malformed.
  expect((await front.once()).map(({ event }) => event)).not.toContain('dispatch_start');
  expect(JSON.parse((await front.run('status', '--json')).out)).toMatchObject({ malformed: [] });
});

it(
  'a note goes through the dispatcher that runs, and out of a dispatch under its actor’s name',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const front = await bus.host('front', {
      worker: 'cat > /dev/null; crosstalk memory add --subject learned "in a run" >&2; echo done',
    });
    const running = front.start();
    await running.saw('tick');
    await add(front, 'by hand');
    await running.saw('push_done');
    await front.send('worker', 'learn');
    await running.saw('dispatch_done');
    const memories = await listed(front);
    expect(subjects(memories)).toEqual(['by hand', 'learned']);
    expect(memories.find(({ subject }) => subject === 'learned')?.from).toBe('worker');
  },
);

it(
  'the text comes from the argument, from stdin or from a file, as for send',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', {});
    writeFileSync(join(bus.root, 'text.md'), '# From a file\r\n');
    const args = ['memory', 'add', '--subject', 's'];
    await host.runWith({ stdin: '---\nfrom: x\n---\n' }, ...args, '-');
    await host.runWith({ stdin: 'piped\n' }, ...args);
    await host.run(...args, '--file', 'text.md');
    const bodies = await Promise.all(
      (await listed(host)).map(async ({ file }) => {
        const { out } = await host.run('memory', 'show', file, '--json');
        return (JSON.parse(out) as { body: string }).body;
      }),
    );
    expect(bodies.sort()).toEqual(['# From a file\r\n', '---\nfrom: x\n---\n', 'piped\n']);
  },
);

it('says what is wrong with a note, and writes none', async () => {
  const bus = new Bus();
  const host = await bus.host('front', {});
  const [first, second] = [note(1)[0], note(2)[0].replace('00000002', '00000009')];
  write(host, [
    [first, note(1)[1]],
    [second, note(2)[1]],
  ]);
  const tip = git(bus.hub, 'rev-parse', 'main');
  const big = 'x'.repeat(1024 * 1024);
  for (const [args, stdin, code, said] of [
    [['--subject', ' ', 'x'], undefined, 2, '--subject is " ", expected one line'],
    [['--subject', 'a\nb', 'x'], undefined, 2, 'expected one line'],
    [['--subject', 's', '--alias', '', 'x'], undefined, 2, '--alias is "", expected a word'],
    [['--subject', 's', '--from', 'a b', 'x'], undefined, 2, 'is not a name'],
    [['--subject', 's'], ' \n', 2, 'the note is empty'],
    [['--subject', 's', '--file', 'none.md'], undefined, 2, '--file none.md cannot be read'],
    [['--subject', 's', '--file', 'x', 'y'], undefined, 2, 'both a text and --file'],
    [['--subject', 's'], big, 2, 'more than the limit of 1 MiB'],
    [['--subject', 's', '--scope', 'nowhere', 'x'], undefined, 1, 'no channel "nowhere"'],
    [['--subject', 's', '--supersedes', 'abcdabcd', 'x'], undefined, 1, 'no note "abcdabcd"'],
    [['--subject', 's', '--supersedes', '0000', 'x'], undefined, 1, 'several notes match'],
    [['--subject', 's', '--supersedes', '../x', 'x'], undefined, 2, 'is no note: expected'],
  ] as const) {
    const options = stdin === undefined ? {} : { stdin };
    const ran = await host.runWith(options, 'memory', 'add', ...args);
    expect(refused(ran)).toEqual([code, expect.stringContaining(said), 1]);
    expect(ran.out).toBe('');
  }
  expect(git(bus.hub, 'rev-parse', 'main')).toBe(tip);
});

it(
  'a list is for one channel and everybody, or for everybody alone',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', {});
    const id = (await host.run('channel', 'create', 'release')).out.trim();
    await add(host, 'everywhere');
    await add(host, 'there', '--scope', 'release');
    await add(host, 'there too', '--scope', id.slice(0, 13));
    await add(host, 'here', '--scope', host.channel());
    expect(subjects(await listed(host))).toEqual(['everywhere', 'here', 'there', 'there too']);
    expect(subjects(await listed(host, '--scope', id))).toEqual([
      'everywhere',
      'there',
      'there too',
    ]);
    expect(subjects(await listed(host, '--scope', 'global'))).toEqual(['everywhere']);
    const { out } = await host.run('memory', 'list', '--scope', 'release');
    expect(out).toMatch(/ {2}release {2}there too$/m);
    const there = (await listed(host)).find(({ subject }) => subject === 'there');
    expect(there).toMatchObject({ scope: id, channel: 'release' });
  },
);

it('a superseded note is hidden, and shown with what replaced it', async () => {
  const bus = new Bus();
  const host = await bus.host('front', {});
  const old = await add(host, 'old');
  const fresh = await add(host, 'fresh', '--supersedes', suffix(old));
  expect((await listed(host)).map(({ file }) => file)).toEqual([fresh]);
  expect((await listed(host, '--all')).map(({ file }) => file).sort()).toEqual([old, fresh].sort());
  const { out } = await host.run('memory', 'list', '--all');
  expect(out).toMatch(new RegExp(`^${suffix(old)} .* old +superseded by ${suffix(fresh)}$`, 'm'));
  expect((await host.run('memory', 'show', old)).out).toMatch(
    new RegExp(`^superseded by +${fresh} {2}fresh$`, 'm'),
  );
  expect((await host.run('memory', 'show', fresh)).out).toMatch(
    new RegExp(`^supersedes +${old} {2}old$`, 'm'),
  );
  const again = await host.run('memory', 'add', '--subject', 'x', '--supersedes', old, 'y');
  expect(again.err).toContain(`${old} is superseded already, by ${fresh}`);
});

it('notes that supersede one another do not all vanish', async () => {
  const host = await new Bus().host('front', {});
  const [a, b, self] = [note(1)[0], note(2)[0], note(3)[0]];
  write(host, [
    note(1, { supersedes: [b] }),
    note(2, { supersedes: [a] }),
    note(3, { supersedes: [self] }),
    note(4, { supersedes: [note(99)[0]] }),
  ]);
  expect((await listed(host)).map(({ file }) => file)).toEqual([note(4)[0], self, b]);
  const { out, code } = await host.run('memory', 'show', note(4)[0]);
  expect([code, out]).toEqual([0, expect.stringContaining('(not in this transport)')]);
});

it(
  'a note written while the remote is away is queued, listed here, and pushed later',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const front = await bus.host('front', {});
    const back = await bus.host('back', {});
    const away = `${bus.hub}.away`;
    renameSync(bus.hub, away);
    const ran = await front.run('memory', 'add', '--subject', 'offline', 'text');
    const file = /^Queued: (.+)\n$/.exec(ran.out)?.[1] ?? '';
    expect([ran.code, file.length]).toEqual([0, 35]);
    expect(ran.err).toContain('queued, not on the remote yet: ');
    expect(await listed(front)).toMatchObject([{ file, queued: true }]);
    expect((await front.run('memory', 'show', file)).out).toContain('\n\ntext\n');
    const second = await front.run('memory', 'add', '--subject', 'n', '--supersedes', file, 't');
    expect(second.out).toMatch(/^Queued: /);
    renameSync(away, bus.hub);
    await front.run('sync');
    expect(subjects(await listed(back, '--all'))).toEqual(['n', 'offline']);
    expect(await listed(back)).toMatchObject([{ supersedes: file, queued: false }]);
  },
);

it('files that are no memories are named, and in nobody’s way', async () => {
  const bus = new Bus();
  const host = await bus.host('front', {});
  const canary = join(bus.root, 'canary');
  const [good, text] = note(1, { subject: 'good\u001b[2J', scope: 'global' });
  write(host, [
    [good, text],
    [note(2)[0], '---\nfrom: [1, 2\n---\n'],
    [note(3)[0], `---js\nrequire('fs').writeFileSync(${JSON.stringify(canary)}, '')\n---\n`],
    [note(4)[0], Buffer.concat([Buffer.from(text), Buffer.alloc(2 * 1024 * 1024, 'x')])],
    [note(5)[0], Buffer.from([0x2d, 0x2d, 0x2d, 0x0a, 0xff])],
    ['notes.md', text],
    [`${note(6)[0]}/inner.md`, text],
    ['.gitkeep', ''],
  ]);
  const clone = join(bus.root, 'linker');
  git(bus.root, 'clone', '--quiet', bus.hub, clone);
  symlinkSync('/etc/passwd', join(clone, 'data/memories', note(7)[0]));
  git(clone, 'add', '--all');
  git(
    clone,
    'update-index',
    '--add',
    '--cacheinfo',
    `160000,${'1'.repeat(40)},data/memories/${note(8)[0]}`,
  );
  git(clone, 'commit', '--quiet', '--message', 'a link');
  git(clone, 'push', '--quiet');

  const list = await host.run('memory', 'list');
  expect(list.code).toBe(0);
  expect(list.out.split('\n')).toHaveLength(2);
  expect(list.out).not.toContain('\u001b');
  expect(list.err).toMatch(
    /^crosstalk memory list: 8 files in data\/memories cannot be read: .* and 3 more\n$/,
  );
  const one = await host.run('memory', 'show', note(7)[0]);
  expect(refused(one)).toEqual([1, expect.stringContaining('(a symlink)'), 1]);
  const huge = await host.run('memory', 'add', '--subject', 's', '--supersedes', '00000004', 'x');
  expect(refused(huge)).toEqual([1, expect.stringContaining('larger than 1 MiB'), 1]);
  const out = join(bus.root, 'out');
  expect((await host.run('memory', 'export', out)).out).toBe(`Exported: 1 note to ${out}\n`);
  expect(readdirSync(out)).toEqual([good]);
  expect(existsSync(canary)).toBe(false);
});

it('thousands of strange files do not keep the notes among them from being read', async () => {
  const bus = new Bus();
  const host = await bus.host('front', {});
  const lines = Array.from({ length: 5000 }, (_, n) => {
    const [file] = note(n);
    return `M 100644 inline data/memories/${file}\ndata 4\njunk\n`;
  });
  const [file, text] = note(6000);
  lines.push(
    `M 100644 inline data/memories/${file}\ndata ${String(Buffer.byteLength(text))}\n${text}\n`,
  );
  const head = `commit refs/heads/main\ncommitter x <x@x> 1 +0000\ndata 1\nx\nfrom refs/heads/main^0\n`;
  execFileSync('git', ['-C', bus.hub, 'fast-import', '--quiet', '--done'], {
    input: `${head}${lines.join('')}\ndone\n`,
  });
  const { out, err } = await host.run('memory', 'list');
  expect(out).toContain('note 6000');
  expect(err).toContain('5000 files in data/memories cannot be read');
  expect(err.length).toBeLessThan(1000);
});

it('export, import elsewhere and export again give the same bytes', { tags: 'long' }, async () => {
  const [one, two] = [new Bus(), new Bus()];
  const from = await one.host('front', {});
  const to = await two.host('other', {});
  const old = await add(from, 'old', '--alias', 'ä 😀');
  await add(from, 'fresh', '--supersedes', old, '--scope', 'general');
  // Written by hand, in a form that formatMemory would not produce.
  write(from, [
    [note(1)[0], note(1)[1].replaceAll('\n', '\r\n')],
    [
      note(2)[0],
      '---\n# a comment\nsubject:   "s"\nfrom: a\ntimestamp: 2026-01-01\nx: 1e5\n---\nbody',
    ],
    [note(3)[0], 'no note'],
  ]);
  const first = join(one.root, 'first');
  const second = join(two.root, 'second');
  const ran = await from.run('memory', 'export', first);
  expect([ran.code, ran.out]).toEqual([0, `Exported: 4 notes to ${first}\n`]);
  expect(ran.err).toContain('1 file in data/memories cannot be read');
  for (const name of readdirSync(first))
    expect(readFileSync(join(first, name), 'utf8')).toBe(
      git(one.hub, 'show', `main:data/memories/${name}`),
    );

  const back = await to.run('memory', 'import', first);
  expect([back.code, back.out, back.err]).toEqual([0, 'Imported: 4 notes\n', '']);
  expect((await to.run('memory', 'export', second)).code).toBe(0);
  expect(folder(second)).toEqual(folder(first));
  expect(subjects(await listed(to, '--all'))).toEqual(['fresh', 'note 1', 'old', 's']);
  expect((await listed(to)).map(({ file }) => file)).not.toContain(old);

  const tip = git(two.hub, 'rev-parse', 'main');
  const again = await to.run('memory', 'import', first);
  expect([again.code, again.out]).toEqual([0, 'Imported: 0 notes, 4 were there already\n']);
  expect(git(two.hub, 'rev-parse', 'main')).toBe(tip);
});

it(
  'more notes than one commit holds come back whole, also while the remote is away',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', {});
    const dir = join(bus.root, 'many');
    mkdirSync(dir);
    for (let n = 0; n < 1200; n++) {
      const [file, text] = note(n);
      writeFileSync(join(dir, file), text);
    }
    renameSync(bus.hub, `${bus.hub}.away`);
    const queued = await host.run('memory', 'import', dir);
    expect([queued.code, queued.out]).toEqual([0, 'Queued: 1200 notes\n']);
    expect((await host.run('memory', 'import', dir)).out).toBe(
      'Imported: 0 notes, 1200 were there already\n',
    );
    renameSync(`${bus.hub}.away`, bus.hub);
    await host.run('sync');
    const out = join(bus.root, 'out');
    await host.run('memory', 'export', out);
    expect(folder(out)).toEqual(folder(dir));
  },
);

it('export touches no folder that holds anything, and writes nowhere else', async () => {
  const bus = new Bus();
  const host = await bus.host('front', {});
  await add(host, 'one');
  const full = join(bus.root, 'full');
  mkdirSync(full);
  writeFileSync(join(full, 'mine'), 'mine');
  const ran = await host.run('memory', 'export', full);
  expect(refused(ran)).toEqual([1, expect.stringContaining('is not empty, it holds "mine"'), 1]);
  const file = await host.run('memory', 'export', join(full, 'mine'));
  expect(refused(file)).toEqual([1, expect.stringContaining('cannot be used'), 1]);
  symlinkSync(full, join(bus.root, 'link'));
  expect((await host.run('memory', 'export', join(bus.root, 'link'))).code).toBe(1);
  expect(folder(full)).toEqual({ mine: Buffer.from('mine').toString('base64') });
  const fresh = await host.run('memory', 'export', 'a/b', '--json');
  expect(JSON.parse(fresh.out)).toEqual({
    dir: join(bus.root, 'a/b'),
    exported: 1,
    unreadable: [],
  });
});

it('import writes nothing unless every file is a memory of its own', async () => {
  const bus = new Bus();
  const host = await bus.host('front', {});
  const there = await add(host, 'there');
  const tip = git(bus.hub, 'rev-parse', 'main');
  const outside = join(bus.root, 'outside.md');
  writeFileSync(outside, note(9)[1]);
  const bad = note(2)[0];
  const file =
    (name: string, content: string | Buffer) =>
    (path: string): void => {
      writeFileSync(join(path, name), content);
    };
  const cases: [said: string, prepare: (dir: string) => void][] = [
    ['"README.md" (its name is not of the form', file('README.md', 'x')],
    [
      '"sub" (its name is not of the form',
      (dir) => {
        mkdirSync(join(dir, 'sub'));
      },
    ],
    [
      '(a folder)',
      (dir) => {
        mkdirSync(join(dir, bad));
      },
    ],
    [
      '(a symlink)',
      (dir) => {
        symlinkSync(outside, join(dir, bad));
      },
    ],
    ['(no ordinary file)', (dir) => execFileSync('mkfifo', [join(dir, bad)])],
    ['not valid YAML', file(bad, '---\na: [\n---\n')],
    ['larger than 1 MiB', file(bad, Buffer.alloc(1 << 21))],
    ['not UTF-8', file(bad, Buffer.from([0xff]))],
    [`data/memories holds ${there} with other content`, file(there, note(2)[1])],
  ];
  for (const [index, [said, prepare]] of cases.entries()) {
    const dir = join(bus.root, `in-${String(index)}`);
    mkdirSync(dir);
    file(...note(1))(dir);
    prepare(dir);
    const ran = await host.run('memory', 'import', dir);
    expect(refused(ran)).toEqual([1, expect.stringContaining(said), 1]);
    expect(ran.err).toContain('nothing was imported');
  }
  const none = await host.run('memory', 'import', join(bus.root, 'none'));
  expect(refused(none)).toEqual([2, expect.stringContaining('cannot be read'), 1]);
  expect(git(bus.hub, 'rev-parse', 'main')).toBe(tip);
});
