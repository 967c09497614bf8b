import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Figure, Scale } from '../figure.ts';
import { spread, timed } from '../measure.ts';
import { World, type Serving } from '../world.ts';
import { residentOf, used } from './idle.ts';

const LATE_MS = 6000;
const TRANSPORTS = 10;
/** Seconds after which every dispatcher has looked how many there are, and has come to rest. */
const REST_S = 100;

/** Without a bell: how late an idle machine finds mail, and what many idle transports cost together. */
export async function polls(scale: Scale): Promise<Figure[]> {
  return [...(await found(scale)), ...(await together(scale))];
}

async function found({ polls: rounds }: Scale): Promise<Figure[]> {
  const world = await World.make();
  try {
    const sender = await world.machine('sender', 'true');
    const begun = join(world.root, 'begun');
    const host = await world.machine('host', `date +%s%N > ${begun}; cat > /dev/null; echo done`);
    await host.serve();
    const [sends, totals]: [number[], number[]] = [[], []];
    for (let round = 0; round < rounds; round++) {
      // It polls at 1, 2 and 4 s, and then every 5 s; where in these the message comes is by chance.
      await sleep(12_000 + Math.random() * 5000);
      rmSync(begun, { force: true });
      const from = Date.now();
      sends.push(await timed(() => sender.run('send', '--to', 'host', '--from', 'me', 'hello')));
      while (!existsSync(begun)) await sleep(5);
      await sleep(50);
      totals.push(Number(readFileSync(begun, 'utf8')) / 1e6 - from);
    }
    const longest = Math.max(...totals);
    return [
      {
        figure: 'send → run started on an idle host, without a bell',
        floor: { what: 'send', ...spread(sends) },
        measured: spread(totals),
        goal: `longest ≤ ${String(LATE_MS)} ms`,
        met: longest <= LATE_MS,
        note: `longest ${longest.toFixed(0)} ms of ${String(rounds)}`,
      },
    ];
  } finally {
    await world.end();
  }
}

async function together({ idle }: Scale): Promise<Figure[]> {
  const worlds: World[] = [];
  const running: Serving[] = [];
  try {
    for (let at = 0; at < TRANSPORTS; at++) {
      const world = await World.make();
      worlds.push(world);
      // One user has all of them.
      world.env['HOME'] = worlds[0]?.env['HOME'];
      running.push(await (await world.machine(`host${String(at)}`)).serve());
    }
    await sleep(REST_S * 1000);
    const pids = running.map(({ child }) => child.pid ?? 0);
    const sum = (of: (pid: number) => number): number =>
      pids.reduce((total, pid) => total + of(pid), 0);
    const gits = (): number =>
      running
        .flatMap((one) => one.events('tick'))
        .reduce((total, { git_processes: count }) => total + Number(count), 0);
    const [from, before, since] = [sum(used), gits(), performance.now()];
    await sleep(Math.max(60, idle) * 1000);
    const seconds = (performance.now() - since) / 1000;
    const share = ((sum(used) - from) / seconds) * 100;
    const started = ((gits() - before) / seconds) * 60;
    return [
      {
        figure: `CPU of ${String(TRANSPORTS)} idle transports together, default interval`,
        value: `${share.toFixed(2)} %`,
        goal: '< 0.5 %',
        met: share < 0.5,
        note: `${(sum(residentOf) / TRANSPORTS).toFixed(0)} MB each, ${started.toFixed(0)} git processes a minute together`,
      },
    ];
  } finally {
    for (const world of worlds) await world.end();
  }
}
