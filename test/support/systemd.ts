import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmdirSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { scratch } from './bus.ts';
import { exec, type World } from './service.ts';
import { until } from './wait.ts';

const MANAGER = fileURLToPath(new URL('../fixtures/service/manager.sh', import.meta.url));
const CGROUPS = '/sys/fs/cgroup';

/** Whether the test may run its own systemd: only in CI, because it needs namespaces. */
export function mayRunSystemd(): boolean {
  const programs = ['/lib/systemd/systemd', '/usr/bin/systemctl', '/usr/bin/unshare'];
  return (
    process.env['CI'] === 'true' &&
    process.getuid?.() === 0 &&
    [...programs, '/usr/bin/nsenter'].every((path) => existsSync(path)) &&
    hierarchies().some((folder) => isWritable(join(folder, 'cgroup.procs'))) &&
    hasNamespaces()
  );
}

function hasNamespaces(): boolean {
  const mounting = [
    '--mount',
    '--pid',
    '--fork',
    '--mount-proc',
    'mount',
    '-t',
    'tmpfs',
    'x',
    '/run',
  ];
  return spawnSync('unshare', mounting, { stdio: 'ignore', timeout: 10_000 }).status === 0;
}

/** The roots of the control groups: one, or one for each controller. */
function hierarchies(): string[] {
  return existsSync(CGROUPS)
    ? [CGROUPS, ...readdirSync(CGROUPS).map((name) => join(CGROUPS, name))]
    : [];
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * A real systemd user manager that is separate from the machine's; removed when the test is over.
 * Undefined if none can be started, as in some containers.
 */
export async function startSystemd(): Promise<World | undefined> {
  const home = join(scratch(), 'home');
  mkdirSync(home);
  const runtime = '/run/user/crosstalk';
  const group = `crosstalk-test-${String(process.pid)}`;
  const manager = spawn('/bin/sh', [MANAGER, home, runtime, group], { stdio: 'ignore' });
  const pid = manager.pid ?? 0;
  onTestFinished(async () => {
    const gone = once(manager, 'exit');
    manager.kill('SIGKILL');
    await gone;
    await until('the end of its control groups', () =>
      hierarchies().every((folder) => removeGroup(join(folder, group))),
    );
  });
  const inside = await until('the namespaces', () => childOf(pid));
  const env = { ...process.env, HOME: home, XDG_RUNTIME_DIR: runtime };
  const there = ['nsenter', '--target', inside, '--mount', '--pid', '--'];
  const world: World = {
    env,
    run: (argv, more = {}) => exec([...there, ...argv], { ...env, ...more }),
  };
  const question = ['systemctl', '--user', 'show', '--property=Version'];
  const up = until('the manager', async () => (await world.run(question)).code === 0);
  return up.then(
    () => world,
    () => undefined,
  );
}

/**
 * The process that `unshare` runs, by its id outside of the namespace; the script starts other
 * processes before it.
 */
function childOf(pid: number): string | undefined {
  const namespace = (of: string): string => readlinkSync(`/proc/${of}/ns/pid`);
  try {
    const path = `/proc/${String(pid)}/task/${String(pid)}/children`;
    const child = readFileSync(path, 'utf8').trim();
    const isInside = /^\d+$/.test(child) && namespace(child) !== namespace('self');
    return isInside ? child : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Removes a control group and those in it, if they are empty; returns whether it no longer exists.
 */
function removeGroup(path: string): boolean {
  try {
    for (const entry of readdirSync(path, { withFileTypes: true }))
      if (entry.isDirectory()) removeGroup(join(path, entry.name));
    rmdirSync(path);
  } catch {
    // It does not exist, or a process in it has not ended yet.
  }
  return !existsSync(path);
}
