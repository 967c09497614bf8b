import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  binFolder,
  cacheFolder,
  headless,
  homeFor,
  REAL_ADAPTERS,
  realCli,
  type RealCli,
} from '../../test/agents/clis.ts';
import { startModelServer } from '../../test/agents/server.ts';
import type { Figure, Scale } from '../figure.ts';
import { inTurn, timed } from '../measure.ts';
import { World, type Machine, type Serving } from '../world.ts';

/** Milliseconds that a second answer of a kept CLI may take longer than that of a trivial actor. */
const MOST_MS = 150;
const SHELL = 'cat > /dev/null; echo done';
const KINDS = ['fresh', 'resume', 'warm'] as const;
/** opencode 1.3 takes a third as long itself for a turn as 1.18 does (test/agents/FACTS.md). */
const CLIS = ['gemini', 'opencode', 'opencode@1.3.2', 'claude', 'codex'];
const EIGHT = 8;
const MIB = 1024 * 1024;

interface Warm {
  id: string;
  pid: number;
  memory: number;
  used: string;
}

/**
 * The time from the start of `reply` until the next answer of a thread is on the remote, for each real agent CLI and kind
 * of session, against a scripted model without delay; and what eight kept processes cost that have nothing to do. CLIs
 * that `npm run test:agents` has not installed are left out.
 */
export async function warm({ rounds, idle }: Scale): Promise<Figure[]> {
  const figures: Figure[] = [];
  const known = CLIS.map(realCli).filter((cli) => existsSync(binFolder(cli)));
  for (const cli of known)
    for (const kind of KINDS)
      figures.push(await answering(cli, kind, kind === 'warm' ? rounds : Math.min(3, rounds)));
  const [first] = known;
  if (first !== undefined) figures.push(...(await eight(first, idle)));
  return figures;
}

/** Asks a CLI and a trivial actor in turn, again and again in a thread that each has. */
async function answering(real: RealCli, kind: string, rounds: number): Promise<Figure> {
  const shell = await scene(undefined, 'fresh');
  const cli = await scene(real, kind);
  try {
    const last = new Map<Scene, string>();
    const ask = async (at: Scene): Promise<void> => {
      last.set(at, await asked(at.world, at.machine, last.get(at)));
    };
    for (const at of [shell, cli]) await ask(at);
    await settled(cli.machine);
    const spreads = await inTurn(rounds, { shell: () => ask(shell), cli: () => ask(cli) });
    const floor = {
      ...spreads.shell,
      what: `shell actor + ${String(MOST_MS)} ms`,
      median: spreads.shell.median + MOST_MS,
    };
    const ratio = spreads.cli.median / floor.median;
    const processes = await kept(cli.machine);
    const memory = Math.round(processes.reduce((sum, one) => sum + one.memory, 0) / MIB);
    const isWarm = kind === 'warm';
    return {
      figure: `reply → answer, ${real.name} ${real.version} ${kind}`,
      ...{ floor, measured: spreads.cli, ratio },
      goal: isWarm ? '≤ 1×' : 'for comparison',
      met: !isWarm || ratio <= 1,
      note: `${String(inRuns(cli.serving))} ms in the agent, ${String(inRuns(shell.serving))} ms in the shell${isWarm ? `; ${String(memory)} MiB kept` : ''}`,
    };
  } finally {
    await cli.end();
    await shell.end();
  }
}

interface Scene {
  world: World;
  machine: Machine;
  serving: Serving;
  end: () => Promise<void>;
}

/** A machine with one actor: a real CLI, or without one the trivial actor. */
async function scene(cli: RealCli | undefined, kind: string): Promise<Scene> {
  const world = await World.make();
  const server = await startModelServer(() => ({ say: 'done' }));
  const machine = await world.machine('worker', SHELL);
  // codex makes no helpers for its own sandbox below a folder for temporary files.
  const home = mkdtempSync('/var/tmp/crosstalk-bench-');
  if (cli !== undefined) {
    const env = homeFor([cli], server.url, home, cacheFolder());
    const adapter = REAL_ADAPTERS[cli.name];
    const first = adapter === undefined ? '' : `${binFolder(adapter)}:`;
    Object.assign(machine.env, env, { PATH: `${first}${env['PATH'] ?? ''}` });
    const state = join(home, 'state');
    cpSync(machine.state, state, { recursive: true });
    machine.env['CROSSTALK_STATE_DIR'] = state;
    mkdirSync(`${home}-tmp`, { recursive: true });
  }
  await machine.run(
    'actor',
    'set',
    'worker',
    `cli=${cli === undefined ? SHELL : headless(cli)}`,
    `session=${kind}`,
  );
  const serving = await machine.serve('--interval', '3600');
  return {
    world,
    machine,
    serving,
    end: async () => {
      await serving.stop();
      await server.close();
      await world.end();
      for (const folder of [home, `${home}-tmp`]) rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Asks, and waits for the answer; returns its path. */
async function asked(world: World, machine: Machine, on?: string): Promise<string> {
  const before = await paths(world);
  const words =
    on === undefined ? ['send', '--to', 'worker', '--from', 'me'] : ['reply', on, '--from', 'me'];
  const sent = machine.run(...words, 'hello');
  for (;;) {
    const now = tipOf(world);
    if (now !== known) {
      const news = (await paths(world)).filter((path) => !before.includes(path));
      if (news.length >= 2) {
        await sent;
        return news.sort().at(-1) ?? '';
      }
    }
    await sleep(1);
  }
}

let known = '';

/** The paths of the messages on the remote, within their channels. */
async function paths(world: World): Promise<string[]> {
  known = tipOf(world);
  const listed = await world.git(
    world.hub,
    'ls-tree',
    '-r',
    '--name-only',
    'main',
    'data/channels/',
  );
  return listed.split('\n').flatMap((path) => /\d{4}\/\d\d\/\d\d\/.*\.md$/.exec(path)?.[0] ?? []);
}

function tipOf(world: World): string {
  return readFileSync(join(world.hub, 'refs/heads/main'), 'utf8');
}

/** The milliseconds in which the CLI had a prompt and had not ended its answer, in the median of all runs but the first. */
function inRuns(serving: Serving): number {
  const spans = serving.events('dispatch_done').map((event) => Number(event['duration_ms']));
  return spans.slice(1).sort((a, b) => a - b)[Math.floor((spans.length - 1) / 2)] ?? 0;
}

/**
 * Waits until a kept process rests, for a minute at most: a CLI that finds itself in a new HOME may set up what it
 * needs in the background, which is no part of a second answer.
 */
async function settled(machine: Machine): Promise<void> {
  const processes = await kept(machine);
  for (let second = 0, quiet = 0; second < 60 && quiet < 2 && processes.length > 0; second++) {
    const before = ticksOf(processes);
    await sleep(1000);
    quiet = ticksOf(processes) - before < 5 ? quiet + 1 : 0;
  }
}

async function kept(machine: Machine): Promise<Warm[]> {
  const { out } = await machine.run('status', '--json');
  return (JSON.parse(out) as { warm: Warm[] }).warm;
}

/** Eight processes that wait, and a ninth thread. */
async function eight(cli: RealCli, seconds: number): Promise<Figure[]> {
  const { world, machine, end } = await scene(cli, 'warm');
  try {
    const threads: string[] = [];
    for (let thread = 0; thread < EIGHT; thread++) threads.push(await asked(world, machine));
    const all = await kept(machine);
    const memory = Math.round(all.reduce((sum, one) => sum + one.memory, 0) / MIB);
    const before = ticksOf(all);
    await sleep(seconds * 1000);
    // Ticks of the clock are hundredths of a second on Linux.
    const cpu = (ticksOf(all) - before) / seconds;
    await asked(world, machine);
    const after = await kept(machine);
    const isEvicted = after.length === EIGHT && !after.some(({ id }) => id === all[0]?.id);
    const again = await timed(() => asked(world, machine, threads[0]));
    const figure = `eight kept ${cli.name}`;
    return [
      {
        figure: `${figure}, memory`,
        value: `${String(memory)} MiB`,
        goal: 'for comparison',
        met: true,
      },
      {
        figure: `${figure}, processor while idle`,
        value: `${cpu.toFixed(1)} %`,
        goal: 'for comparison',
        met: all.length === EIGHT,
      },
      {
        figure: `${figure}, the ninth ends the first, which is taken up again`,
        value: `${String(Math.round(again))} ms`,
        goal: 'the first is ended',
        met: isEvicted,
      },
    ];
  } finally {
    await end();
  }
}

/** The processor time of some process groups, in ticks. */
function ticksOf(groups: readonly Warm[]): number {
  const pids = new Set(groups.map(({ pid }) => pid));
  let sum = 0;
  for (const name of readdirSync('/proc').filter((one) => /^\d+$/.test(one)))
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      if (pids.has(Number(fields[2]))) sum += Number(fields[11]) + Number(fields[12]);
    } catch {
      // It has ended.
    }
  return sum;
}
