import { join } from 'node:path';
import { ask } from '../../src/dispatcher/wake.ts';
import { against, type Figure, type Scale } from '../figure.ts';
import { inTurn, ran, spread, type Spread } from '../measure.ts';
import { World, type Machine, type Serving } from '../world.ts';

const NEW = 10;
const REFSPEC = '+refs/heads/main:refs/remotes/origin/main';
const FETCH = `git -c gc.auto=0 fetch --quiet --no-tags --no-auto-maintenance origin ${REFSPEC}`;
const READ = `old=$(git rev-parse origin/main); ${FETCH}; git diff-tree -r -z --raw --no-renames --no-abbrev $old origin/main | tr '\\0' '\\n' | awk '{ print $4 }' RS=: | git cat-file --batch > /dev/null`;

interface Ticks {
  fetch: Spread;
  idle: Spread;
  read: Spread;
  withNews: Spread;
}

/** What a poll costs, in a small and in a large transport. */
export async function ticks({ rounds, small, large }: Scale): Promise<Figure[]> {
  const atSmall = await measure(small, rounds);
  const atLarge = await measure(large, rounds);
  const figures = (
    [
      [small, atSmall],
      [large, atLarge],
    ] as const
  ).flatMap(([messages, { fetch, idle, read, withNews }]) => [
    against(
      `idle tick at ${messages.toLocaleString('en')} messages`,
      { what: 'one raw fetch, nothing new', ...fetch },
      idle,
      1.3,
    ),
    against(
      `tick with ${String(NEW)} new at ${messages.toLocaleString('en')}`,
      { what: 'fetch, diff-tree, cat-file raw', ...read },
      withNews,
      1.5,
    ),
  ]);
  const growth = atLarge.withNews.median / atSmall.withNews.median;
  const gits = atLarge.read.median / atSmall.read.median;
  figures.push({
    figure: `tick with ${String(NEW)} new, large over small`,
    value: `${growth.toFixed(2)}×`,
    goal: '≤ 1.5×',
    met: growth <= 1.5,
    note: `git's own commands grow ${gits.toFixed(2)}×`,
  });
  return figures;
}

async function measure(messages: number, rounds: number): Promise<Ticks> {
  const world = await World.make();
  try {
    const machine = await world.machine('idle');
    await world.fill(messages);
    const clone = join(world.root, 'raw');
    await world.git(world.root, 'clone', '--quiet', '--no-checkout', world.hub, clone);
    // Fast-forwarding a checkout of so many files is not what a tick costs.
    await world.git(machine.dir, 'checkout', '--quiet', '--detach');
    const serving = await machine.serve('--interval', '3600');
    const sh = (script: string) => ran('sh', ['-c', script], { cwd: clone, env: world.env });
    const idle: number[] = [];
    const withNews: number[] = [];
    const { fetch, read } = await inTurn(rounds, {
      idle: async () => idle.push(await tick(machine, serving)),
      fetch: () => sh(FETCH),
      append: () => world.append(NEW),
      news: async () => withNews.push(await tick(machine, serving)),
      read: () => sh(READ),
    });
    await serving.stop();
    return { fetch, read, idle: spread(idle.slice(1)), withNews: spread(withNews.slice(1)) };
  } finally {
    await world.end();
  }
}

/** Milliseconds of one tick, as the dispatcher itself says. */
async function tick(machine: Machine, serving: Serving): Promise<number> {
  const before = serving.events('tick').length;
  await ask(join(machine.state, 'wake.sock'), { op: 'wake' }, 10_000);
  await serving.saw('tick', before + 1);
  return Number(serving.events('tick').at(-1)?.['duration_ms']);
}
