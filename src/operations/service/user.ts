import { readdir } from 'node:fs/promises';
import { CrosstalkError } from '../../errors.ts';
import { runnerIn } from '../../service/run.ts';
import type { Machine } from './machine.ts';

/** The user whose agents a service of the system runs. */
export interface ServiceUser {
  user: string;
  uid: number;
  gid: number;
  /** As after a login: their PATH and their HOME, not root's. */
  env: NodeJS.ProcessEnv;
}

/** Whether root was asked, by sudo, about a service of the system that runs as somebody else. */
export async function isForAnother(
  { uid, systemUnits }: Machine,
  env: NodeJS.ProcessEnv,
): Promise<boolean> {
  if (uid !== 0 || (env['SUDO_USER'] ?? 'root') === 'root') return false;
  const units = await readdir(systemUnits).catch(() => []);
  return units.some((unit) => unit.startsWith('crosstalk-'));
}

/**
 * Who a service of the system is for, and the environment of their login.
 *
 * @param name given by name; else whoever called sudo
 * @throws CrosstalkError `usage` for root and for nobody
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
  // Somebody who is that user already has the environment on them.
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
