import { statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { formatBeat, parseBeat, type Beat } from '../../src/bell/beat.ts';
import { Machines } from '../../src/dispatcher/bell/machines.ts';
import { openTransport } from '../../src/actions/context.ts';
import { saveHeartbeat, type HeardMachine, type Heartbeat } from '../../src/state/heartbeat.ts';
import { Bus } from '../support/bus.ts';

const MOST_BYTES = 256 * 1024;
/** As many aliases as are remembered. */
const MANY = Array.from({ length: 1000 }, (_, at) => `host-${String(at).padStart(4, '0')}`);
const LONG = 'x'.repeat(64);

interface Ears {
  /** The bytes of the heartbeat's file, once what was heard is written to it. */
  written: () => Promise<number>;
  /** Hears a beat as it arrives from the bell. */
  hear: (beat: Partial<Beat> & { host: string }) => Promise<void>;
  all: () => HeardMachine[];
}

/** A machine that listens on a bus with these hosts, each of which declares `actors`. */
async function listening(aliases: readonly string[], actors: readonly string[]): Promise<Ears> {
  const bus = new Bus();
  const self = await bus.host('self', { worker: 'true' });
  const declared = actors.map((actor) => `  ${actor}:\n    default: { cli: "true" }\n`).join('');
  self.edit(
    Object.fromEntries(
      aliases.map((alias) => [
        `hosts/${alias}.md`,
        `---\nalias: ${alias}\nactors:\n${declared}---\n`,
      ]),
    ),
  );
  await self.news();
  const { transport } = await openTransport(self.dir, { ...process.env, ...self.env });
  onTestFinished(() => {
    transport.close();
  });
  const tip = await transport.tip();
  const machines = new Machines(transport, () => new Date());
  const file = join(bus.root, 'heartbeat.json');
  return {
    written: async () => {
      const bell = { servers: 'nats://one', machines: machines.all };
      await saveHeartbeat(file, { bell } as unknown as Heartbeat);
      return statSync(file).size;
    },
    hear: async (said) => {
      const beat = { version: '6.1.0', every: 30, actors: [], running: [], held: 0, ...said };
      const heard = parseBeat(Buffer.from(formatBeat(beat)));
      if (heard === undefined) throw new Error('this is no beat');
      await machines.hear(heard, tip, 'self');
    },
    all: () => machines.all,
  };
}

it('of what is said in the place of a machine only the actors that its file declares are kept, and no time beyond an hour', async () => {
  const { hear, all } = await listening(['b'], ['beta', 'gamma']);
  const invented = Array.from({ length: 90 }, (_, at) => `${String(at)}-${'y'.repeat(50)}`);
  const running = ['beta', ...invented, 'beta', 'gamma', 'worker'];
  await hear({ host: 'b', running, actors: invented, every: 86_400 });
  expect(all()).toEqual([
    expect.objectContaining({ host: 'b', running: ['beta', 'beta', 'gamma'], every: 3600 }),
  ]);
  expect(JSON.stringify(all())).not.toContain('yyy');
});

it(
  'a thousand machines at work are all remembered, in any number of beats',
  { tags: 'long' },
  async () => {
    const { hear, all, written } = await listening(MANY, ['beta']);
    for (const host of [...MANY, ...MANY]) await hear({ host, running: ['beta'] });
    expect(all().map(({ host }) => host)).toEqual(MANY);
    expect(await written()).toBeLessThan(MOST_BYTES);
  },
);

it(
  'what is said in the place of a thousand machines takes a fixed room, and whoever spoke last is in it',
  { tags: 'long' },
  async () => {
    const { hear, all, written } = await listening(MANY, [LONG]);
    const running = Array.from({ length: 100 }, () => LONG);
    for (const host of MANY) await hear({ host, running, actors: running, every: 86_400 });
    expect(await written()).toBeLessThan(MOST_BYTES + 1000);
    const kept = all().map(({ host }) => host);
    expect(kept).toEqual(MANY.slice(-kept.length));
    await hear({ host: MANY[0]!, running: [] });
    expect(all().map(({ host }) => host)).toContain(MANY[0]);
  },
);
