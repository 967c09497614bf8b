import { realpath, stat, readdir } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { binPath, isPassing } from '../../package.ts';
import { runnerIn, type CommandRunner } from '../../service/run.ts';
import { CrosstalkError } from '../../errors.ts';
import { type ManagerKind } from '../../service/files.ts';

/**
 * The properties of the machine, besides the transport, on which the installation of a service depends;
 * tests pass their own values.
 */
export interface Machine {
  platform: NodeJS.Platform;
  uid: number;
  run: CommandRunner;
  /** The folder of the system's units. */
  systemUnits: string;
  /**
   * The program that runs this one, and this one's entry file, by paths that stay valid after an
   * upgrade.
   */
  node: string;
  entry: string;
}

/** Returns the machine on which this process runs. */
export async function thisMachine(env: NodeJS.ProcessEnv): Promise<Machine> {
  return {
    platform: process.platform,
    uid: process.getuid?.() ?? 0,
    run: runnerIn(env),
    systemUnits: '/etc/systemd/system',
    node: await lasting(process.execPath, ['node'], env),
    entry: await entryPath(env),
  };
}

/** Returns the entry file of this program, by the name with which it was called if that name leads to it. */
export function entryPath(env: NodeJS.ProcessEnv): Promise<string> {
  const [, called = ''] = process.argv;
  return lasting(binPath(), ['crosstalk', 'ct'], env, called);
}

/**
 * Returns a path of a file that still leads to the file after an upgrade: package managers keep each
 * version in its own folder, and move a link on the PATH.
 */
async function lasting(
  file: string,
  names: readonly string[],
  env: NodeJS.ProcessEnv,
  called = '',
): Promise<string> {
  const folders = (env['PATH'] ?? '').split(delimiter).filter((folder) => folder.startsWith('/'));
  const links = [
    called,
    ...names.flatMap((name) => folders.map((folder) => join(folder, name))),
  ].filter((path) => path.startsWith('/') && !isOfSession(path));
  const target = await realpath(file);
  for (const link of links) {
    const found = await realpath(link).catch(() => undefined);
    if (found === target) return link;
  }
  return file;
}

/** Whether a folder was made temporarily by a shell, npx or a run of npm. */
function isOfSession(path: string): boolean {
  return isPassing(path) || /fnm_multishells|node_modules\/\.bin|^\/run\/user\//.test(path);
}

/** The service manager to use. */
interface Manager {
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
  if (isPassing(machine.entry)) return false;
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

/** The user whose agents are run by a service of the system. */
interface ServiceUser {
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
