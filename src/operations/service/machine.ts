import { realpath } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { binPath } from '../../package.ts';
import { runnerIn, type CommandRunner } from '../../service/run.ts';

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
  ].filter((path) => path.startsWith('/') && !isPassing(path));
  const target = await realpath(file);
  for (const link of links) {
    const found = await realpath(link).catch(() => undefined);
    if (found === target) return link;
  }
  return file;
}

/** Whether a folder was made temporarily by a shell, npx or a run of npm. */
function isPassing(path: string): boolean {
  return /fnm_multishells|_npx|node_modules\/\.bin|^\/run\/user\//.test(path);
}
