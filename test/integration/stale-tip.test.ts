import { expect, it } from 'vitest';
import { MessageReader } from '../../src/bus/message-reader.ts';
import { fetchNews } from '../../src/dispatcher/tick.ts';
import { Deliveries } from '../../src/dispatcher/intake/deliveries.ts';
import { Known } from '../../src/dispatcher/intake/known.ts';
import { MissingParents } from '../../src/dispatcher/intake/missing-parents.ts';
import { Lag } from '../../src/dispatcher/intake/lag.ts';
import { TickMeter } from '../../src/dispatcher/tick.ts';
import { openTransport } from '../../src/actions/context.ts';
import { Cursors } from '../../src/state/cursors.ts';
import { DeadLetters } from '../../src/state/dead-letters.ts';
import { Outbox } from '../../src/state/outbox.ts';
import { Settled } from '../../src/state/settled.ts';
import { Written } from '../../src/state/written.ts';
import type { Transport } from '../../src/transport/transport.ts';
import { Bus, type Host } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { byHand, put, setBack, tipOf } from '../support/history.ts';

/** The deliveries of a machine with its own clone and state, and their log. */
async function deliveriesOf(
  host: Host,
): Promise<{ deliveries: Deliveries; transport: Transport; logged: string[] }> {
  const { transport } = await openTransport(host.dir, { ...process.env, ...host.env });
  const logged: string[] = [];
  const outbox = new Outbox(host.state);
  const deliveries = new Deliveries({
    transport,
    reader: new MessageReader(transport),
    log: (event) => logged.push(event),
    known: new Known(
      {
        outbox,
        deadLetters: new DeadLetters(host.state),
        settled: new Settled(host.state),
      },
      () => undefined,
    ),
    lacking: new MissingParents({
      transport,
      reader: new MessageReader(transport),
      settled: new Settled(host.state),
      outbox,
      deadLetters: new DeadLetters(host.state),
    }),
    settled: new Settled(host.state),
    written: new Written(host.state),
    publishAgain: () => Promise.resolve(),
    fromNow: false,
    cursors: new Cursors(host.state),
  });
  return { deliveries, transport, logged };
}

it('a look at the bus from before a push, or one that failed, is no rewritten history; a later one is', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'true' });
  const { deliveries, transport, logged } = await deliveriesOf(host);
  const look = async (): Promise<string> => {
    await deliveries.foresee();
    await transport.refresh();
    return tipOf(bus);
  };
  const older = await look();
  await deliveries.admit('front', ['worker'], older, true);

  // A push ends, here or in another clone that pushed for this one, after the bus was asked.
  const asked = await look();
  host.edit({ 'local/note.md': 'pushed meanwhile\n' });
  const pushed = tipOf(bus);
  deliveries.reached(pushed);
  expect(await deliveries.advance('front', asked, true)).toBeUndefined();

  // The bus cannot be asked: the known tip is as old as before.
  await deliveries.foresee();
  expect(await deliveries.advance('front', asked, false)).toBeUndefined();
  expect(logged).not.toContain('cursor_lost');

  expect(await look()).toBe(pushed);
  await deliveries.advance('front', pushed, true);
  expect(logged).not.toContain('cursor_lost');

  setBack(bus, older);
  await deliveries.advance('front', await look(), true);
  expect(logged.filter((event) => event === 'cursor_lost')).toHaveLength(1);
  transport.close();
});

it('a tip without news that lacks what was pushed is not looked into', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'true' });
  const { deliveries, transport } = await deliveriesOf(host);
  const known = tipOf(bus);
  await deliveries.admit('front', ['worker'], known, true);
  host.edit({ 'local/note.md': 'pushed by another clone, and fetched\n' });
  const pushed = tipOf(bus);
  await transport.refresh();
  deliveries.reached(pushed);
  setBack(bus, known);
  const [path, content] = byHand(host.channel(), 1, 'hello');
  host.edit({ [path]: content });
  // The bus cannot be asked, while another process has fetched the tip to which it was set back.
  await deliveries.foresee();
  await transport.refresh();
  expect(await deliveries.advance('front', tipOf(bus), false)).toBeUndefined();
  expect(deliveries.mailboxes.waiting()).toEqual([]);
  await deliveries.foresee();
  await deliveries.advance('front', tipOf(bus), true);
  expect(deliveries.mailboxes.waiting()).toHaveLength(1);
  transport.close();
});

it(
  'what was answered after the bus was asked is not delivered again when its answer tells of a rewritten history',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'true' });
    const question = await host.send('worker', 'hello');
    const { deliveries, transport, logged } = await deliveriesOf(host);
    const look = async (): Promise<string> => {
      await deliveries.foresee();
      await transport.refresh();
      return tipOf(bus);
    };
    await deliveries.admit('front', ['worker'], await look(), true);
    const [waiting] = deliveries.mailboxes.waiting();
    deliveries.mailboxes.take('worker', waiting?.channel ?? '', [question]);

    const tree = git(bus.hub, 'rev-parse', 'main^{tree}').trim();
    setBack(bus, git(bus.hub, 'commit-tree', '-m', 'rewritten', tree).trim());
    const asked = await look();
    // Its answer is pushed, and leaves the outbox, before the answer of the bus is examined.
    await deliveries.settle('worker', waiting?.channel ?? '', [question]);
    await deliveries.advance('front', asked, true);
    expect(logged).toContain('cursor_lost');
    expect([...deliveries.mailboxes.waiting()]).toEqual([]);
    transport.close();
  },
);

it(
  'what was pushed before a start is missed once the bus can be asked, not before',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'echo done' });
    const older = tipOf(bus);
    await host.send('worker', 'hello');
    await host.once();
    const { deliveries, transport, logged } = await deliveriesOf(host);
    await deliveries.foresee();
    await deliveries.admit('front', ['worker'], await known(transport), false);
    expect(logged).not.toContain('cursor_lost');
    setBack(bus, older);
    await deliveries.foresee();
    await transport.refresh();
    await deliveries.advance('front', older, true);
    expect(logged).toContain('cursor_lost');
    transport.close();
  },
);

async function known(transport: Transport): Promise<string> {
  return (await transport.tip()) ?? '';
}

it('a remote that shows an older state is waited for, and the branch counts as set back once it stays there, or more stands on that', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'true' });
  const { deliveries, transport, logged } = await deliveriesOf(host);
  const log = (event: string): void => void logged.push(event);
  let time = 0;
  const now = (): Date => new Date(time);
  const lag = new Lag({ transport, log, now }, () => 1000);
  const parts = { transport, deliveries, log, mayRead: () => Promise.resolve() };
  const { signal } = new AbortController();
  const look = async (shown: string): Promise<unknown> => {
    setBack(bus, shown);
    const { tip = '', isNews } = await fetchNews(parts, new TickMeter(transport), { lag, signal });
    await deliveries.advance('front', tip, isNews);
    if (deliveries.mailboxes.scanned === undefined)
      await deliveries.admit('front', ['worker'], tip, isNews);
    return { tip, isNews };
  };
  const oldest = tipOf(bus);
  host.edit({ 'local/one.md': 'one\n' });
  const older = tipOf(bus);
  host.edit({ 'local/two.md': 'two\n' });
  const newest = tipOf(bus);
  const waits = { tip: newest, isNews: false };

  expect(await look(newest)).toEqual({ tip: newest, isNews: true });
  expect(await look(older)).toEqual(waits);
  time += 999;
  expect(await look(oldest)).toEqual(waits);
  expect(await look(newest)).toEqual({ tip: newest, isNews: true });
  expect(logged.filter((event) => event === 'remote_behind')).toHaveLength(1);
  expect(logged).not.toContain('cursor_lost');

  expect(await look(older)).toEqual(waits);
  time += 1001;
  expect(await look(oldest)).toEqual({ tip: oldest, isNews: true });
  expect(logged.filter((event) => event === 'cursor_lost')).toHaveLength(1);

  await look(newest);
  expect(await look(older)).toEqual(waits);
  put(bus, byHand(host.channel(), 1, 'on the older state'));
  expect(await look(tipOf(bus))).toEqual({ tip: tipOf(bus), isNews: true });
  expect(logged.filter((event) => event === 'cursor_lost')).toHaveLength(2);

  // What it has shown before may have gone from the clone, with the history that it was in.
  expect(await lag.insteadOf(tipOf(bus), ['f'.repeat(40)])).toBeUndefined();
  transport.close();
});
