import { join } from 'node:path';
import { ask } from '../../src/dispatcher/socket/wake.ts';
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
  /** The parts of a tick with news: git's fetch, and the rest. */
  fetching: Spread;
  ours: Spread;
}

/** The cost of a poll in small and in large transports. */
export async function ticks({ rounds, sizes }: Scale): Promise<Figure[]> {
  const figures: Figure[] = [];
  const measured: Ticks[] = [];
  for (const messages of sizes) {
    const found = await measure(messages, rounds);
    measured.push(found);
    const many = messages.toLocaleString('en');
    figures.push(
      {
        ...against(
          `idle tick at ${many} messages`,
          { what: 'one raw fetch, nothing new', ...found.fetch },
          found.idle,
          1.3,
        ),
        at: { line: 'idle tick', messages },
      },
      {
        ...against(
          `tick with ${String(NEW)} new at ${many}`,
          { what: 'fetch, diff-tree, cat-file raw', ...found.read },
          found.withNews,
          1.5,
        ),
        at: { line: `tick with ${String(NEW)} new`, messages },
      },
    );
  }
  const [small, large] = [measured[0], measured.at(-1)];
  if (small === undefined || large === undefined) return figures;
  const growth = large.ours.median / small.ours.median;
  figures.push({
    figure: `tick with ${String(NEW)} new but for git's fetch, the largest over the smallest`,
    value: `${growth.toFixed(2)}×`,
    goal: '≤ 1.5×',
    met: growth <= 1.5,
    note: `${small.ours.median.toFixed(1)} and ${large.ours.median.toFixed(1)} ms; git's fetch takes ${small.fetching.median.toFixed(1)} and ${large.fetching.median.toFixed(1)} ms, as it checks what it got against the whole tree`,
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
    // A tick does not normally fast-forward a checkout of so many files.
    await world.git(machine.dir, 'checkout', '--quiet', '--detach');
    const serving = await machine.serve('--interval', '3600');
    const sh = (script: string) => ran('sh', ['-c', script], { cwd: clone, env: world.env });
    const idle: number[] = [];
    const withNews: TickTimes[] = [];
    const { fetch, read } = await inTurn(rounds, {
      idle: async () => idle.push((await tick(machine, serving)).whole),
      fetch: () => sh(FETCH),
      append: () => world.append(NEW),
      news: async () => withNews.push(await tick(machine, serving)),
      read: () => sh(READ),
    });
    await serving.stop();
    const counted = withNews.slice(1);
    return {
      fetch,
      read,
      idle: spread(idle.slice(1)),
      withNews: spread(counted.map(({ whole }) => whole)),
      fetching: spread(counted.map(({ fetching }) => fetching)),
      ours: spread(counted.map(({ whole, fetching }) => whole - fetching)),
    };
  } finally {
    await world.end();
  }
}

/** The milliseconds of one tick, and of the fetch in it. */
interface TickTimes {
  whole: number;
  fetching: number;
}

/** One tick, as the dispatcher itself reports it. */
export async function tick(machine: Machine, serving: Serving): Promise<TickTimes> {
  const before = serving.events('tick').length;
  await ask(join(machine.state, 'wake.sock'), { op: 'wake' }, 10_000);
  await serving.saw('tick', before + 1);
  const last = serving.events('tick').at(-1);
  return { whole: Number(last?.['duration_ms']), fetching: Number(last?.['fetch_ms']) };
}
