import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
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
import { removeService } from './control.ts';
import type { Machine } from './machine.ts';

/** Everything of this program on a machine that is neither in a transport nor in the settings of an MCP client. */
export interface Installed {
  services: InstalledService[];
  /** Services of the system, which only root removes; empty for root. */
  forRoot: InstalledService[];
  /** The files that go with the services, and the programs that agents and sessions call. */
  files: string[];
  /** The state directories of all clones; their folder is {@link home}. */
  states: string[];
  home: string;
}

/** Finds it; nothing is changed. */
export async function findInstalled(env: NodeJS.ProcessEnv, machine: Machine): Promise<Installed> {
  const home = stateHome(env);
  const entries = await readdir(home, { withFileTypes: true }).catch(() => []);
  const states = entries
    .filter((one) => one.isDirectory() && !['clones', 'projects'].includes(one.name))
    .map(({ name }) => join(home, name))
    .sort();
  const all = (await servicesHere(env, machine)).filter(({ text }) =>
    text.includes('--supervised'),
  );
  const isForRoot = ({ kind }: InstalledService): boolean =>
    kind === 'systemd-system' && machine.uid !== 0;
  const services = all.filter((one) => !isForRoot(one));
  const programs = states
    .map((root) => statePaths(root))
    .flatMap(({ bin, sessionBin }) => [bin, sessionBin])
    .filter((path) => atPath(path, { follow: false }) !== undefined);
  return {
    services,
    forRoot: all.filter(isForRoot),
    files: [...services.flatMap((one) => [one.file, environmentOf(one)]), ...programs],
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
  for (const service of services) await removeService(machine, service, signal);
  for (const root of states) await assertAtRest(root);
  const graveyard = `${home}.removed`;
  for (const path of [...files, ...(state ? [home] : [])]) await bury(path, graveyard);
  await clearGraveyard(graveyard);
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

async function assertAtRest(root: string): Promise<void> {
  const holder = await holderOf(root, 'dispatcher');
  if (holder !== undefined)
    throw new CrosstalkError(
      'refused',
      `a dispatcher of ${root} runs, process ${String(holder.pid)}; end it, and say this again`,
    );
}

/** Returns the command that removes the program itself, which it leaves to whoever installed it. */
export function ownRemoval(env: NodeJS.ProcessEnv): string {
  const around = dirname(packageRoot());
  if (atPath(join(around, 'runtime', 'node'), { follow: false }) === undefined)
    return INSTALL.replace('install', 'uninstall');
  return `rm -r ${shellWord(around)} ${shellWord(join(env['HOME'] ?? '~', '.local/bin/crosstalk'))}`;
}
