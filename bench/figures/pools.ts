import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { number } from '../../src/store/sqlite.ts';
import { Store } from '../../src/store/store.ts';
import { against, together, type Figure, type Scale } from '../figure.ts';
import { inTurn, timed } from '../measure.ts';
import { World, type Machine } from '../world.ts';

const HOSTS = 4;
const TASKS = 24;
const TASK_S = 1;
const POLL = ['--interval', '0.5'];

/** Measures hosts that share the work of an actor, of which one takes each task. */
export async function pools({ rounds }: Scale): Promise<Figure[]> {
  const alone = await working(1);
  return [speed(alone, await working(HOSTS)), await claim(rounds), await nothing(rounds)];
}

/** Joins machines that serve an actor. Each is apart: it sees nothing of the others but the remote. */
async function sharing(
  world: World,
  hosts: number,
  { actor = 'pool', cli = 'echo done', isPool = true } = {},
): Promise<Machine[]> {
  const machines: Machine[] = [];
  for (let n = 0; n < hosts; n++) {
    const machine = await world.machine(`host${String(n)}`, cli, actor);
    machine.env['XDG_STATE_HOME'] = join(world.root, `${machine.alias}-user`);
    machines.push(machine);
  }
  if (isPool) await machines[0]?.run('actor', 'set', actor, 'serve=one');
  return machines;
}

/** What came of it. */
interface Worked {
  seconds: number;
  answers: number;
  pushes: number;
}

/**
 * Has some of the hosts that share a pool carry out tasks that are all there at once, one at a time on each host. Where
 * one alone works it claims each task as well: of a pool of one it would have all of them in one run.
 */
async function working(hosts: number): Promise<Worked> {
  const world = await World.make();
  try {
    const cli = `sleep ${String(TASK_S)}; echo done`;
    const machines = (await sharing(world, HOSTS, { cli })).slice(0, hosts);
    const serving = await Promise.all(machines.map((machine) => machine.serve(...POLL)));
    const begun = performance.now();
    await world.fill(TASKS, { to: 'pool' });
    const answers = async (): Promise<number> => {
      const log = await world.git(world.hub, 'log', '--format=%s', 'main');
      return log.split('\n').filter((line) => line.includes('reply from pool')).length;
    };
    while ((await answers()) < TASKS) await sleep(100);
    const seconds = (performance.now() - begun) / 1000;
    // Another answer would be there by the next poll.
    await sleep(1500);
    const pushes = serving.reduce((sum, one) => sum + one.events('push_done').length, 0);
    for (const one of serving) await one.stop();
    return { seconds, answers: await answers(), pushes };
  } finally {
    await world.end();
  }
}

function speed(alone: Worked, shared: Worked): Figure {
  const ratio = alone.seconds / shared.seconds;
  const ideal = (TASKS * TASK_S) / HOSTS;
  return {
    figure: `${String(HOSTS)} hosts that share ${String(TASKS)} tasks of ${String(TASK_S)} s, beside one`,
    value: `${ratio.toFixed(2)}× as fast`,
    goal: '≥ 2.5×, each task answered once',
    met: ratio >= 2.5 && alone.answers === TASKS && shared.answers === TASKS,
    note: `${shared.seconds.toFixed(1)} s, one host ${alone.seconds.toFixed(1)} s, the tasks alone ${ideal.toFixed(0)} s; ${(shared.pushes / TASKS).toFixed(1)} pushes a task, one host ${(alone.pushes / TASKS).toFixed(1)}; ${String(shared.answers)} answers`,
  };
}

/** What a claim costs the first answer: the same question to an actor that each host runs, and a push by git. */
async function claim(rounds: number): Promise<Figure> {
  const world = await World.make();
  try {
    const [front] = await sharing(world, 2);
    if (front === undefined) throw new Error('no machine');
    await front.run('actor', 'add', 'plain', '--cli', 'echo done');
    const raw = join(world.root, 'raw.git');
    const clone = join(world.root, 'raw');
    await world.git(world.root, 'init', '--quiet', '--bare', '--initial-branch=main', raw);
    await world.git(world.root, 'clone', '--quiet', raw, clone);
    const serving = await front.serve('--interval', '3600');
    const pushes = { plain: 0, pool: 0 };
    const asking = (actor: 'plain' | 'pool') => async (): Promise<void> => {
      const before = serving.events('push_done').length;
      await front.run('ask', actor, '--from', 'me', 'well?');
      pushes[actor] += serving.events('push_done').length - before;
    };
    const push = (): Promise<unknown> => world.git(clone, 'push', '--quiet', 'origin', 'HEAD:main');
    const pushing: number[] = [];
    const spreads = await inTurn(rounds, {
      plain: asking('plain'),
      pool: asking('pool'),
      push: async () => {
        await world.git(clone, 'commit', '--quiet', '--allow-empty', '--message', 'x');
        pushing.push(await timed(push));
      },
    });
    await serving.stop();
    const [median = NaN] = pushing.sort((a, b) => a - b).slice(pushing.length >> 1);
    const each = (actor: 'plain' | 'pool'): string => (pushes[actor] / (rounds + 1)).toFixed(1);
    const floor = together('the same of an actor that is no pool + a push by git', spreads.plain, {
      ...spreads.push,
      median,
      p95: median,
    });
    const note = `pushes for each: ${each('pool')}, no pool ${each('plain')}; ${(spreads.pool.median - spreads.plain.median).toFixed(0)} ms more, a push by git ${median.toFixed(0)} ms`;
    return against('ask → answer printed, of a pool of two', floor, spreads.pool, 1.3, note);
  } finally {
    await world.end();
  }
}

/** What work on one machine costs. */
interface Spent {
  pushes: number;
  processes: number;
  objects: number;
  rows: number;
}

/** What `serve: one` costs where one host alone serves the actor: nothing. */
async function nothing(rounds: number): Promise<Figure> {
  const one = await spent(rounds, { isPool: true });
  const none = await spent(rounds, { isPool: false });
  const words = ({ pushes, processes, rows, objects }: Spent): string =>
    `${String(pushes)} pushes, ${String(processes)} git processes, ${String(rows)} rows, ${String(objects)} objects read`;
  return {
    figure: `${String(rounds)} tasks of a pool that one host serves`,
    value: words(one),
    goal: 'not a push, row or git process more',
    met: one.pushes <= none.pushes && one.processes <= none.processes && one.rows <= none.rows,
    note: `no pool: ${words(none)}`,
  };
}

/** Has one host carry out tasks, a pass for each, so that no clock decides what it does. */
async function spent(rounds: number, { isPool }: { isPool: boolean }): Promise<Spent> {
  const world = await World.make();
  try {
    const [machine] = await sharing(world, 1, { isPool });
    if (machine === undefined) throw new Error('no machine');
    const pass = async (): Promise<string> => {
      const { err } = await machine.run('dispatch', '--once', '--host', machine.alias);
      return err;
    };
    await pass();
    const all: Spent = { pushes: 0, processes: 0, objects: 0, rows: 0 };
    for (let n = 0; n < rounds; n++) {
      await machine.run('send', '--to', 'pool', '--from', 'me', `task ${String(n)}`);
      for (const line of (await pass()).split('\n')) {
        if (line.includes('"event":"push_done"')) all.pushes++;
        if (!line.includes('"event":"dispatcher_stopped"')) continue;
        const stopped = JSON.parse(line) as { git_processes: number; objects_read: number };
        all.processes += stopped.git_processes;
        all.objects += stopped.objects_read;
      }
    }
    all.rows = await Store.at(machine.state).read((database) =>
      number(database.get('SELECT count(*) AS rows FROM item') ?? {}, 'rows'),
    );
    return all;
  } finally {
    await world.end();
  }
}
