import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Figure, Scale } from '../figure.ts';
import { spread, timed, type Spread } from '../measure.ts';
import { hasNats, serveNats, withBell } from '../nats.ts';
import { World, type Machine, type Serving } from '../world.ts';

/** What a run on another machine may begin after `send` itself, in milliseconds. */
const MEDIAN_MS = 150;
const LATE_MS = 500;
/** Processor time of a host that has no mail, in milliseconds. */
const RING_MS = 1;
const NAMED = 3;
/** Milliseconds after which many hosts that have just started poll no more than once a minute each. */
const REST_MS = 65_000;
/** Milliseconds without a push after which all answers of a round are there. */
const QUIET_MS = 1500;

/** From the start of `send` on one machine to the start of the run on another, idle one, by the bell. */
export async function bell({ rounds, hosts }: Scale): Promise<Figure[]> {
  if (!hasNats('bell')) return [];
  return [...(await rung(rounds, 1, 1)), ...(await rung(rounds, hosts, NAMED))];
}

async function rung(rounds: number, hosts: number, named: number): Promise<Figure[]> {
  const world = await World.make();
  try {
    const url = await serveNats(world);
    const sender = await world.machine('sender', 'true');
    const others: Machine[] = [];
    for (let at = 0; at < hosts; at++) {
      const begun = join(world.root, `begun-${String(at)}`);
      const cli = `date +%s%N > ${begun}.new; mv ${begun}.new ${begun}; cat > /dev/null; echo done`;
      others.push(await world.machine(`host${String(at)}`, cli));
    }
    const serving: Serving[] = [];
    for (const machine of [sender, ...others]) {
      await withBell(machine, url);
      const one = await machine.serve('--interval', '3600');
      await one.saw('bell_up');
      serving.push(one);
    }
    // They have begun to poll every second, and soon poll once in a while.
    await sleep(hosts > 1 ? REST_MS : 0);
    const unnamed = serving.slice(1 + named);
    const to = others.slice(0, named).map(({ alias }) => alias);
    const [sends, totals, over]: [number[], number[], number[]] = [[], [], []];
    let [from, since] = [busy(unnamed), performance.now()];
    for (let round = 0; round <= rounds; round++) {
      const marks = to.map((_, at) => join(world.root, `begun-${String(at)}`));
      for (const mark of marks) rmSync(mark, { force: true });
      const begun = Date.now();
      const sent = timed(() => sender.run('send', '--to', to.join(','), '--from', 'me', 'hello'));
      while (!marks.every((mark) => existsSync(mark))) await sleep(1);
      const started = marks.map((mark) => Number(readFileSync(mark, 'utf8')) / 1e6);
      const send = await sent;
      await quiet(world);
      if (round === 0) [from, since] = [busy(unnamed), performance.now()];
      if (round === 0) continue;
      const total = Math.max(...started) - begun;
      sends.push(send);
      totals.push(total);
      over.push(total - send);
    }
    const [woken, took] = [busy(unnamed) - from, performance.now() - since];
    const figures = figuresOf(hosts, named, { sends, totals, over });
    if (unnamed.length === 0) return figures;
    // What they do of themselves in the same time is not the bell's.
    const rest = busy(unnamed);
    await sleep(took);
    const idle = busy(unnamed) - rest;
    const each = (woken - idle) / unnamed.length / rounds / (1 + named);
    return [...figures, unnamedFigure(hosts - named, each, idle / took / unnamed.length)];
  } finally {
    await world.end();
  }
}

/** What each ring of a round, of the send and of the answers, costs those who have no mail. */
function unnamedFigure(hosts: number, ms: number, idle: number): Figure {
  return {
    figure: 'CPU of a host that a ring does not name, for each ring',
    value: `${ms.toFixed(2)} ms`,
    goal: `≤ ${String(RING_MS)} ms`,
    met: ms <= RING_MS,
    note: `mean of ${String(hosts)} hosts, with what machines say of themselves meanwhile; without rings each takes ${(idle * 100).toFixed(2)} % of a core`,
  };
}

/** Milliseconds of a core that processes have used, their threads included. */
function busy(serving: readonly Serving[]): number {
  let ns = 0;
  for (const { child } of serving) {
    const tasks = `/proc/${String(child.pid)}/task`;
    for (const task of readdirSync(tasks))
      ns += Number(readFileSync(join(tasks, task, 'schedstat'), 'utf8').split(' ')[0]);
  }
  return ns / 1e6;
}

/** Waits until the answers of a round are there: they are no part of the next one. */
async function quiet(world: World): Promise<void> {
  let tip = '';
  for (let since = performance.now(); performance.now() - since < QUIET_MS;) {
    await sleep(100);
    const now = await world.git(world.hub, 'rev-parse', 'main');
    if (now !== tip) since = performance.now();
    tip = now;
  }
}

function figuresOf(
  hosts: number,
  named: number,
  { sends, totals, over }: Record<'sends' | 'totals' | 'over', number[]>,
): Figure[] {
  const late = spread(over);
  const worst = Math.max(...over);
  const isOne = hosts === 1;
  const limit = isOne ? MEDIAN_MS : LATE_MS;
  const value = isOne ? late.median : worst;
  const floor: { what: string } & Spread = { what: 'send', ...spread(sends) };
  const who = isOne ? 'an idle host' : `${String(named)} of ${String(hosts)} idle hosts`;
  return [
    {
      figure: `send → run started on ${who}, by the bell`,
      floor,
      measured: spread(totals),
      goal: `${isOne ? 'median' : 'longest'} ≤ send + ${String(limit)} ms`,
      met: value <= limit,
      note: `over send: median ${late.median.toFixed(0)} ms, p95 ${late.p95.toFixed(0)} ms, longest ${worst.toFixed(0)} ms`,
    },
  ];
}
