import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { below, isUsed } from './processes.ts';
import { until } from '../support/wait.ts';
import type { World } from './world.ts';

/** A fault; false when it is not possible at the moment. */
export type Fault = (world: World) => Promise<boolean>;

/**
 * The moments at which the hub's `receive-pack` can be killed: its hooks, with the states of a
 * transaction.
 */
const MOMENTS = [
  'pre-receive',
  'update',
  'reference-transaction-prepared',
  'reference-transaction-committed',
  'post-receive',
  'post-update',
];
/** Milliseconds to wait for something to kill. */
const HUNT_MS = 3000;
/** The most crash points after which a dispatcher dies. */
const MAX_PASSES = 60;

const HOOK = `#!/bin/sh
moment=\${0##*/}
test "$moment" = reference-transaction && moment="$moment-$1"
test "$(cat kill-next 2>/dev/null)" = "$moment" && mv kill-next "killed.$$" 2>/dev/null && kill -9 $PPID
cat > /dev/null
exit 0
`;

/** Lets the hub kill its own `receive-pack` at a moment that it is given. */
export function prepareHub({ bus }: World): void {
  const names = MOMENTS.map((moment) => moment.replace(/^(reference-transaction)-.*/, '$1'));
  for (const name of new Set(names))
    writeFileSync(join(bus.hub, 'hooks', name), HOOK, { mode: 0o755 });
}

/** What a server's administrator does: removes the locks of processes that were killed there. */
export async function tidyHub({ bus }: World): Promise<void> {
  const locks = ['refs/heads/main.lock', 'packed-refs.lock', 'HEAD.lock'].map((name) =>
    join(bus.hub, name),
  );
  if (!locks.some((lock) => existsSync(lock))) return;
  await until('the hub to be at rest', () => !isUsed(bus.hub));
  for (const lock of locks) rmSync(lock, { force: true });
}

/** The kills, by name. */
export const KILLS: Record<string, Fault> = {
  dispatcher: async ({ random, machines }) => {
    const machine = random.pick(machines);
    await sleep(random.between(0, 600));
    return machine.stop('SIGKILL');
  },
  crash_point: async ({ random, machines }) => {
    const machine = random.pick(machines);
    await machine.stop('SIGTERM');
    machine.start('any', random.between(1, MAX_PASSES));
    return machine.died(HUNT_MS);
  },
  git_child: async ({ random, machines }) => {
    const { pid } = random.pick(machines);
    if (pid === undefined) return false;
    const end = Date.now() + HUNT_MS;
    while (Date.now() < end) {
      await sleep(random.between(1, 9));
      const found = below(pid, /^git/);
      if (found.length === 0) continue;
      try {
        process.kill(random.pick(found), 'SIGKILL');
        return true;
      } catch {
        // It has already ended.
      }
    }
    return false;
  },
  receive_pack: async (world) => {
    const { bus, random } = world;
    const order = join(bus.hub, 'kill-next');
    writeFileSync(order, random.pick(MOMENTS));
    await world.ask();
    const end = Date.now() + HUNT_MS;
    while (existsSync(order) && Date.now() < end) await sleep(10);
    const killed = !existsSync(order);
    rmSync(order, { force: true });
    await tidyHub(world);
    return killed;
  },
  network: async (world) => {
    const { bus, random } = world;
    await sleep(random.between(0, 200));
    bus.unplug();
    await world.ask();
    await sleep(random.between(0, 600));
    bus.plug();
    return true;
  },
};
