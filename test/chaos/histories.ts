import { cpSync, existsSync, lstatSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { git } from '../support/git.ts';
import { byHand, put } from '../support/history.ts';
import { rowsIn } from '../support/rows.ts';
import { until } from '../support/wait.ts';
import type { Fault } from './kills.ts';
import { isUsed } from './processes.ts';
import { digitsOf, type World } from './world.ts';

/**
 * How long a step is tried again that others come before: what was removed must be put back, or the
 * world is not the one that is judged.
 */
const INSIST_MS = 120_000;
const PAUSE_MS = 20;
const PATIENCE_MS = 240_000;

/**
 * A clone whose owner does whatever they like with the branch. It is made over the protocol, because a
 * clone that copies files fails when the hub packs its objects meanwhile.
 */
function elsewhere({ bus }: World): (...args: string[]) => string {
  const clone = mkdtempSync(join(bus.root, 'clone-'));
  git(clone, 'clone', '--quiet', '--no-local', bus.hub, '.');
  return (...args) => git(clone, ...args);
}

/** Repeats what others may come before, or what a lock of theirs is in the way of. */
async function insist(attempt: () => unknown): Promise<boolean> {
  const end = performance.now() + INSIST_MS;
  while (performance.now() < end) {
    try {
      attempt();
      return true;
    } catch {
      await sleep(PAUSE_MS);
    }
  }
  return false;
}

/** Sets the bus back by some commits; what it stood at, or undefined where there are none. */
async function rewind(world: World): Promise<string | undefined> {
  const { bus, base, random } = world;
  let from: string | undefined;
  const done = await insist(() => {
    const tip = git(bus.hub, 'rev-parse', 'main').trim();
    const depth = Number(git(bus.hub, 'rev-list', '--count', `${base}..main`));
    if (depth === 0) return;
    const to = `${tip}~${String(random.between(1, Math.min(depth, 12)))}`;
    git(bus.hub, 'update-ref', 'refs/heads/main', to, tip);
    world.setBackAt = digitsOf();
    from = tip;
  });
  return done ? from : undefined;
}

/** Waits until a machine has noticed, or for a moment: both happen. */
async function noticed(world: World, event: string): Promise<void> {
  const before = world.count(event);
  const end = Date.now() + world.random.between(0, 1500);
  while (world.count(event) === before && Date.now() < end) await sleep(20);
}

/** What can be done to a history, and to what machines know of it, by name. */
export const HISTORIES: Record<string, Fault> = {
  rewind: async (world) => (await rewind(world)) !== undefined,

  rewind_and_return: async (world) => {
    const tip = await rewind(world);
    if (tip === undefined) return false;
    await noticed(world, 'cursor_lost');
    return insist(() => {
      git(world.bus.hub, 'update-ref', 'refs/heads/main', tip);
    });
  },

  data_removed_and_reverted: async (world) => {
    const clone = elsewhere(world);
    const removed = await insist(() => {
      clone('fetch', '--quiet', 'origin', '+main:refs/remotes/origin/main');
      clone('reset', '--quiet', '--hard', 'origin/main');
      clone('rm', '--quiet', '-r', 'data');
      clone('commit', '--quiet', '--message', 'remove everything');
      clone('push', '--quiet', 'origin', 'HEAD:main');
    });
    if (!removed) return false;
    const commit = clone('rev-parse', 'HEAD').trim();
    await noticed(world, 'message_changed');
    const reverted = await insist(() => {
      clone('fetch', '--quiet', 'origin', '+main:refs/remotes/origin/main');
      clone('reset', '--quiet', '--hard', 'origin/main');
      clone('revert', '--no-edit', commit);
      clone('push', '--quiet', 'origin', 'HEAD:main');
    });
    if (!reverted) throw new Error('what was removed could not be put back');
    // A branch that is set back to where it was empty has nothing to bring back.
    world.base = clone('rev-parse', 'HEAD').trim();
    return true;
  },

  answer_dropped: async (world) => {
    const { bus, random, base } = world;
    const answers = bus.messages().filter(({ message }) => message.re.length > 0);
    if (answers.length === 0) return false;
    const { channel, relPath, message } = random.pick(answers);
    const clone = elsewhere(world);
    let isDropped = false;
    await insist(() => {
      clone('fetch', '--quiet', 'origin', '+main:refs/remotes/origin/main');
      const tip = clone('rev-parse', 'origin/main').trim();
      clone('reset', '--quiet', '--hard', tip);
      const depth = Number(clone('rev-list', '--count', `${base}..HEAD`));
      if (depth === 0) return;
      const back = `HEAD~${String(random.between(1, Math.min(depth, 12)))}`;
      clone('reset', '--quiet', '--soft', back);
      clone('rm', '--quiet', '--force', `data/channels/${channel}/${relPath}`);
      clone('commit', '--quiet', '--message', 'without it');
      clone('push', '--quiet', `--force-with-lease=main:${tip}`, 'origin', 'HEAD:main');
      isDropped = true;
      world.setBackAt = digitsOf();
      world.dropped.set(relPath, message.re);
    });
    return isDropped;
  },

  branch_renamed_and_back: async (world) => {
    const { bus } = world;
    const rename = (from: string, to: string): Promise<boolean> =>
      insist(() => git(bus.hub, 'branch', '--move', from, to));
    if (!(await rename('main', 'trunk'))) return false;
    await world.ask();
    await noticed(world, 'fetch_failed');
    const format = '--format=%(refname:short)';
    const branches = git(bus.hub, 'for-each-ref', format, 'refs/heads/').trim();
    if (branches !== 'trunk') throw new Error(`beside the renamed branch: ${branches}`);
    if (!(await rename('trunk', 'main'))) throw new Error('the branch could not be renamed back');
    return true;
  },

  branch_deleted: async (world) => {
    const { bus, random, machines } = world;
    const { dir } = random.pick(machines).host;
    if (!(await insist(() => git(bus.hub, 'update-ref', '-d', 'refs/heads/main')))) return false;
    await insist(() => git(dir, 'fetch', '--quiet', '--prune', 'origin'));
    const isBack = (): boolean => {
      world.startAll();
      return existsSync(join(bus.hub, 'refs/heads/main'));
    };
    await until('the branch', isBack, PATIENCE_MS);
    return true;
  },

  gc: async ({ bus }) => {
    bus.unplug();
    const hub = `${bus.hub}.unplugged`;
    await until('the hub to be at rest', () => !isUsed(hub));
    git(hub, 'reflog', 'expire', '--expire=now', '--all');
    git(hub, 'gc', '--quiet', '--prune=now');
    bus.plug();
    return true;
  },

  url_spelled_otherwise: async ({ bus, random, machines }) => {
    const { host } = random.pick(machines);
    const spelled = git(host.dir, 'remote', 'get-url', 'origin').trim();
    await host.pointTo(spelled === bus.hub ? `file://${bus.hub}` : bus.hub);
    return true;
  },

  state_restored: async ({ bus, random, machines }) => {
    const machine = random.pick(machines);
    const { host } = machine;
    const copy = join(bus.root, `${host.alias}-backup`);
    const copied = (from: string, to: string): void => {
      cpSync(from, to, {
        recursive: true,
        preserveTimestamps: true,
        filter: (path) => !lstatSync(path).isSocket(),
      });
    };
    await machine.stop('SIGKILL');
    const isSent = rowsIn(host.state, 'outbox').length === 0;
    const isThere = existsSync(copy);
    if (isThere && isSent) {
      rmSync(host.state, { recursive: true });
      copied(copy, host.state);
      machine.restores.push({ copied: machine.copied, at: digitsOf() });
    }
    // What was queued and nowhere else would be lost with the state: then the backup is made anew.
    rmSync(copy, { recursive: true, force: true });
    copied(host.state, copy);
    machine.copied = digitsOf();
    machine.start();
    return isThere && isSent;
  },

  archived: async (world) => {
    const { bus, random, machines } = world;
    const { host } = random.pick(machines);
    const old = byHand(world.channel, random.between(1, 200_000_000), 'long ago');
    const isPut = await insist(() => {
      put(bus, old);
    });
    if (!isPut) return false;
    const bundle = join(bus.root, `old-${String(random.next())}.bundle`);
    const day = ['--before', '2026-06-10', '--with-waiting'];
    const ran = await host.run('archive', ...day, '--bundle', bundle, '--yes');
    const isDone = ran.code === 0 && existsSync(bundle);
    // A history that is set back further is another epoch's.
    if (isDone) world.base = git(bus.hub, 'rev-list', '--max-parents=0', 'main').trim();
    return isDone;
  },
};
