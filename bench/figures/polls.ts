import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Figure, Scale } from '../figure.ts';
import { HttpRemote } from '../http-remote.ts';
import { spread, timed } from '../measure.ts';
import { hasNats, serveNats, withBell } from '../nats.ts';
import { World, type Serving } from '../world.ts';
import { residentOf, used } from './idle.ts';

const LATE_MS = 6000;
/** So many transports, each with a sender and a host, are watched at the same time. */
const AT_ONCE = 6;
/** Seconds after which every dispatcher has looked how many there are, and has come to rest. */
const REST_S = 100;

/** Without a bell: how late an idle machine finds mail; and what idle transports cost, also with one. */
export async function polls(scale: Scale): Promise<Figure[]> {
  return [await found(scale), ...(await together(scale))];
}

async function found({ polls: wanted }: Scale): Promise<Figure> {
  const worlds = await Promise.all(Array.from({ length: AT_ONCE }, () => World.make()));
  try {
    const each = Math.ceil(wanted / AT_ONCE);
    const [sends, totals]: [number[], number[]] = [[], []];
    await Promise.all(
      worlds.map(async (world) => {
        const sender = await world.machine('sender', 'true');
        const begun = join(world.root, 'begun');
        const cli = `date +%s%N > ${begun}.new; mv ${begun}.new ${begun}; cat > /dev/null; echo done`;
        await (await world.machine('host', cli)).serve();
        for (let round = 0; round < each; round++) {
          // It polls at 1, 2 and 4 s, and then every 5 s; where in these the message comes is by chance.
          await sleep(12_000 + Math.random() * 5000);
          rmSync(begun, { force: true });
          const from = Date.now();
          const send = (): unknown => sender.run('send', '--to', 'host', '--from', 'me', 'hello');
          sends.push(await timed(send));
          while (!existsSync(begun)) await sleep(5);
          totals.push(Number(readFileSync(begun, 'utf8')) / 1e6 - from);
        }
      }),
    );
    const longest = Math.max(...totals);
    return {
      figure: 'send → run started on an idle host, without a bell',
      floor: { what: 'send', ...spread(sends) },
      measured: spread(totals),
      goal: `longest ≤ ${String(LATE_MS)} ms`,
      met: longest <= LATE_MS,
      note: `longest ${longest.toFixed(0)} ms of ${String(totals.length)}, ${String(AT_ONCE)} transports at the same time`,
    };
  } finally {
    for (const world of worlds) await world.end();
  }
}

interface Idle {
  transports: number;
  how: 'polls' | 'bell';
  remote: 'local' | 'http';
}

/** Transports of one user that are idle, and what they have used when they were looked at first. */
interface Watched {
  idle: Idle;
  worlds: World[];
  running: Serving[];
  http?: HttpRemote;
  before: ReturnType<typeof costOf>;
}

/** All of them at the same time: they hardly use the machine, and only their own time counts. */
async function together({ idle: seconds }: Scale): Promise<Figure[]> {
  const wanted: Idle[] = [
    { transports: 1, how: 'polls', remote: 'local' },
    { transports: 10, how: 'polls', remote: 'local' },
    { transports: 1, how: 'polls', remote: 'http' },
    ...(hasNats('polls')
      ? ([
          { transports: 1, how: 'bell', remote: 'local' },
          { transports: 10, how: 'bell', remote: 'local' },
          { transports: 1, how: 'bell', remote: 'http' },
        ] as const)
      : []),
  ];
  const watched: Watched[] = [];
  try {
    for (const idle of wanted) watched.push(await started(idle));
    await sleep(REST_S * 1000);
    for (const one of watched) one.before = costOf(one);
    const since = performance.now();
    await sleep(Math.max(60, seconds) * 1000);
    return watched.map((one) => figureOf(one, (performance.now() - since) / 1000));
  } finally {
    for (const { worlds, http } of watched) {
      for (const world of worlds) await world.end();
      http?.close();
    }
  }
}

async function started(idle: Idle): Promise<Watched> {
  const worlds: World[] = [];
  const running: Serving[] = [];
  let [http, bell]: [HttpRemote | undefined, string | undefined] = [undefined, undefined];
  for (let at = 0; at < idle.transports; at++) {
    const world = await World.make();
    worlds.push(world);
    // One user has all of them.
    world.env['HOME'] = worlds[0]?.env['HOME'];
    if (idle.remote === 'http') {
      http = await HttpRemote.start(world.root);
      world.remote = `${http.url}/hub.git`;
    }
    const machine = await world.machine(`host${String(at)}`);
    if (idle.how === 'bell') {
      bell ??= await serveNats(world);
      await withBell(machine, bell);
    }
    const serving = await machine.serve();
    if (idle.how === 'bell') await serving.saw('bell_up');
    running.push(serving);
  }
  const watched = { idle, worlds, running, ...(http && { http }) };
  return { ...watched, before: costOf(watched) };
}

function costOf({
  running,
  http,
}: Pick<Watched, 'running' | 'http'>): Record<string, number> &
  Record<'cpu' | 'gits' | 'bytes', number> {
  const ticks = running.flatMap((one) => one.events('tick'));
  return {
    cpu: running.reduce((sum, { child }) => sum + used(child.pid ?? 0), 0),
    gits: ticks.reduce((sum, { git_processes: count }) => sum + Number(count), 0),
    bytes: http?.bytes ?? 0,
  };
}

function figureOf(watched: Watched, seconds: number): Figure {
  const { idle, running, before, http } = watched;
  const now = costOf(watched);
  const share = ((now.cpu - before.cpu) / seconds) * 100;
  const minutes = seconds / 60;
  const resident = running.reduce((sum, { child }) => sum + residentOf(child.pid ?? 0), 0);
  const gits = ((now.gits - before.gits) / minutes).toFixed(0);
  const bytes = ((now.bytes - before.bytes) / 1000 / minutes).toFixed(1);
  const many =
    idle.transports === 1
      ? 'an idle transport'
      : `${String(idle.transports)} idle transports together`;
  return {
    figure: `CPU of ${many}, ${idle.how === 'bell' ? 'with a bell' : 'by polls'}, ${idle.remote} remote`,
    value: `${share.toFixed(2)} %`,
    goal: '< 0.5 %',
    met: share < 0.5,
    note: `${(resident / running.length).toFixed(0)} MB each, ${gits} git processes a minute together${http === undefined ? '' : `, ${bytes} kB a minute over the network`}`,
  };
}
