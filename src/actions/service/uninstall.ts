import { readdir, readlink, realpath, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { CrosstalkError } from '../../errors.ts';
import { stateHome } from '../../state/directory.ts';
import { holderOf } from '../../state/lock.ts';
import { bury, clearGraveyard } from '../../state/removal.ts';
import { statePaths } from '../../state/state-paths.ts';
import { Outbox } from '../../state/outbox.ts';
import { INSTALL, packageRoot } from '../../package.ts';
import { shellWord } from '../../service/files.ts';
import { atPath } from '../../at-path.ts';
import { environmentOf, type InstalledService, servicesHere } from './target.ts';
import { removeService, serviceState } from './control.ts';
import type { Machine } from './machine.ts';

/** Everything of this program on a machine that is neither in a transport nor in the settings of an MCP client. */
export interface Installed {
  services: InstalledService[];
  /** Services of the system, which only root removes; empty for root. */
  forRoot: InstalledService[];
  /** Service files by a name of ours that no longer start this program. */
  others: InstalledService[];
  /** The files that go with the services, and the programs that agents and sessions call. */
  files: string[];
  /** The state directories of all clones; their folder is {@link home}. */
  states: string[];
  home: string;
}

/** Folders that the state directories of a machine share. */
const SHARED = ['budgets', 'clones', 'projects', 'turns'];

/** Finds it; nothing is changed. */
export async function findInstalled(env: NodeJS.ProcessEnv, machine: Machine): Promise<Installed> {
  const home = stateHome(env);
  const states: string[] = [];
  for (const name of (await readdir(home).catch(() => [])).sort()) {
    const root = join(home, name);
    // A state directory may be a link to another disk.
    const found = await stat(root).catch(() => undefined);
    if (found?.isDirectory() === true && !SHARED.includes(name)) states.push(root);
  }
  const all = await servicesHere(env, machine);
  const isOurs = (one: InstalledService): boolean =>
    one.text.includes('--supervised') || environmentOf(one) !== undefined;
  const isForRoot = ({ kind }: InstalledService): boolean =>
    kind === 'systemd-system' && machine.uid !== 0;
  const services = all.filter((one) => isOurs(one) && !isForRoot(one));
  const forRoot = all.filter((one) => isOurs(one) && isForRoot(one));
  const needed = new Set(forRoot.map(environmentOf));
  const inStates = states
    .map((root) => statePaths(root))
    .flatMap(({ bin, sessionBin, serviceEnv }) => [serviceEnv, bin, sessionBin])
    .filter((path) => !needed.has(path) && atPath(path, { follow: false }) !== undefined);
  const files = [...services.flatMap((one) => [one.file, environmentOf(one)]), ...inStates];
  return {
    services,
    forRoot,
    others: all.filter((one) => !isOurs(one)),
    files: [...new Set(files.filter((path) => path !== undefined))],
    states,
    home,
  };
}

/**
 * Stops and removes the services, removes the programs of runs, and with `state` the folder of all state.
 *
 * @throws CrosstalkError `refused` where mail is not on the bus yet, or a dispatcher runs that no service started
 */
export async function removeInstalled(
  { services, files, states, home }: Installed,
  machine: Machine,
  { state, signal }: { state: boolean; signal: AbortSignal },
): Promise<void> {
  if (state) for (const root of states) await assertSent(root);
  // This comes first: a refusal is to find everything as it was.
  for (const root of states) await assertAtRest(root, { machine, services });
  for (const service of services) await removeService(machine, service, signal);
  for (const root of states) await assertAtRest(root);
  for (const path of files) {
    if (atPath(path, { follow: false }) === undefined) continue;
    // It is beside the file, which may be on another disk than the folder of all state.
    const graveyard = join(dirname(path), 'removed');
    await bury(path, graveyard);
    await clearGraveyard(graveyard);
  }
  if (state) for (const path of [...states, home]) await removeFolder(path);
}

/**
 * Removes a folder with everything in it. Where a link leads to it, its content and the link: a state that was moved
 * to another disk has the same keys in it.
 */
async function removeFolder(path: string): Promise<void> {
  const real = await realpath(path).catch(() => path);
  const graveyard = join(real, 'removed');
  for (const name of await readdir(real).catch(() => []))
    if (name !== 'removed') await bury(join(real, name), graveyard);
  await clearGraveyard(graveyard);
  // Where it is the root of a file system, it stays, and is empty.
  await rmdir(real).catch(() => undefined);
  if (await isLink(path)) await rm(path);
}

function isLink(path: string): Promise<boolean> {
  return readlink(path).then(
    () => true,
    () => false,
  );
}

async function assertSent(root: string): Promise<void> {
  const outbox = new Outbox(root);
  const count = (await outbox.all()).length + (await outbox.held()).length;
  if (count > 0)
    throw new CrosstalkError(
      'refused',
      `${root} holds mail that is not on the bus yet (${String(count)}): see it with crosstalk outbox, and send it with crosstalk sync; nothing was removed`,
    );
}

/**
 * Makes sure that no dispatcher works with a state.
 *
 * @param ending the services that are about to be stopped, with their dispatchers
 * @throws CrosstalkError `refused`
 */
async function assertAtRest(
  root: string,
  ending?: { machine: Machine; services: readonly InstalledService[] },
): Promise<void> {
  const holder = await holderOf(root, 'dispatcher');
  if (holder === undefined) return;
  if (ending !== undefined)
    for (const service of ending.services)
      if ((await serviceState(ending.machine, service)).pid === holder.pid) return;
  throw new CrosstalkError(
    'refused',
    `a dispatcher of ${root} runs, process ${String(holder.pid)}; end it, and say this again${ending === undefined ? '' : '; nothing was removed'}`,
  );
}

/** Returns the command that removes the program itself, which it leaves to whoever installed it. */
export async function ownRemoval(env: NodeJS.ProcessEnv): Promise<string> {
  const around = dirname(packageRoot());
  if (atPath(join(around, 'runtime', 'node'), { follow: false }) === undefined)
    return INSTALL.replace('install', 'uninstall');
  const link = join(env['HOME'] ?? '~', '.local/bin/crosstalk');
  const target = await realpath(link).catch(() => '');
  const words = target.startsWith(`${around}${sep}`) ? [around, link] : [around];
  return `rm -r ${words.map(shellWord).join(' ')}`;
}
