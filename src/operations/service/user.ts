import { readdir } from 'node:fs/promises';
import { CrosstalkError } from '../../errors.ts';
import { runnerIn } from '../../service/run.ts';
import type { Machine } from './machine.ts';

/** The user whose agents are run by a service of the system. */
export interface ServiceUser {
  user: string;
  uid: number;
  gid: number;
  /** The environment after a login: with the user's PATH and HOME, not root's. */
  env: NodeJS.ProcessEnv;
}

/** Whether root was called through sudo for a service of the system that runs as another user. */
export async function isForAnother(
  { uid, systemUnits }: Machine,
  env: NodeJS.ProcessEnv,
): Promise<boolean> {
  if (uid !== 0 || (env['SUDO_USER'] ?? 'root') === 'root') return false;
  const units = await readdir(systemUnits).catch(() => []);
  return units.some((unit) => unit.startsWith('crosstalk-'));
}

/**
 * Determines the user of a service of the system, and the environment of their login.
 *
 * @param name the user's name; by default the caller of sudo
 * @throws CrosstalkError `usage` for root, and when no user is known
 */
export async function serviceUser(
  env: NodeJS.ProcessEnv,
  uid: number,
  name: string | undefined,
): Promise<ServiceUser> {
  const user = name ?? env['SUDO_USER'] ?? (uid === 0 ? 'root' : (env['USER'] ?? ''));
  const run = runnerIn(env);
  const entry = await run(['getent', 'passwd', user]);
  const [, , id = '', gid = '', , home = ''] = entry.stdout.trim().split(':');
  if (!/^[A-Za-z_][\w.-]*\$?$/.test(user) || entry.code !== 0 || home === '')
    throw new CrosstalkError(
      'usage',
      `${JSON.stringify(user)} is no user of this machine; name one with --user <name>`,
    );
  if (Number(id) === 0)
    throw new CrosstalkError(
      'usage',
      'agent CLIs do not run as root; name the user whose agents they are with --user <name>',
    );
  // If this process already runs as that user, it has their environment.
  if (uid === Number(id)) return { user, uid, gid: Number(gid), env };
  const login = await run(['su', '-', user, '-c', 'env -0'], {
    env: { PATH: env['PATH'] ?? '/usr/sbin:/usr/bin:/sbin:/bin' },
  });
  if (login.code !== 0)
    throw new CrosstalkError(
      'refused',
      `cannot ask for the login environment of ${user}: ${login.stderr.trim().split('\n')[0] ?? ''}; run it as root`,
    );
  const theirs = Object.fromEntries(
    login.stdout
      .split('\0')
      .filter((line) => line.includes('='))
      .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );
  return { user, uid: Number(id), gid: Number(gid), env: theirs };
}
