import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { Bus, type Host } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { tipOf } from '../support/history.ts';

const bin = fileURLToPath(new URL('../../bin/crosstalk.js', import.meta.url));
const LATIN1 = Buffer.from('caf\xe9', 'latin1');
const bytes = (before: string, after = '\n'): Buffer =>
  Buffer.concat([Buffer.from(before), LATIN1, Buffer.from(after)]);

async function machine(): Promise<{ bus: Bus; host: Host }> {
  const bus = new Bus();
  return { bus, host: await bus.host('front', { worker: 'echo done' }) };
}

it('lines of a piped chat are sent up to the one that is not UTF-8, which is named', async () => {
  const { bus, host } = await machine();
  const words = ['chat', '--to', 'worker', '--timeout', '1', '--transport', host.dir];
  const err = await new Promise<string>((resolve) => {
    const child = execFile(
      process.execPath,
      [bin, ...words],
      { cwd: host.dir, env: { ...process.env, ...host.env } },
      (_error, _out, said) => {
        resolve(said);
      },
    );
    child.stdin?.end(
      Buffer.concat([Buffer.from('first\r\n'), bytes('second '), Buffer.from('third\n')]),
    );
  });
  expect(err).toMatch(/line 2 of stdin is not UTF-8 text \(11 bytes\)/);
  expect(bus.messages().map(({ message }) => message.body.trim())).toEqual(['first']);
});

it('a skill that is not UTF-8 is not put on the bus', async () => {
  const { bus, host } = await machine();
  const dir = join(bus.root, 'sort');
  mkdirSync(dir);
  const header = '---\nname: sort\ndescription: Sort.\n---\n';
  writeFileSync(join(dir, 'SKILL.md'), bytes(header));
  const before = tipOf(bus);
  const refused = await host.run('skill', 'add', dir);
  expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('is no UTF-8 text')]);
  // A character that stands for a broken one is text.
  writeFileSync(join(dir, 'SKILL.md'), `${header}Replace \ufffd.\n`);
  writeFileSync(join(dir, 'list.txt'), '\ufffd\n');
  expect(tipOf(bus)).toBe(before);
  expect((await host.run('skill', 'add', dir)).code).toBe(0);
});

const SCHEDULE = '---\nhost: front\nto: worker\nevery: 2h\n---\n';
const SUBSCRIPTION = '---\nsource: answer:worker\nto: worker\n---\n';
const PROFILE = '---\nname: worker\ndescription: works\n---\n';

it.each([
  ['a host file', 'hosts/front.md', undefined, ['actor', 'set', 'worker', 'timeout=5m']],
  ['a schedule', 'local/schedules/s.md', SCHEDULE, ['schedule', 'pause', 's']],
  ['a subscription', 'local/subscriptions/s.md', SUBSCRIPTION, ['subscription', 'pause', 's']],
  ['a profile', 'local/actors/worker.md', PROFILE, ['actor', 'export', 'worker']],
])('%s that is not UTF-8 is not changed, nor given away', async (_what, path, header, words) => {
  const { bus, host } = await machine();
  const text = header ?? git(bus.hub, 'show', `main:${path}`);
  host.edit({ [path]: bytes(text) });
  await host.run('sync');
  const before = tipOf(bus);
  const refused = await host.run(...words);
  expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('not UTF-8')]);
  expect(tipOf(bus)).toBe(before);
});
