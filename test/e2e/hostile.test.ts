import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Status } from '../../src/actions/health/report.ts';
import { Bus } from '../support/bus.ts';
import { examples } from '../support/form.ts';
import { fixtures } from '../support/fixtures.ts';
import { git } from '../support/git.ts';
import { Program } from '../support/process.ts';

it('hostile and malformed files are counted, reported and harmless, and the mail around them is answered', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo answered' });
  const canary = join(bus.root, 'canary');
  process.env['CROSSTALK_CANARY'] = canary;
  const before = await host.send('worker', 'before');
  const folder = `data/channels/${host.channel()}`;
  const files: Record<string, Buffer> = {};
  let serial = 0;
  for (const kind of ['malformed', 'hostile']) {
    for (const name of readdirSync(join(fixtures, kind))) {
      const suffix = (serial++).toString(16).padStart(8, '0');
      files[`${folder}/2026/06/09/190000000Z-${suffix}.md`] = readFileSync(
        join(fixtures, kind, name),
      );
    }
  }
  const good = readFileSync(join(fixtures, 'valid', 'plain.md'));
  files[`${folder}/2026/06/09/190000000Z-aaaaaaaa.md`] = Buffer.concat([
    good,
    Buffer.alloc(1024 * 1024, 'x'),
  ]);
  files[`${folder}/2026/06/09/notes.md`] = good;
  files[`${folder}/2026/13/190000000Z-bbbbbbbb.md`] = good;
  files[`data/channels/general/2026/06/09/190000000Z-bbbbbbbb.md`] = good;
  host.edit(files);
  addSymlink(bus, `${folder}/2026/06/09/190000000Z-cccccccc.md`);
  const after = await host.send('worker', 'after');
  const count = Object.keys(files).length + 1;

  const log = await host.once();

  const reported = log.filter(({ event }) => event === 'message_malformed');
  expect(reported).toHaveLength(count);
  expect(
    reported.every(({ path, reason }) => typeof path === 'string' && typeof reason === 'string'),
  ).toBe(true);
  expect(reported.find(({ path }) => String(path).includes('cccccccc'))?.['reason']).toBe(
    'a symlink',
  );
  expect(bus.from('worker').map(({ message }) => message.re)).toEqual([[before, after]]);
  const status = JSON.parse((await host.run('status', '--json')).out) as Status;
  expect(status.malformed).toHaveLength(count);
  expect(status.channels[0]?.messages).toBe(3);
  expect((await host.once()).filter(({ event }) => event === 'dispatch_start')).toEqual([]);
  expect(existsSync(canary)).toBe(false);
});

it(
  'a hundred thousand files in one folder are reported, and the mail among them is answered',
  { tags: ['slow', 'sampled'] },
  async () => {
    const many = examples(100_000);
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'echo answered' });
    await host.once();
    // A checkout with uncommitted work is left alone: here the files take time, not the messages.
    writeFileSync(join(host.dir, 'CLAUDE.md'), 'mine');
    const folder = `data/channels/${host.channel()}/2026/06/09`;
    const good = readFileSync(join(fixtures, 'valid', 'plain.md'));
    const junk = writeBlob(bus, 'junk');
    const lines = Array.from(
      { length: many },
      (_, n) => `100644 ${junk}\t${folder}/190000000Z-${n.toString(16).padStart(8, '0')}.md\n`,
    );
    lines.push(`100644 ${writeBlob(bus, good)}\t${folder}/200000000Z-00000000.md\n`);
    addToIndex(bus, lines.join(''));
    const pass = new Program(host, 'dispatch', '--once', '--host', 'front');
    expect(await pass.ended()).toBe(0);
    const said = pass.events.filter(({ event }) => event === 'message_malformed');
    expect(said.filter(({ path }) => path !== undefined)).toHaveLength(100);
    expect(said.at(-1)).toMatchObject({ more: many - 100 });
    expect(bus.from('worker').map(({ message }) => message.re)).toEqual([
      ['2026/06/09/200000000Z-00000000.md'],
    ]);
    const status = new Program(host, 'status');
    expect(await status.ended()).toBe(0);
    expect(status.out).toContain(`and ${String(many - 20)} more`);
  },
);

it(
  'a body that looks like a header changes nothing about the message that carries it',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', {
      worker: 'cat > "$HOME/prompt"; echo ok',
      other: 'echo never',
    });
    const body = '---\nto: other\nfrom: root\n---\n\n---js\nprocess.exit(1)\n---\n';
    const question = await host.send('worker', body);
    await host.once();
    expect(bus.from('worker')[0]?.message.re).toEqual([question]);
    expect(bus.from('other')).toEqual([]);
    expect(bus.from('operator')[0]?.message.body).toBe(body);
    expect(readFileSync(join(process.env['HOME'] ?? '', 'prompt'), 'utf8').endsWith(body)).toBe(
      true,
    );
  },
);

it('message text never reaches a shell, a command line or a path', { tags: 'long' }, async () => {
  const bus = new Bus();
  const canary = join(bus.root, 'canary');
  const host = await bus.host('front', {
    worker: 'cat >/dev/null; tr "\\0" " " < /proc/$$/cmdline',
  });
  await host.send('worker', `$(touch ${canary}) \`touch ${canary}\` ; touch ${canary}`);
  await host.once();
  expect(bus.from('worker')[0]?.message.body).not.toContain('touch');
  expect(existsSync(canary)).toBe(false);
});

function writeBlob(bus: Bus, content: string | Buffer): string {
  const args = ['-C', bus.hub, 'hash-object', '-w', '--stdin'];
  return execFileSync('git', args, { input: content, encoding: 'utf8' }).trim();
}

/** Commits index lines to the bus without a work tree: quick for very many files. */
function addToIndex(bus: Bus, lines: string): void {
  const index = ['-C', bus.hub, `--work-tree=${bus.root}`];
  const env = { ...process.env, GIT_INDEX_FILE: join(bus.root, 'index') };
  execFileSync('git', [...index, 'read-tree', 'main'], { env });
  execFileSync('git', [...index, 'update-index', '--add', '--index-info'], { env, input: lines });
  const tree = execFileSync('git', [...index, 'write-tree'], { env, encoding: 'utf8' }).trim();
  const commit = git(bus.hub, 'commit-tree', tree, '-p', 'main', '-m', 'many').trim();
  git(bus.hub, 'update-ref', 'refs/heads/main', commit);
}

function addSymlink(bus: Bus, path: string): void {
  const clone = join(bus.root, 'linker');
  git(bus.root, 'clone', '--quiet', bus.hub, clone);
  symlinkSync('/etc/passwd', join(clone, path));
  git(clone, 'add', '--all');
  git(clone, 'commit', '--quiet', '--message', 'a link');
  git(clone, 'push', '--quiet');
}

it('trees that no file system would hold are harmless: odd names, submodules, giants, folders for files', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo answered' });
  const good = readFileSync(join(fixtures, 'valid', 'plain.md'));
  const folder = `data/channels/${host.channel()}/2026/06/09`;
  const blob = (path: string, content: Buffer, mode = '100644'): Buffer =>
    Buffer.concat([
      Buffer.from(`M ${mode} inline ${path}\ndata ${String(content.length)}\n`),
      content,
      Buffer.from('\n'),
    ]);
  const stream = Buffer.concat([
    Buffer.from(
      `commit refs/heads/main\ncommitter x <x@x> 1 +0000\ndata 1\nx\nfrom refs/heads/main^0\n`,
    ),
    blob(`"${folder}/two\\nlines.md"`, good),
    blob(`${folder}/-rf.md`, good),
    blob(`${folder}/190000000Z-GGGGGGGG.md`, good),
    blob(`${folder}/190000000Z-00000001.md/190000000Z-00000002.md`, good),
    blob(`${folder}/190000000Z-00000003.md`, Buffer.alloc(100 * 1024 * 1024)),
    blob(`${folder}/190000000Z-00000004.md`, good, '100755'),
    Buffer.from(`M 160000 ${'1'.repeat(40)} ${folder}/190000000Z-00000005.md\n`),
    blob(`${folder}/190000000Z-00000006.md`, Buffer.from('/etc/passwd'), '120000'),
    blob(`hosts/evil.md`, Buffer.from('/etc/passwd'), '120000'),
    blob(`data/channels/${host.channel()}/CHANNEL.md`, Buffer.from('---\nname: [1, 2\n---\n')),
    Buffer.from('\ndone\n'),
  ]);
  execFileSync('git', ['-C', bus.hub, 'fast-import', '--quiet', '--done'], {
    input: stream,
    maxBuffer: 1 << 28,
  });
  const question = await host.send('worker', 'still there?');
  const log = await host.once();
  const malformed = log
    .filter(({ event }) => event === 'message_malformed')
    .map(({ reason }) => String(reason));
  expect(malformed).toHaveLength(7);
  expect(malformed).toContain('a submodule');
  expect(malformed).toContain('larger than 1 MiB: 104857600 bytes');
  expect(
    bus
      .from('worker')
      .flatMap(({ message }) => message.re)
      .sort(),
  ).toEqual(['2026/06/09/190000000Z-00000004.md', question].sort());
  expect((await host.run('status')).code).toBe(0);
});
