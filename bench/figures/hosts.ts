import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Figure } from '../figure.ts';
import { ran, spread } from '../measure.ts';
import { World, type Machine } from '../world.ts';

const HOSTS = 16;
/** Seconds by which each push and each fetch starts late, between machines that are apart. */
const LATE = '0.3';
const WORKER = fileURLToPath(new URL('../host-worker.ts', import.meta.url));

interface Result {
  latencies: number[];
  total: number;
  attempts: { tried: number; succeeded: number };
}

/** Measures many hosts that write to one branch at once. */
export async function hosts(): Promise<Figure[]> {
  return [
    shared('one after another', await writers({ hosts: HOSTS, messages: 20, pace: 'each' })),
    {
      ...shared(
        'handed over at once',
        await writers({ hosts: HOSTS, messages: 20, pace: 'together' }),
      ),
      goal: 'for comparison',
      met: true,
    },
    apart(await writers({ hosts: 4, messages: 10, pace: 'each', areApart: true })),
    apart(await writers({ hosts: HOSTS, messages: 5, pace: 'each', areApart: true })),
    await naive(),
  ];
}

interface Writing {
  hosts: number;
  messages: number;
  pace: 'each' | 'together';
  /** Whether they share no machine: they see nothing of each other but the remote, which answers late. */
  areApart?: boolean;
}

/** What came of it. Times in milliseconds. */
interface Written extends Writing {
  rate: number;
  lost: number;
  median: number;
  p95: number;
  longest: number;
  tried: number;
  succeeded: number;
  /** The time of the slowest host as a share of the fastest one's. */
  fairness: number;
}

async function writers(writing: Writing): Promise<Written> {
  const { hosts, messages, pace, areApart = false } = writing;
  const world = await World.make();
  try {
    const machines: Machine[] = [];
    for (let n = 0; n < hosts; n++) machines.push(await world.machine(`host${String(n)}`));
    if (areApart) answerLate(world);
    const channel = (
      await world.git(world.hub, 'ls-tree', '--name-only', 'main', 'data/channels/')
    ).slice('data/channels/'.length);
    const before = await countMessages(world);
    const workers = await Promise.all(
      machines.map(async (machine) => {
        const own = areApart && { XDG_STATE_HOME: join(world.root, `${machine.alias}-user`) };
        const child = spawn(
          process.execPath,
          ['--import', 'tsx', WORKER, machine.dir, machine.alias, channel, String(messages), pace],
          { env: { ...machine.env, ...own }, stdio: ['pipe', 'pipe', 'inherit'] },
        );
        world.track(child);
        let out = '';
        child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
        while (!out.includes('ready')) await once(child.stdout, 'data');
        return { child, result: once(child, 'close').then(() => resultOf(out)) };
      }),
    );
    const begun = performance.now();
    for (const { child } of workers) child.stdin.end('go\n');
    const results = await Promise.all(workers.map(({ result }) => result));
    const seconds = (performance.now() - begun) / 1000;
    const latencies = results.flatMap((result) => result.latencies);
    const totals = results.map(({ total }) => total);
    return {
      ...writing,
      rate: (hosts * messages) / seconds,
      lost: hosts * messages - ((await countMessages(world)) - before),
      ...spread(latencies),
      longest: Math.max(...latencies),
      tried: results.reduce((sum, { attempts }) => sum + attempts.tried, 0),
      succeeded: results.reduce((sum, { attempts }) => sum + attempts.succeeded, 0),
      fairness: Math.max(...totals) / Math.min(...totals),
    };
  } finally {
    await world.end();
  }
}

/** Lets pushes and fetches of all machines start late, as over a wide area network. */
function answerLate(world: World): void {
  const packs = ['upload', 'receive'].map((side) => {
    const script = join(world.root, `late-${side}-pack`);
    const text = `#!/bin/sh\nsleep ${LATE}\nexec git-${side}-pack "$@"\n`;
    writeFileSync(script, text, { mode: 0o755 });
    return `${side}pack = ${script}\n`;
  });
  appendFileSync(join(world.root, 'gitconfig'), `[remote "origin"]\n${packs.join('')}`);
}

/** The figure of hosts that share a machine. */
function shared(what: string, written: Written): Figure {
  const { hosts, messages, rate, lost, median, p95, tried, succeeded, fairness } = written;
  return {
    figure: `${String(hosts)} hosts, ${String(messages)} messages each, ${what}`,
    value: `${rate.toFixed(0)}/s`,
    goal: '≥ 20/s, p95 < 3 s, 0 lost, ≤ 1.5 pushes per success, slowest ≤ 3× fastest',
    met: rate >= 20 && p95 < 3000 && lost === 0 && tried / succeeded <= 1.5 && fairness <= 3,
    note: `median ${median.toFixed(0)} ms, p95 ${p95.toFixed(0)} ms, ${String(lost)} lost, ${(tried / succeeded).toFixed(2)} pushes per success, slowest ${fairness.toFixed(2)}× fastest`,
  };
}

/** The figure of hosts on machines of their own. */
function apart(written: Written): Figure {
  const { hosts, messages, rate, lost, median, p95, longest, tried } = written;
  const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
  return {
    figure: `${String(hosts)} hosts apart, ${LATE} s away, ${String(messages)} messages each`,
    value: `${rate.toFixed(1)}/s`,
    goal: 'p95 ≤ 8 s, 0 lost',
    met: p95 <= 8000 && lost === 0,
    note: `median ${seconds(median)}, p95 ${seconds(p95)}, longest ${seconds(longest)}, ${String(lost)} lost, ${(tried / (hosts * messages)).toFixed(1)} pushes a message`,
  };
}

function resultOf(out: string): Result {
  const line = out.trim().split('\n').at(-1) ?? '';
  return JSON.parse(line) as Result;
}

async function countMessages(world: World): Promise<number> {
  const listed = await world.git(world.hub, 'ls-tree', '-r', '--name-only', 'main', 'data/');
  return listed.split('\n').filter((path) => /Z-[0-9a-f]+\.md$/.test(path)).length;
}

const NAIVE_MESSAGES = 3;

/** The first program that people would write: add, commit, pull --rebase, push, until it works. */
async function naive(): Promise<Figure> {
  const world = await World.make();
  try {
    await world.machine('first');
    const clones: string[] = [];
    for (let n = 0; n < HOSTS; n++) {
      const clone = join(world.root, `naive${String(n)}`);
      await world.git(world.root, 'clone', '--quiet', world.hub, clone);
      clones.push(clone);
    }
    const latencies: number[] = [];
    const begun = performance.now();
    await Promise.all(
      clones.map(async (clone, host) => {
        for (let n = 0; n < NAIVE_MESSAGES; n++) {
          const from = performance.now();
          writeFileSync(join(clone, `${String(host)}-${String(n)}.md`), 'x\n');
          const script =
            'git add . && git commit -qm x && until git pull -q --rebase && git push -q; do :; done';
          await ran('sh', ['-c', script], { cwd: clone, env: world.env });
          latencies.push(performance.now() - from);
        }
      }),
    );
    const rate = (HOSTS * NAIVE_MESSAGES) / ((performance.now() - begun) / 1000);
    return {
      figure: `${String(HOSTS)} clones that pull --rebase and push until it works`,
      value: `${rate.toFixed(1)}/s`,
      goal: 'for comparison',
      met: true,
      note: `p95 ${(spread(latencies).p95 / 1000).toFixed(1)} s over ${String(NAIVE_MESSAGES)} messages each`,
    };
  } finally {
    await world.end();
  }
}
