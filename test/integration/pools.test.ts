import { expect, it } from 'vitest';
import { cancelMessage } from '../../src/protocol/cancel.ts';
import { messageFile, relPathAt } from '../../src/protocol/layout.ts';
import { formatMessage } from '../../src/protocol/message.ts';
import { Bus } from '../support/bus.ts';
import { commitTo } from '../support/copies.ts';
import { git } from '../support/git.ts';
import { answers, claimPath, claims, pool } from '../support/pools.ts';
import { until } from '../support/wait.ts';

it('one of two hosts takes each message of a pool, and no other runs it', async () => {
  const [bus, ant, bee] = await pool();
  for (const text of ['one', 'two', 'three']) await ant.send('worker', text);
  const [a, b] = await Promise.all([ant.once(), bee.once()]);
  await Promise.all([ant.once(), bee.once()]);
  expect(answers(bus)).toEqual(['done', 'done', 'done']);
  const runs = [...a, ...b].filter(({ event }) => event === 'dispatch_done');
  expect(runs).toHaveLength(3);
  expect(claims(bus).filter((path) => path.endsWith('/1.end.md'))).toHaveLength(3);
  expect(claims(bus)).toHaveLength(6);
});

it('without a pool nothing is claimed', async () => {
  const bus = new Bus();
  const ant = await bus.host('ant', { tester: 'echo done' });
  const bee = await bus.host('bee', { tester: 'echo done' });
  await ant.once();
  await bee.once();
  await ant.send('tester', 'one');
  await ant.once();
  await bee.once();
  expect(bus.from('tester')).toHaveLength(2);
  expect(claims(bus)).toEqual([]);
});

const GHOST = '---\nhost: ghost\nrun: ghost.1\nlease: "2"\nat: 2026-11-30T00:00:00.000Z\n---\n';

it('a host that has died is succeeded after its lease', async () => {
  const [bus, ant, bee] = await pool();
  const message = await ant.send('worker', 'one');
  ant.edit({ [claimPath(ant, message, '1')]: GHOST });
  await bee.once();
  expect(answers(bus)).toEqual([]);
  const running = bee.start();
  await running.saw('dispatch_done');
  await running.stop();
  expect(answers(bus)).toEqual(['done']);
  expect(claims(bus)).toEqual(['worker/1.md', 'worker/2.end.md', 'worker/2.md']);
});

it('a thread whose host is gone while it waits for others gets a notice, and can be begun anew', async () => {
  const [bus, ant, bee] = await pool();
  const message = await ant.send('worker', 'one');
  const beat = '---\nrun: ghost.1\nlease: "2"\nwaits: "true"\nat: 2026-11-30T00:00:00.000Z\n---\n';
  ant.edit({
    [claimPath(ant, message, '1')]: GHOST,
    [claimPath(ant, message, '1.beat')]: beat,
  });
  const running = bee.start();
  await running.saw('failure_told');
  await until('the notice', () => bus.from('worker').length > 0);
  expect(bus.from('worker').map(({ message: { failed } }) => failed?.reason)).toEqual([
    'host_gone',
  ]);
  expect((await bee.run('dlq', '--retry', 'all')).code).toBe(0);
  await running.saw('dispatch_done');
  await running.stop();
  expect(
    bus
      .from('worker')
      .map((one) => one.message.body.trim())
      .at(-1),
  ).toBe('done');
});

it('a run that was overtaken is ended, and publishes nothing', async () => {
  const [bus, ant] = await pool('sleep 8; echo too late');
  const message = await ant.send('worker', 'one');
  const running = ant.start();
  await running.saw('claimed');
  ant.edit({ [claimPath(ant, message, '2')]: GHOST.replace('"2"', '"900"') });
  await running.saw('claim_lost');
  await running.stop();
  expect(answers(bus)).toEqual([]);
  expect(claims(bus)).toEqual(['worker/1.md', 'worker/2.md']);
});

it('a try that failed on one host may be made on another, and all of them count', async () => {
  const [bus, ant, bee] = await pool('exit 3');
  await ant.send('worker', 'one');
  for (let round = 0; round < 40 && bus.from('worker').length === 0; round++) {
    await ant.once();
    await bee.once();
  }
  const runs = bus.from('worker');
  expect(runs.filter(({ message }) => message.failed !== undefined)).toHaveLength(1);
  const listed = claims(bus);
  expect(listed.filter((path) => /^worker\/\d+\.md$/.test(path))).toHaveLength(3);
}, 180_000);

it('a message that was taken back before anybody claimed it has one notice', async () => {
  const [bus, ant, bee] = await pool();
  const message = await ant.send('worker', 'one');
  const cancelled = await ant.run('cancel', message);
  expect(cancelled.code, cancelled.err).toBe(0);
  await Promise.all([ant.once(), bee.once()]);
  await Promise.all([ant.once(), bee.once()]);
  expect(bus.from('worker')).toHaveLength(1);
  expect(claims(bus)).toEqual(['worker/1.end.md', 'worker/1.md']);
});

it(
  'a claim whose lease could not be renewed is not gone on with, but made anew',
  { tags: 'long', timeout: 120_000 },
  async () => {
    const [bus, ant] = await pool('sleep 8; echo done');
    ant.env['CROSSTALK_TEST_LEASE'] = '1';
    git(ant.dir, 'config', 'crosstalk.claimLease', '6s');
    await ant.send('worker', 'one');
    const running = ant.start();
    await running.saw('claimed');
    bus.unplug();
    await running.saw('claim_lost', ({ reason }) => reason === 'its lease could not be renewed');
    bus.plug();
    await running.saw('dispatch_done');
    await running.stop();
    expect(answers(bus)).toEqual(['done']);
    const kept = claims(bus).filter((path) => !path.endsWith('.beat.md'));
    expect(kept).toEqual(['worker/1.md', 'worker/2.end.md', 'worker/2.md']);
  },
);

it(
  'a try that failed while the remote is away is not repeated before its end is there',
  { tags: 'long', timeout: 300_000 },
  async () => {
    const [bus, ant] = await pool(
      'if test -e "$HOME/tried"; then echo done; else touch "$HOME/tried"; sleep 3; exit 3; fi',
    );
    await ant.send('worker', 'one');
    const running = ant.start();
    await running.saw('claimed');
    bus.unplug();
    await running.saw('dispatch_failed');
    await running.saw(
      'dispatch_start',
      ({ id }) => id !== running.events.find(({ event }) => event === 'dispatch_start')?.['id'],
    );
    bus.plug();
    await running.saw('dispatch_done');
    await running.stop();
    expect(answers(bus)).toEqual(['done']);
    expect(claims(bus)).toEqual([
      'worker/1.end.md',
      'worker/1.md',
      'worker/2.end.md',
      'worker/2.md',
    ]);
  },
);

it('a message that is taken back while its claim is on its way, or its run goes on, has one notice', async () => {
  const [bus, ant, bee] = await pool('sleep 20');
  const running = ant.start();
  const late = await ant.send('worker', 'one');
  await running.saw('claimed');
  await ant.run('cancel', late);
  const early = await ant.send('worker', 'two');
  await running.saw('dispatch_start', ({ messages }) => (messages as string[]).includes(early));
  await ant.run('cancel', early);
  await running.saw('cancelled', ({ messages }) => (messages as string[]).includes(early));
  await running.stop();
  for (const host of [bee, ant, bee]) await host.once();
  const notices = bus.from('worker').map(({ message }) => message.re);
  expect(notices.flat().sort()).toEqual([late, early].sort());
  expect(claims(bus).filter((path) => path.endsWith('.end.md'))).toHaveLength(2);
});

it('a task that is taken back while the end of its failed try waits for the remote has one notice', async () => {
  const [bus, ant, bee] = await pool('sleep 1; exit 3');
  const channel = ant.channel();
  const task = await ant.send('worker', 'one');
  const running = ant.start();
  await running.saw('claimed');
  bus.unplug();
  await running.saw('dispatch_failed');
  const at = new Date();
  const writer = { actor: 'operator', at };
  const target = { relPath: task, message: { to: [{ name: 'worker' }] } };
  const cancel = formatMessage(cancelMessage(target, 'No.', writer, { only: false }));
  const place = messageFile(channel, relPathAt(at, '0123456789abcdef'));
  commitTo(`${bus.hub}.unplugged`, { [place]: cancel });
  bus.plug();
  await running.saw('failure_told');
  await until('the notice', () => bus.from('worker').length > 0);
  await running.stop();
  for (const host of [bee, ant, bee]) await host.once();
  expect(bus.from('worker').map(({ message: { failed } }) => failed?.reason)).toEqual([
    'cancelled',
  ]);
  expect(claims(bus).filter((path) => path.endsWith('.end.md'))).toHaveLength(2);
});
