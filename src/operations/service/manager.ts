import { stat } from 'node:fs/promises';
import { CrosstalkError } from '../../errors.ts';
import type { ManagerKind } from '../../service/files.ts';
import type { Machine } from './machine.ts';

/** The service manager to use. */
export interface Manager {
  kind: ManagerKind;
  /** systemd's major version; 0 elsewhere. */
  version: number;
}

/**
 * Returns the service manager of this machine; undefined if there is no supported one.
 *
 * @param system whether to use systemd's manager of the whole machine instead of the user's
 * @throws CrosstalkError `refused` when it cannot be reached
 */
export async function managerOf(machine: Machine, system: boolean): Promise<Manager | undefined> {
  if (machine.platform === 'darwin') {
    if (system)
      throw new CrosstalkError(
        'refused',
        'a daemon of the whole Mac is not made; leave out --system, and log in as the user whose agents are to run',
      );
    return { kind: 'launchd', version: 0 };
  }
  if (machine.platform !== 'linux') return undefined;
  const words = ['systemctl', ...(system ? [] : ['--user']), 'show', '--property=Version'];
  const { code, stdout, stderr } = await machine.run(words);
  const version = Number(/Version=\D*(\d+)/.exec(stdout)?.[1]);
  if (code === 0 && version > 0)
    return { kind: system ? 'systemd-system' : 'systemd-user', version };
  if (!(await isBooted())) return undefined;
  throw new CrosstalkError(
    'refused',
    `${words.join(' ')}: ${stderr.trim().split('\n')[0] ?? ''}; ${
      system
        ? 'look at systemd itself'
        : 'log in as this user (not by su or sudo), or make a service of the system: sudo crosstalk service install --system'
    }`,
  );
}

/**
 * Whether a lasting service of this user can be installed: not when no manager is in reach, nor from the
 * folder of npx, which npx empties.
 */
export async function lasts(machine: Machine): Promise<boolean> {
  if (machine.entry.includes('_npx')) return false;
  const system = false;
  return (await managerOf(machine, system).catch(() => undefined)) !== undefined;
}

/** Whether systemd runs this machine; sd_booted(3). */
function isBooted(): Promise<boolean> {
  return stat('/run/systemd/system').then(
    (found) => found.isDirectory(),
    () => false,
  );
}
