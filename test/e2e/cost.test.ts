import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Bus, type Host } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { tipOf } from '../support/history.ts';
import { until } from '../support/wait.ts';

/** The cost of an operation; it contains no times, so it is the same on every machine. */
interface Cost {
  /** Git processes that we start, without those that git itself starts. */
  processes: number;
  /** The number of objects that were added to the remote. */
  objects: number;
  bytes: number;
}

/** A cost with the command lines of the processes, which say what a failure is about. */
interface Measured extends Cost {
  commands: string[];
}

/**
 * Makes git record every process that it starts; must be called before a dispatcher starts.
 * What is given back reads the command lines of those that we started, in no order. A process that
 * git itself starts has a session of more than one part, and none yet where its record is empty.
 */
function traced(host: Host): () => Map<string, string> {
  const folder = mkdtempSync(join(tmpdir(), 'trace-'));
  host.env['GIT_TRACE2_EVENT'] = folder;
  return () => {
    const ours = new Map<string, string>();
    for (const name of readdirSync(folder)) {
      const record = readFileSync(join(folder, name), 'utf8');
      if (/^[^\n]*"sid":"[^"/]*"/.test(record))
        ours.set(name, /"argv":(\[[^\]]*\])/.exec(record)?.[1] ?? 'not known yet');
    }
    return ours;
  };
}

async function costOf(
  host: Host,
  started: () => Map<string, string>,
  work: () => Promise<unknown>,
): Promise<Measured> {
  const held = (what: string): number =>
    Number(git(host.bus.hub, 'rev-list', '--objects', 'main', what).trim());
  const count = (): Omit<Cost, 'processes'> => ({
    objects: git(host.bus.hub, 'rev-list', '--objects', 'main').split('\n').length,
    bytes: held('--disk-usage'),
  });
  const earlier = started();
  const before = count();
  await work();
  const after = count();
  const processes = [...started()].filter(([name]) => !earlier.has(name));
  return {
    processes: processes.length,
    objects: after.objects - before.objects,
    bytes: after.bytes - before.bytes,
    commands: processes.map(([, command]) => command),
  };
}

/**
 * The highest cost of each operation. A change that needs more explains why, here and in its
 * commit; one that needs less lowers the figure.
 */
const MOST: Record<string, Cost> = {
  // One of them asks git for its settings, each time: to know without was a hundred lines.
  'send, no dispatcher': { processes: 7, objects: 9, bytes: 1000 },
  replies: { processes: 5, objects: 0, bytes: 0 },
  'status, nothing new': { processes: 3, objects: 0, bytes: 0 },
  // There are two messages; the checkout is updated once or twice.
  'send and answer, dispatcher running': { processes: 20, objects: 18, bytes: 2400 },
  // Beside one push for all of them, each of the commands opens the transport for itself. On a busy
  // machine the first few leave ahead of the rest.
  '20 sends in one go, dispatcher running': { processes: 80, objects: 180, bytes: 32_000 },
};

it(
  'no operation starts more git processes or writes more to the remote than it used to',
  { tags: 'slow' },
  async () => {
    const host = await new Bus().host('front', { worker: 'echo done' });
    // A push of many objects would be kept as a pack, which is smaller, and how many go in one push varies.
    git(host.bus.hub, 'config', 'receive.unpackLimit', '100000');
    const started = traced(host);
    const first = await host.send('nobody', 'hello');
    await host.run('status');
    const measured: Record<string, Measured> = {
      'send, no dispatcher': await costOf(host, started, () => host.send('nobody', 'hello')),
      replies: await costOf(host, started, () => host.run('replies', first)),
      'status, nothing new': await costOf(host, started, () => host.run('status')),
    };
    const running = host.start('--interval', '3600');
    /** Until a run has ended, and what is done beside the hot path, which belongs to the cost. */
    const done = async (count: number): Promise<void> => {
      await until('the end of a run', () => running.count('dispatch_done') >= count);
      const isShown = (): boolean => git(host.dir, 'rev-parse', 'HEAD').trim() === tipOf(host.bus);
      await until('the checkout', isShown);
    };
    await host.send('worker', 'warm up');
    await done(1);
    measured['send and answer, dispatcher running'] = await costOf(host, started, async () => {
      await host.send('worker', 'hello');
      await done(2);
    });
    measured['20 sends in one go, dispatcher running'] = await costOf(host, started, () =>
      Promise.all(
        Array.from({ length: 20 }, (_, n) => host.send('nobody', `message ${String(n)}`)),
      ),
    );
    for (const [operation, most] of Object.entries(MOST)) {
      const cost = measured[operation]!;
      const over = Object.entries(most).filter(([what, limit]) => cost[what as keyof Cost] > limit);
      expect({ operation, over, cost }).toEqual({ operation, over: [], cost });
    }
  },
);
