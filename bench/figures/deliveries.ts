import type { Figure, Scale } from '../figure.ts';
import { inTurn, spread } from '../measure.ts';
import { Settled } from '../../src/state/settled.ts';
import { World, type Machine } from '../world.ts';
import { residentOf } from './idle.ts';
import { tick } from './ticks.ts';

const NEW = 10;
const LIMIT = 1.1;
const ALIASES = ['empty', 'settled', 'waiting'];

/** What a poll costs a machine that has settled much, and one on which much waits. */
export async function deliveries({ rounds, deliveries: count }: Scale): Promise<Figure[]> {
  const world = await World.make();
  try {
    const machines: Machine[] = [];
    for (const alias of ALIASES) {
      const machine = await world.machine(alias);
      await machine.run('dispatch', '--once', '--host', alias);
      machines.push(machine);
    }
    await world.fill(count, { to: 'waiting' });
    for (const machine of machines) {
      if (machine.alias === 'waiting') await machine.run('pause');
      if (machine.alias === 'settled') await settle(machine.state, count);
      await world.git(machine.dir, 'checkout', '--quiet', '--detach');
    }
    const polled = await Promise.all(
      machines.map(async (machine) => {
        const serving = await machine.serve('--interval', '3600');
        const times: number[] = [];
        const poll = async (): Promise<void> => {
          const { whole, fetching } = await tick(machine, serving);
          times.push(whole - fetching);
        };
        return { machine, serving, times, poll };
      }),
    );
    const round = async (): Promise<void> => {
      for (const { poll } of polled) await poll();
      // Who comes first in a round has the fewest of the others' processes beside it.
      polled.push(...polled.splice(0, 1));
    };
    await inTurn(rounds, { append: () => world.append(NEW), round });
    polled.sort((a, b) => ALIASES.indexOf(a.machine.alias) - ALIASES.indexOf(b.machine.alias));
    const found = polled.map(({ machine, serving, times }) => ({
      alias: machine.alias,
      resident: `${residentOf(serving.child.pid ?? 0).toFixed(0)} MB`,
      ...spread(times.slice(1)),
    }));
    const [empty, ...full] = found;
    if (empty === undefined) return [];
    return full.map(({ alias, resident, ...measured }) => {
      const ratio = measured.median / empty.median;
      return {
        figure: `tick with ${String(NEW)} new beside ${count.toLocaleString('en')} ${alias} deliveries, but for git's fetch`,
        floor: { what: 'with none', ...empty },
        measured,
        ratio,
        goal: `≤ ${String(LIMIT)}×`,
        met: ratio <= LIMIT,
        note: `in memory: ${resident}, with none ${empty.resident}`,
      };
    });
  } finally {
    await world.end();
  }
}

/** Puts on record that so many deliveries were settled. */
async function settle(state: string, count: number): Promise<void> {
  const paths = Array.from({ length: count }, (_, n) => `2024/01/01/${String(n)}.md`);
  await new Settled(state).done('settled', 'channel', paths);
}
