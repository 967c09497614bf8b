import { expect, it } from 'vitest';
import { Bus, type Host } from '../support/bus.ts';
import { setBack, tipOf } from '../support/history.ts';

const bodies = (bus: Bus): string[] =>
  bus
    .messages()
    .map(({ message }) => message.body.trim())
    .sort();

const sync = (host: Host): Promise<unknown> => host.run('sync');
const status = (host: Host): Promise<unknown> => host.run('status');
const send = (host: Host): Promise<unknown> => host.send('nobody', 'more');

// What is run after the remote has lost a push, in which order.
const ORDERS: [string, ((host: Host) => Promise<unknown>)[]][] = [
  ['sync', [sync]],
  ['status, sync', [status, sync]],
  ['send', [send]],
  ['send, sync', [send, sync]],
  ['status, send', [status, send]],
  ['status, sync, send', [status, sync, send]],
];

it.each(ORDERS)(
  'what a remote loses after it has said that it has it comes back without a dispatcher: %s',
  async (_, commands) => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'true' });
    const other = await bus.host('side', {});
    const before = tipOf(bus);
    await host.send('nobody', 'lost');
    setBack(bus, before);
    for (const run of commands) await run(host);
    expect(bodies(bus)).toContain('lost');
    // What stands on the older state does not keep it away either.
    await host.send('nobody', 'lost too');
    setBack(bus, before);
    await other.send('nobody', 'from elsewhere');
    for (const run of commands) await run(host);
    expect(bodies(bus)).toEqual(
      expect.arrayContaining(['lost', 'lost too', 'from elsewhere']) as string[],
    );
    expect(new Set(bodies(bus).filter((body) => body !== 'more')).size).toBe(3);
  },
);

it('what was taken out one by one does not come back by a command', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'true' });
  const before = tipOf(bus);
  await host.send('nobody', 'lost');
  setBack(bus, before);
  await sync(host);
  const [message] = bus.messages();
  host.remove(`data/channels/${message?.channel ?? ''}/${message?.relPath ?? ''}`);
  await sync(host);
  await host.send('nobody', 'more');
  await sync(host);
  expect(bodies(bus)).toEqual(['more']);
});
