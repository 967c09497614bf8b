import { expect, it } from 'vitest';
import { Bus, type Host } from '../support/bus.ts';

/** Answers every message with the text it received. */
const ECHO = `sed -n '/^--- Message/,$p' | sed 1d`;

const at = (n: number): string =>
  `2026/06/09/${String(n).padStart(9, '0')}Z-0000000${String(n)}.md`;

interface Pushed {
  from: string;
  to: string;
  re?: string;
  origin?: string;
  type?: string;
  host?: string;
}

/** Pushes messages by hand, as anybody can. */
function push(host: Host, channel: string, messages: Record<string, Pushed>): void {
  host.edit(
    Object.fromEntries(
      Object.entries(messages).map(([relPath, { type = 'text', ...fields }]) => {
        const header = { ...fields, type, timestamp: '2026-06-09T19:00:00.000Z' };
        const lines = Object.entries(header).map(([key, value]) => `${key}: ${value}\n`);
        return [
          `data/channels/${channel}/${relPath}`,
          `---\n${lines.join('')}---\n\nfrom ${fields.from}\n`,
        ];
      }),
    ),
  );
}

interface World {
  bus: Bus;
  host: Host;
  here: string;
  there: string;
}

async function world(actors: Record<string, string> = { boss: ECHO }): Promise<World> {
  const bus = new Bus();
  const host = await bus.host('front', actors);
  const made = await host.run('channel', 'create', 'there', '--parent', host.channel());
  const there = made.out.trim().split('\n').at(-1) ?? '';
  await host.once();
  return { bus, host, here: host.channel(), there };
}

/** What the boss wrote on its host: channel, addressees and the answered messages. */
const written = (bus: Bus): unknown[] =>
  bus
    .from('boss')
    .filter(({ message }) => message.host === 'front')
    .map(({ channel, message: { to, re } }) => ({ channel, to: to.map(({ name }) => name), re }));

it('an origin on somebody’s task sends its answer nowhere else', async () => {
  const { bus, host, here, there } = await world();
  push(host, there, { [at(1)]: { from: 'carol', to: 'dave' } });
  push(host, here, {
    [at(2)]: { from: 'mallory', to: 'boss', origin: `${there}/${at(1)}` },
  });
  await host.once();
  expect(written(bus)).toEqual([{ channel: here, to: ['mallory'], re: [at(2)] }]);
});

it('a forged task of the actor’s leads to no question that was not put to it', async () => {
  const { bus, host, here, there } = await world();
  push(host, there, {
    [at(1)]: { from: 'carol', to: 'dave' },
    [at(2)]: { from: 'carol', to: 'boss', type: 'note' },
  });
  push(host, here, {
    [at(3)]: { from: 'boss', to: 'mallory', origin: `${there}/${at(1)}` },
    [at(4)]: { from: 'mallory', to: 'boss', re: at(3) },
    [at(5)]: { from: 'boss', to: 'mallory', origin: `${there}/${at(2)}` },
    [at(6)]: { from: 'mallory', to: 'boss', re: at(5) },
  });
  await host.once();
  // Nobody asked it: its output is recorded in the channel where it was woken, and wakes nobody.
  expect(written(bus)).toEqual([
    { channel: here, to: ['mallory'], re: [at(3)] },
    { channel: here, to: ['mallory'], re: [at(5)] },
  ]);
  expect(bus.messages().filter(({ channel }) => channel === there)).toHaveLength(2);
});

it(
  'an origin that names nothing, itself, a loop, or what is no message changes nothing',
  { tags: 'long' },
  async () => {
    const { bus, host, here, there } = await world();
    const nowhere = '11111111-1111-4111-8111-111111111111';
    const origins = [
      `${nowhere}/${at(1)}`,
      `${here}/${at(2)}`,
      `${there}/${at(3)}`,
      `${there}/../../../hosts/front.md`,
      '../../CHANNEL.md',
      '{a: b}',
      '""',
    ];
    push(host, there, { [at(3)]: { from: 'boss', to: 'boss', origin: `${here}/${at(3)}` } });
    push(
      host,
      here,
      Object.fromEntries(
        origins.map((origin, n) => [
          at(n + 1),
          { from: `asker${String(n)}`, to: 'boss', origin } satisfies Pushed,
        ]),
      ),
    );
    const log = await host.once();
    expect(log.filter(({ event }) => event === 'message_malformed')).toEqual([]);
    expect(written(bus)).toEqual(
      expect.arrayContaining(
        origins.map((_, n) => ({ channel: here, to: [`asker${String(n)}`], re: [at(n + 1)] })),
      ),
    );
    expect(written(bus)).toHaveLength(origins.length);
  },
);

it('an origin wakes nobody: only re does, in its own channel', { tags: 'long' }, async () => {
  const { bus, host, here, there } = await world();
  push(host, there, { [at(1)]: { from: 'boss', to: 'carol' } });
  push(host, here, {
    [at(2)]: { from: 'x', to: 'dave' },
    [at(3)]: { from: 'carol', to: 'boss', re: at(2), origin: `${there}/${at(1)}` },
  });
  const log = await host.once();
  expect(log.filter(({ event }) => event === 'dispatch_start')).toEqual([]);
  expect(written(bus)).toEqual([]);
});

it('a send of a run stays in its channel where the addressee wrote elsewhere to others only', async () => {
  const boss = `cat > /dev/null; crosstalk send --to carol "psst" >&2`;
  const { bus, host, here, there } = await world({ boss });
  push(host, there, { [at(1)]: { from: 'carol', to: 'dave' } });
  push(host, here, { [at(2)]: { from: 'mallory', to: 'boss', origin: `${there}/${at(1)}` } });
  await host.once();
  expect(written(bus)).toEqual([{ channel: here, to: ['carol'], re: [] }]);
});
