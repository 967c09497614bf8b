import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { Bus } from '../support/bus.ts';
import { Persuaded } from '../support/run-commands.ts';

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function fileIn(bus: Bus, name: string, text: string): string {
  const path = join(bus.root, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}

it('a file whose size is made up is refused by name, and a growing one comes as it is or not at all', async () => {
  const bus = new Bus();
  const host = await bus.host('front', {});
  const refused = await host.run('send', '--to', 'x', '--attach', '/proc/self/status', 'text');
  expect(refused).toMatchObject({ code: 2, out: '' });
  expect(refused.err).toMatch(/"\/proc\/self\/status" claims to have 0 bytes, .* \/proc /);
  expect(bus.messages()).toEqual([]);
  const log = fileIn(bus, 'log', 'x'.repeat(100_000));
  const line = 'y'.repeat(64);
  // It ends before the file is too large, however slow the commands are.
  const grow = `n=0; while [ $n -lt 50000 ]; do printf %s ${line} >> '${log}'; n=$((n + 1)); done`;
  const writer = spawn('sh', ['-c', grow]);
  const ended = once(writer, 'exit');
  for (let tries = 0; tries < 5; tries++) {
    const { code, err } = await host.run('send', '--to', 'x', '--attach', log, 'text');
    if (code !== 0) expect(err).toMatch(/was changed while it was read; copy it/);
  }
  writer.kill('SIGKILL');
  await ended;
  for (const { message } of bus.messages()) {
    const [file] = message.files ?? [];
    const bytes = readFileSync(log).subarray(0, file?.bytes);
    expect(sha256(bytes)).toBe(file?.sha256);
  }
});

it('files of one name are told apart, on disk and in a run', { tags: 'long' }, async () => {
  const bus = new Bus();
  const cli = new Persuaded(bus, 'cd "$CROSSTALK_RUN_DIR/files" && cat *');
  const host = await bus.host('front', { worker: cli.cli });
  const attached = ['one', 'two', 'three', 'one'].flatMap((text, at) => {
    return ['--attach', fileIn(bus, `${String(at)}/same.txt`, text)];
  });
  const relPath = await host.send('worker', 'four', ...attached);
  await host.once();
  expect(cli.given[0]?.out).toBe('onetwothreeone');
  const out = join(bus.root, 'out');
  expect((await host.run('read', relPath, '--files', out)).code).toBe(0);
  const names = readdirSync(out);
  expect(names).toEqual(['1-same.txt', '2-same.txt', '3-same.txt', '4-same.txt']);
  const texts = names.map((name) => readFileSync(join(out, name), 'utf8'));
  expect(texts).toEqual(['one', 'two', 'three', 'one']);
  const raw = await host.run('read', relPath, '--raw', '--files', out);
  expect(raw).toMatchObject({ code: 2, out: '' });
  const below = await host.run('read', relPath, '--files', join(host.dir, 'AGENTS.md', 'x'));
  expect(below.err).toMatch(
    /AGENTS\.md\/x cannot be made: a part of it is no folder; name another/,
  );
  const empty = await host.run('read', relPath, '--files', '');
  expect(empty).toMatchObject({ code: 2, out: '' });
  expect(empty.err).toContain('--files "" names no folder');
});
