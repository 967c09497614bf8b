import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Bus, type Host } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { until } from '../support/wait.ts';

/** The file of the loose object of a message in a clone. */
function objectOf(host: Host, relPath: string): string {
  const found = git(host.dir, 'ls-tree', '-r', 'origin/main', 'data/channels/');
  const [, oid = ''] = new RegExp(` blob (\\w+)\\t.*${relPath}`).exec(found) ?? [];
  return join(host.dir, '.git', 'objects', oid.slice(0, 2), oid.slice(2));
}

it('a message that is damaged while it waits is held, not taken for silence, and answered after the repair', async () => {
  const bus = new Bus();
  const gate = join(bus.root, 'gate');
  const host = await bus.host('front', {
    worker: `for i in $(seq 300); do test -e ${gate} && break; sleep 0.1; done; echo answer`,
  });
  const running = host.start();
  const first = await host.send('worker', 'first', '--from', 'ann');
  await running.saw('dispatch_start');
  const second = await host.send('worker', 'second', '--from', 'ben');
  await until('the second waits', async () => {
    const { out } = await host.run('status', '--json');
    return (JSON.parse(out) as { dispatcher: { pending: number } }).dispatcher.pending === 1;
  });
  const object = objectOf(host, second);
  renameSync(object, `${object}.away`);
  writeFileSync(gate, '');
  expect(await running.saw('dispatch_held')).toMatchObject({ unread: [second] });
  const status = await host.run('status');
  expect(status.out).toContain('content is missing from this clone: 1');
  await running.saw('dispatch_done');
  expect(bus.from('worker').map(({ message }) => message.re)).toEqual([[first]]);
  renameSync(`${object}.away`, object);
  await host.run('sync');
  await until('the answer', () => bus.from('worker').length === 2);
  expect(bus.from('worker').map(({ message }) => message.re)).toEqual([[first], [second]]);
});

it(
  'what a message answers is damaged: it waits too, so that no answer goes to nobody',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const front = await bus.host('front', {
      boss: `cat | grep -q 'part done' && echo whole || crosstalk send --to worker part >&2`,
    });
    const back = await bus.host('back', { worker: 'echo part done' });
    const question = await front.send('boss', 'goal');
    await front.once();
    await back.once();
    await front.run('sync');
    const object = objectOf(front, question);
    renameSync(object, `${object}.away`);
    const log = await front.once();
    expect(log).toContainEqual(expect.objectContaining({ event: 'dispatch_held' }));
    expect(bus.from('boss')).toHaveLength(1);
    renameSync(`${object}.away`, object);
    await front.once();
    expect(bus.from('boss').at(-1)?.message).toMatchObject({ re: [question], body: 'whole\n' });
  },
);

it(
  'a damaged message that is removed from the bus holds up nothing any more',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'echo answer' });
    const sent = await host.send('worker', 'hello');
    rmSync(objectOf(host, sent));
    const running = host.start();
    await running.saw('tick', (event) => event['held'] === 1);
    host.remove(`data/channels/${host.channel()}/${sent}`);
    const tip = git(bus.hub, 'rev-parse', 'main').trim();
    await running.saw('tick', (event) => event['tip'] === tip && event['held'] === 0);
    expect((await host.run('status')).out).toContain('healthy');
  },
);
