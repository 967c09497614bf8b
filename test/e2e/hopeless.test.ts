import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Bus, type Event, type Host } from '../support/bus.ts';

async function letterOf(host: Host): Promise<Record<string, unknown>> {
  const listed = await host.run('dlq', '--json');
  return (JSON.parse(listed.out) as Record<string, unknown>[])[0] ?? {};
}

const runs = (log: readonly Event[]): number =>
  log.filter(({ event }) => event === 'dispatch_start').length;

it.each([
  ['there is no such program', 'no-such-program --flag', 'not_started'],
  ['it may not be executed', '/etc/passwd', 'not_started'],
])('when %s, a message is quarantined after one attempt', async (_, cli, reason) => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: cli });
  await host.send('worker', 'hello');

  const log = await host.once();

  expect(runs(log)).toBe(1);
  expect(await letterOf(host)).toMatchObject({ state: 'quarantined', reason, attempts: 1 });
  expect(log.map(({ event }) => event)).toContain('quarantined');
});

it('a known CLI that names an error of its configuration is not run again, and its words are kept', async () => {
  const bus = new Bus();
  const bin = join(bus.root, 'bin');
  mkdirSync(bin);
  const said = `error: unknown option '--fats'`;
  writeFileSync(join(bin, 'claude'), `#!/bin/sh\necho "${said}" >&2\nexit 1\n`);
  chmodSync(join(bin, 'claude'), 0o755);
  const host = await bus.host('front', { worker: 'claude -p --fats' });
  await host.send('worker', 'hello');
  const env = { PATH: `${bin}:${process.env['PATH'] ?? ''}` };

  await host.runWith({ env }, 'dispatch', '--once', '--host', 'front');

  expect(await letterOf(host)).toMatchObject({
    state: 'quarantined',
    reason: 'misconfigured',
    detail: said,
    attempts: 1,
  });
});

it.each([
  ['a command that fails', 'exit 1'],
  ['a program that is just being replaced', 'echo "sh: claude: Text file busy" >&2; exit 126'],
])('%s is tried again', { tags: 'long' }, async (_, cli) => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: cli });
  await host.send('worker', 'hello');
  await host.once();
  expect(await letterOf(host)).toMatchObject({ state: 'retrying', attempts: 1 });
});
