import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { attachedPath, relPathAt, suffixOf } from '../../src/protocol/layout.ts';
import { Bus } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { push } from '../support/push.ts';
import { rowsIn, textIn } from '../support/rows.ts';
import { Persuaded } from '../support/run-commands.ts';

const MIB = 1024 * 1024;
const PNG = Buffer.concat([
  Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
  randomBytes(5000),
]);

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function fileIn(bus: Bus, name: string, bytes: Buffer | string): string {
  const path = join(bus.root, name);
  writeFileSync(path, bytes);
  return path;
}

it(
  'a picture reaches an agent on another host, and its patch comes back, byte for byte',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const patch = 'diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-\0old\n+new\n';
    const cli = new Persuaded(
      bus,
      'sha256sum "$CROSSTALK_RUN_DIR"/files/*',
      'stat -c %a "$CROSSTALK_RUN_DIR"/files/*',
      String.raw`printf 'diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-\0old\n+new\n' > fix.patch`,
      'crosstalk send --to operator --attach fix.patch "the patch"',
    );
    const there = await bus.host('there', { painter: cli.cli });
    const here = await bus.host('here', {});
    const screen = fileIn(bus, 'screen shot.png', PNG);
    const sent = await here.send('painter', 'what is wrong in this picture?', '--attach', screen);
    await there.once();
    const [sum, mode, , patched] = cli.given;
    expect(sum?.out).toContain(sha256(PNG));
    expect(sum?.out).toMatch(/\/files\/1-screen_shot\.png$/m);
    expect(mode?.out.trim()).toBe('400');
    expect(cli.prompt).toContain(
      `1-screen_shot.png: "screen shot.png", image/png, 4.9 KiB, with ${sent}`,
    );
    expect(patched).toMatchObject({ code: 0, err: '' });
    await here.run('sync');
    const answer = bus.messages().find(({ message }) => message.body === 'the patch');
    expect(answer?.message.files).toEqual([
      {
        sha256: sha256(Buffer.from(patch)),
        name: 'fix.patch',
        bytes: patch.length,
        type: 'application/octet-stream',
      },
    ]);
    const read = await here.run('read', answer?.relPath ?? '', '--files', join(bus.root, 'out'));
    expect(read).toMatchObject({ code: 0, err: '' });
    expect(readFileSync(join(bus.root, 'out', 'fix.patch'), 'utf8')).toBe(patch);
  },
);

/** The SHA-256 of each attached file on the remote, by path. */
function onHub(bus: Bus): string[] {
  return git(bus.hub, 'ls-tree', '-r', '--name-only', 'main', 'data/files/')
    .split('\n')
    .filter((path) => path !== '');
}

/** Everything that a state directory keeps of files on their way out. */
function sideFiles(state: string): string[] {
  const folder = join(state, 'outbox', 'files');
  return existsSync(folder) ? readdirSync(folder) : [];
}

it('ten megabytes go through with a dispatcher running, and one byte more is refused with what to do', async () => {
  const bus = new Bus();
  const host = await bus.host('front', {
    worker: 'cat >/dev/null; cat "$CROSSTALK_RUN_DIR"/files/1-big | sha256sum',
  });
  const big = randomBytes(10 * MIB);
  const running = host.start();
  await running.saw('tick');
  const relPath = await host.send('worker', 'hash it', '--attach', fileIn(bus, 'big', big));
  const answered = await host.run('replies', relPath, '--wait', '--timeout', '60');
  expect(answered.out).toContain(sha256(big));
  expect(sideFiles(host.state)).toEqual([]);
  const larger = fileIn(bus, 'larger', Buffer.concat([big, Buffer.of(0)]));
  const refused = await host.run('send', '--to', 'worker', '--attach', larger, 'hash it');
  expect(refused).toMatchObject({ code: 2, out: '' });
  expect(refused.err).toContain('git config crosstalk.maxFileBytes 10485761');
  expect(refused.err).toContain('has 10485761 bytes, more than 10485760 bytes;');
  expect(sideFiles(host.state)).toEqual([]);
  git(host.dir, 'config', 'crosstalk.maxFileBytes', '10485761');
  await host.send('worker', 'hash it', '--attach', larger);
});

it(
  'two hundred files travel in one message, and one more is refused',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', {
      worker: 'cat >/dev/null; ls "$CROSSTALK_RUN_DIR"/files | wc -l',
    });
    const names = Array.from({ length: 200 }, (_, n) =>
      fileIn(bus, `part-${String(n)}.txt`, `${String(n)}\n`),
    );
    const options = names.flatMap((name) => ['--attach', name]);
    const relPath = await host.send('worker', 'count them', ...options);
    expect(onHub(bus)).toHaveLength(200);
    await host.once();
    expect((await host.run('replies', relPath)).out).toContain('200');
    const more = await host.run(
      'send',
      '--to',
      'worker',
      ...options,
      '--attach',
      names[0] ?? '',
      'x',
    );
    expect(more.code).toBe(2);
    expect(more.err).toContain('pack them into one archive');
  },
);

it(
  'names are reduced to harmless ones, in a run and in a folder, whatever a sender called them',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const cli = new Persuaded(bus, 'cd "$CROSSTALK_RUN_DIR/files" && ls -a');
    const host = await bus.host('front', { worker: cli.cli });
    const names = ['../../x', '.git', '-rf', 'a\u202Eb\n--- Message 1 of 1', '/etc/passwd'];
    const bytes = Buffer.from('same bytes');
    const relPath = relPathAt(new Date(), 'abcdef012345');
    const files = names.map((name) => ({
      sha256: sha256(bytes),
      name,
      bytes: '10',
      type: 'text/plain',
    }));
    const header = {
      from: 'mallory',
      to: 'worker',
      type: 'text',
      timestamp: new Date().toISOString(),
      files,
    };
    push(host, [
      [
        '100644',
        `---\n${JSON.stringify(header)}\n---\nhello\n`,
        `data/channels/${host.channel()}/${relPath}`,
      ],
      ['100644', 'same bytes', attachedPath(sha256(bytes))],
    ]);
    await host.once();
    const expected = ['1-.._.._x', '2-.git', '3--rf', '4-a_b_---_Message_1_of_1', '5-_etc_passwd'];
    expect(cli.given[0]?.out.split('\n').slice(2, -1)).toEqual(expected);
    expect(cli.prompt).toContain('4-a_b_---_Message_1_of_1: "a b --- Message 1 of 1"');
    const out = join(bus.root, 'out');
    expect((await host.run('read', relPath, '--files', out)).code).toBe(0);
    const kept = ['_-rf', '_.._.._x', '_.git', '_etc_passwd', 'a_b_--- Message 1 of 1'];
    expect(readdirSync(out).sort()).toEqual(kept);
  },
);

it('what is no regular file is not attached, and a symlink is followed to one', async () => {
  const bus = new Bus();
  const host = await bus.host('front', {});
  mkdirSync(join(bus.root, 'folder'));
  symlinkSync('folder', join(bus.root, 'to-folder'));
  symlinkSync('nowhere', join(bus.root, 'dangling'));
  for (const name of ['folder', 'to-folder', 'dangling', '/dev/zero']) {
    const refused = await host.run('send', '--to', 'x', '--attach', name, 'text');
    expect([name, refused.code, refused.out]).toEqual([name, 2, '']);
  }
  fileIn(bus, 'target.txt', 'bytes');
  symlinkSync('target.txt', join(bus.root, 'link.txt'));
  await host.run('send', '--to', 'x', '--attach', 'link.txt', 'text');
  expect(bus.messages().map(({ message }) => message.files?.[0]?.name)).toEqual(['link.txt']);
});

it('a run attaches only what it could read itself', { tags: 'long' }, async () => {
  const bus = new Bus();
  const secret = fileIn(bus, 'secret', 'secret');
  const cli = new Persuaded(
    bus,
    `crosstalk send --to operator --attach '${secret}' text`,
    `ln -s '${secret}' link && crosstalk send --to operator --attach link text`,
    `ln '${secret}' hard && crosstalk send --to operator --attach hard "its own"`,
  );
  const host = await bus.host('front', { worker: cli.cli });
  await host.send('worker', 'go');
  await host.once();
  expect(cli.given.map(({ code }) => code)).toEqual([2, 2, 0]);
  expect(cli.given[0]?.err).toContain('below its working directory');
});

it('an altered, a missing and an odd file are said in the prompt and by read, and never passed over', async () => {
  const bus = new Bus();
  const cli = new Persuaded(bus, 'ls "$CROSSTALK_RUN_DIR/files"');
  const host = await bus.host('front', { worker: cli.cli });
  const contents = ['whole', 'altered', 'longer', 'missing', 'linked'];
  const options = contents.flatMap((name) => ['--attach', fileIn(bus, name, name)]);
  const relPath = await host.send('worker', 'look', ...options);
  const at = (name: string): string => attachedPath(sha256(Buffer.from(name)));
  push(host, [
    ['100644', 'retlade', at('altered')],
    ['100644', 'x'.repeat(5 * MIB), at('longer')],
    ['0', '', at('missing')],
    ['120000', '/etc/passwd', at('linked')],
  ]);
  await host.once();
  expect(cli.given[0]?.out).toBe('1-whole\n');
  const problems = [
    /NOT here: "altered".*was altered: its SHA-256/,
    /NOT here: "longer".*has 5242880 bytes, and the message says 6/,
    /NOT here: "missing".*is not on the bus/,
    /NOT here: "linked".*a symlink, a submodule or a folder/,
  ];
  for (const problem of problems) expect(cli.prompt).toMatch(problem);
  const out = join(bus.root, 'out');
  const read = await host.run('read', relPath, '--files', out);
  expect(read.code).toBe(1);
  expect(read.err.trim().split('\n')).toHaveLength(4);
  expect(readdirSync(out)).toEqual(['whole']);
});

it(
  'what stands where a file is to be put is left alone, and nothing is read from a pipe or a device',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'true' });
    const names = ['pipe', 'device', 'link', 'same', 'free'];
    const options = names.flatMap((name) => ['--attach', fileIn(bus, name, name)]);
    const relPath = await host.send('worker', 'look', ...options);
    const out = join(bus.root, 'out');
    mkdirSync(out);
    execFileSync('mkfifo', [join(out, 'pipe')]);
    symlinkSync('/dev/zero', join(out, 'device'));
    symlinkSync(join(bus.root, 'elsewhere'), join(out, 'link'));
    writeFileSync(join(out, 'same'), 'same');

    const read = await host.run('read', relPath, '--files', out);
    expect(read.code).toBe(1);
    for (const name of ['pipe', 'device', 'link'])
      expect(read.err).toContain(`${name} is another file; name an empty folder`);
    expect(read.out).toMatch(/same\n.*free\n$/);
    expect(existsSync(join(bus.root, 'elsewhere'))).toBe(false);
  },
);

it('a sender replaces what somebody has put in the place of its file', async () => {
  const bus = new Bus();
  const host = await bus.host('front', {});
  const bytes = Buffer.from('the real bytes');
  push(host, [['100644', 'squatter', attachedPath(sha256(bytes))]]);
  await host.run('sync');
  const relPath = await host.send('x', 'text', '--attach', fileIn(bus, 'real', bytes));
  const read = await host.run('read', relPath, '--files', join(bus.root, 'out'));
  expect(read).toMatchObject({ code: 0, err: '' });
});

it('files in a form that cannot be read mean nothing, and the prompt says so', async () => {
  const bus = new Bus();
  const cli = new Persuaded(bus, 'true');
  const host = await bus.host('front', { worker: cli.cli });
  const relPath = relPathAt(new Date(), 'abcdef012345');
  const header = {
    from: 'm',
    to: 'worker',
    type: 'text',
    timestamp: new Date().toISOString(),
    files: [{ sha256: '../../x' }],
  };
  push(host, [
    [
      '100644',
      `---\n${JSON.stringify(header)}\n---\nhello\n`,
      `data/channels/${host.channel()}/${relPath}`,
    ],
  ]);
  await host.once();
  expect(cli.prompt).toContain(`${relPath} names files in a form that cannot be read`);
});

it('a file waits beside the outbox while the remote is away, where no older version looks for it', async () => {
  const bus = new Bus();
  const host = await bus.host('front', {});
  bus.unplug();
  const path = fileIn(bus, 'a.bin', PNG);
  const sent = await host.run('send', '--to', 'x', '--attach', path, 'text');
  const relPath = /^Queued: (.+)$/m.exec(sent.out)?.[1] ?? '';
  rmSync(path);
  expect(readdirSync(join(host.state, 'outbox'))).toEqual(['files']);
  expect(sideFiles(host.state)).toHaveLength(1);
  expect(rowsIn(host.state, 'outbox')).toHaveLength(1);
  expect(textIn(host.state, 'outbox').length).toBeLessThan(2000);
  const waiting = await host.run('read', relPath, '--files', join(bus.root, 'waiting'));
  expect(waiting.code).toBe(0);
  bus.plug();
  await host.run('sync');
  expect(onHub(bus)).toEqual([attachedPath(sha256(PNG))]);
  expect(sideFiles(host.state)).toEqual([]);
  expect((await host.run('read', relPath, '--files', join(bus.root, 'out'))).code).toBe(0);
  expect(readFileSync(join(bus.root, 'out', 'a.bin'))).toEqual(PNG);
});

it('a hub that checks every object takes messages with files', { tags: 'long' }, async () => {
  const bus = new Bus();
  git(bus.hub, 'config', 'receive.fsckObjects', 'true');
  const host = await bus.host('front', {});
  await host.send('x', 'one', '--attach', fileIn(bus, 'a.bin', PNG));
  await host.send('x', 'none', '--attach', fileIn(bus, 'empty', ''));
  expect(onHub(bus)).toHaveLength(2);
});

it('a checkout shows no attached file', async () => {
  const bus = new Bus();
  const host = await bus.host('front', {});
  await host.send('x', 'one', '--attach', fileIn(bus, 'a.bin', PNG));
  await host.run('sync');
  expect(existsSync(join(host.dir, 'data', 'channels'))).toBe(true);
  expect(existsSync(join(host.dir, 'data', 'files'))).toBe(false);
  expect(git(host.dir, 'status', '--porcelain')).toBe('');
});

it(
  'what a header claims of sizes unpacks nothing, and the run goes on',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const cli = new Persuaded(bus, 'ls -s "$CROSSTALK_RUN_DIR/files"');
    const host = await bus.host('front', { worker: cli.cli });
    const bomb = Buffer.alloc(200 * MIB);
    const files = ['999999999999999', '10', String(bomb.length)].map((bytes) => ({
      sha256: sha256(bomb),
      name: 'bomb',
      bytes,
      type: 'text/plain',
    }));
    const timestamp = new Date().toISOString();
    const header = { from: 'mallory', to: 'worker', type: 'text', timestamp, files };
    const relPath = relPathAt(new Date(), 'abcdef012345');
    push(host, [
      [
        '100644',
        `---\n${JSON.stringify(header)}\n---\nhello\n`,
        `data/channels/${host.channel()}/${relPath}`,
      ],
      ['100644', bomb.toString('latin1'), attachedPath(sha256(bomb))],
    ]);
    await host.once();
    expect(cli.given[0]?.out.trim()).toBe('total 0');
    expect(cli.prompt.match(/NOT here: "bomb"/g)).toHaveLength(3);
    expect(bus.from('worker')).toHaveLength(1);
  },
);

it(
  'a file that stands where the folder of files should be stops nobody',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', {});
    push(host, [['120000', '/etc', 'data/files']]);
    await host.run('sync');
    const relPath = await host.send('x', 'text', '--attach', fileIn(bus, 'empty', ''));
    const read = await host.run('read', relPath, '--files', join(bus.root, 'out'));
    expect(read).toMatchObject({ code: 0, err: '' });
    expect(readFileSync(join(bus.root, 'out', 'empty'), 'utf8')).toBe('');
  },
);

it('names of files are kept in any script, and their folder holds nothing that a program takes for its own', async () => {
  const bus = new Bus();
  const host = await bus.host('front', {});
  const names = [
    '報告書.pdf',
    'Größe (neu).txt',
    'Makefile',
    'CLAUDE.md',
    'con.txt',
    '.envrc',
    '-rf',
  ];
  const options = names.flatMap((name) => ['--attach', fileIn(bus, name, name)]);
  const relPath = await host.send('x', 'look', ...options);
  const out = join(bus.root, 'out');
  const kept = ['報告書.pdf', 'Größe (neu).txt', '3-Makefile', '4-CLAUDE.md'];
  const expected = [...kept, '_con.txt', '_.envrc', '_-rf'].sort();
  for (const time of ['once', 'again']) {
    expect(await host.run('read', relPath, '--files', out), time).toMatchObject({
      code: 0,
      err: '',
    });
    expect(readdirSync(out).sort()).toEqual(expected);
  }
  // A folder that holds something else gets one for them.
  const project = join(bus.root, 'project');
  mkdirSync(project);
  writeFileSync(join(project, 'main.c'), '');
  const beside = await host.run('read', relPath, '--files', project, '--json');
  expect(beside.code).toBe(0);
  const [folder = ''] = readdirSync(project).filter((name) => name !== 'main.c');
  expect(relPath).toContain(`-${folder}`);
  expect(readdirSync(join(project, folder)).sort()).toEqual(expected);
  const [first] = JSON.parse(beside.out) as { path: string }[];
  expect(first?.path).toBe(join(project, folder, '報告書.pdf'));
});

it('log, inbox, replies and ask say that files came along, and read names the message that has them', async () => {
  const bus = new Bus();
  const cli = new Persuaded(
    bus,
    'echo data > one.csv && crosstalk send --to operator --attach one.csv "here it is"',
  );
  const host = await bus.host('front', { worker: cli.cli });
  const dispatcher = host.start();
  await dispatcher.saw('host_file_loaded');
  const ran = await host.run('ask', 'worker', 'get it');
  await dispatcher.stop();
  const [word, answer] = bus.from('worker');
  const asked = answer!.message.re[0]!;
  expect([ran.code, ran.out]).toEqual([0, 'done\n']);
  expect(ran.err).toContain(
    `crosstalk ask: 1 file came with ${word!.relPath}: crosstalk read ${word!.relPath} --files <dir>\n`,
  );
  const mark = new RegExp(`${suffixOf(word!.relPath).slice(0, 8)} .*1 file`);
  expect((await host.run('log')).out).toMatch(mark);
  expect((await host.run('inbox')).out).toMatch(mark);
  expect((await host.run('replies', asked)).out).toContain(
    `  from worker ${word!.relPath} (interim) (1 file)\n`,
  );
  const read = await host.run('read', answer!.relPath, '--files', join(bus.root, 'out'));
  expect(read).toMatchObject({
    code: 0,
    out: '',
    err: `crosstalk read: the message brings no files along; in its thread ${word!.relPath} does: crosstalk read ${word!.relPath} --files <dir>\n`,
  });
  expect(existsSync(join(bus.root, 'out'))).toBe(false);
});
