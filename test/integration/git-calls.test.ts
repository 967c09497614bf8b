import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openTransport } from '../../src/actions/context.ts';
import { FaultyMachine } from '../chaos/faulty-machine.ts';
import type { Which } from '../chaos/git-shim.ts';

const opened = (): Promise<FaultyMachine> => new FaultyMachine().open();

it(
  'a message that was sent is said to be, although git is killed while the checkout follows',
  { tags: 'long' },
  async () => {
    const machine = await opened();
    const { host } = machine;
    await machine.keep();
    machine.restore();
    const send = (): Promise<{ code: number; out: string }> =>
      host.run('send', '--to', 'worker', '--', 'hi');
    await machine.under(undefined, send);
    const { calls } = machine;
    const push = calls.findIndex((call) => call.startsWith('push'));
    const later = calls.flatMap((call, at) =>
      at > push && call.startsWith('config --list') ? [at + 1] : [],
    );
    expect(later).not.toEqual([]);
    for (const number of later) {
      machine.restore();
      const which = `=${String(number)}` as Which;
      const sent = await machine.under({ which, kind: 'killed' }, send);
      expect([sent.out.slice(0, 6), sent.code]).toEqual(['Sent: ', 0]);
      expect(machine.count('operator', 'hi')).toBe(1);
    }
  },
);

it('an archive whose push was taken without an answer is done, and its bundle stays', async () => {
  const machine = await opened();
  const { host } = machine;
  const old = '2025/01/01/120000000Z-0000000a.md';
  const head = 'type: text\ntimestamp: 2025-01-01T10:00:00Z\nhost: front\n';
  const folder = `data/channels/${host.channel()}`;
  host.edit({
    [`${folder}/${old}`]: `---\nfrom: operator\nto: worker\n${head}---\n\nold\n`,
    [`${folder}/2025/01/02/120000000Z-0000000b.md`]: `---\nfrom: worker\nto: operator\n${head}re: ${old}\n---\n\nso\n`,
  });
  const bundle = join(machine.bus.root, 'old.bundle');
  const archived = await machine.under({ which: '@push', kind: 'mute' }, () =>
    host.run('archive', '--before', '2025-06-01', '--bundle', bundle, '--yes'),
  );
  expect([archived.code, archived.err]).toEqual([0, '']);
  expect([machine.count('operator', 'old'), existsSync(bundle)]).toEqual([0, true]);
  expect((await host.run('archive', '--restore', bundle)).code).toBe(0);
  expect(machine.count('operator', 'old')).toBe(1);
});

it.each(['killed', 'hung', 'silent', 'said'] as const)(
  'a reader of objects that is %s each time ends the command with a reason, and nothing counts as missing',
  async (kind) => {
    const machine = await opened();
    const { host } = machine;
    const relPath = await host.send('worker', 'hi');
    const shown = await machine.under({ which: '@cat-file', kind }, () =>
      host.run('thread', relPath),
    );
    expect([shown.code, shown.out]).toEqual([1, '']);
    expect(shown.err).toMatch(
      /^crosstalk thread: git cat-file did not answer in .+; nothing is lost, try again\n$/,
    );
    expect((await host.run('thread', relPath)).code).toBe(0);
  },
);

it('a search that git is killed in leaves no file out', async () => {
  const machine = await opened();
  const { host } = machine;
  const relPath = await host.send('worker', 'hi');
  await machine.under({ which: '@grep', kind: 'killed' }, async () => {
    const { transport } = await openTransport(host.dir, { ...process.env, ...host.env });
    const tip = (await transport.tip()) ?? '';
    const found = await transport.filesContaining(tip, 'data/channels', 'hi');
    expect(found.some((path) => path.endsWith(relPath))).toBe(true);
    expect(machine.calls.some((call) => call.startsWith('grep'))).toBe(true);
    transport.close();
  });
});
