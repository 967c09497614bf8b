import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Figure } from '../figure.ts';
import { ran, spread } from '../measure.ts';
import { World, type Machine } from '../world.ts';

const HOSTS = 16;
const MESSAGES = 20;
const WORKER = fileURLToPath(new URL('../host-worker.ts', import.meta.url));

interface Result {
  latencies: number[];
  total: number;
  attempts: { tried: number; succeeded: number };
}

/** Measures many hosts that write to one branch at once. */
export async function hosts(): Promise<Figure[]> {
  return [
    await writers('one after another', 'each'),
    { ...(await writers('handed over at once', 'together')), goal: 'for comparison', met: true },
    await naive(),
  ];
}

async function writers(what: string, pace: string): Promise<Figure> {
  const world = await World.make();
  try {
    const machines: Machine[] = [];
    for (let n = 0; n < HOSTS; n++) machines.push(await world.machine(`host${String(n)}`));
    const channel = (
      await world.git(world.hub, 'ls-tree', '--name-only', 'main', 'data/channels/')
    ).slice('data/channels/'.length);
    const before = await countMessages(world);
    const workers = await Promise.all(
      machines.map(async (machine) => {
        const child = spawn(
          process.execPath,
          ['--import', 'tsx', WORKER, machine.dir, machine.alias, channel, String(MESSAGES), pace],
          { env: machine.env, stdio: ['pipe', 'pipe', 'inherit'] },
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
    const lost = HOSTS * MESSAGES - ((await countMessages(world)) - before);
    const rate = (HOSTS * MESSAGES) / seconds;
    const { median, p95 } = spread(results.flatMap(({ latencies }) => latencies));
    const totals = results.map(({ total }) => total);
    const fairness = Math.max(...totals) / Math.min(...totals);
    const tried = results.reduce((sum, { attempts }) => sum + attempts.tried, 0);
    const succeeded = results.reduce((sum, { attempts }) => sum + attempts.succeeded, 0);
    return {
      figure: `${String(HOSTS)} hosts, ${String(MESSAGES)} messages each, ${what}`,
      value: `${rate.toFixed(0)}/s`,
      goal: '≥ 20/s, p95 < 3 s, 0 lost, ≤ 1.5 pushes per success, slowest ≤ 3× fastest',
      met: rate >= 20 && p95 < 3000 && lost === 0 && tried / succeeded <= 1.5 && fairness <= 3,
      note: `median ${median.toFixed(0)} ms, p95 ${p95.toFixed(0)} ms, ${String(lost)} lost, ${(tried / succeeded).toFixed(2)} pushes per success, slowest ${fairness.toFixed(2)}× fastest`,
    };
  } finally {
    await world.end();
  }
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
