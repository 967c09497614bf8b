import { realpath } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { dirname } from 'node:path';
import { inHome } from '../../agents/command-line.ts';
import { SECRET_PLACES } from '../../agents/sandbox.ts';
import { packageRoot } from '../../package.ts';
import { thisMachine } from '../../runner/sandbox/machine.ts';
import type { View } from '../../runner/sandbox/mounts.ts';
import type { Log } from '../../log.ts';
import type { Sandbox } from '../../protocol/files/tier-sandbox.ts';

/** What is to run in a sandbox, and where. */
export interface Confinement {
  sandbox: Sandbox;
  /** The sandbox program. */
  program: string;
  actor: string;
  command: string;
  /** Where it works. */
  cwd: string;
  /** The variables it would have without a sandbox. */
  env: NodeJS.ProcessEnv;
  /** Its own directory; undefined where it does not talk on the bus. */
  runDir?: string;
  /** The folder of the `crosstalk` on its PATH. */
  binDir?: string;
  stateDir: string;
  /** The folder that holds the state of all transports. */
  stateHome: string;
  /** The transport's checkout, and its git directories. */
  transport: { dir: string; gitDirs: readonly string[] };
  /** The session of its CLI: its name here, and whether it is gone on with. */
  session?: { key: string; goesOn: boolean };
  now: () => Date;
  log: Log;
}

export type Own = View['own'];

/** Files that are secret on every machine, for a dispatcher that may read them. */
const SYSTEM_SECRETS = [
  ...['/etc/shadow', '/etc/gshadow', '/etc/sudoers', '/etc/sudoers.d', '/etc/ssh'],
  ...['/var/spool/cron', '/var/lib/docker', '/var/lib/private'],
];

/** What a sandbox shows of this machine. */
export async function viewOf(what: Confinement, home: string, own: Own): Promise<View> {
  const { sandbox, cwd, runDir, binDir, stateDir, stateHome, transport } = what;
  const ownPaths = own.map(({ path }) => path);
  // HOME may say something else than the system does, and both may hold what is secret.
  const homes = [...new Set([home, await real(userInfo().homedir)])];
  const secrets = [
    ...homes.flatMap((each) => SECRET_PLACES.map((path) => `${each}/${path}`)),
    ...SYSTEM_SECRETS,
    ...sandbox.hide.map((path) => inHome(path, home)),
    ...[stateDir, stateHome, ...transport.gitDirs],
  ].filter((path) => !ownPaths.includes(path));
  const write = [cwd, ...(runDir === undefined ? [] : [runDir])];
  for (const path of sandbox.write) write.push(await real(inHome(path, home)));
  return {
    home,
    write,
    // This program and its node may lie in a folder of which the sandbox has one of its own, such as /tmp.
    read: [
      ...[transport.dir, await real(packageRoot()), dirname(await real(process.execPath))],
      ...(binDir === undefined ? [] : [binDir]),
      ...(await Promise.all(write.map((path) => gitDirsIn(path, stateDir)))).flat(),
    ],
    hide: [...new Set(await Promise.all(secrets.map(real)))],
    own,
    talk: runDir,
  };
}

/** Folders of a writable place in which a repository is looked for. */
const MOST_FOLDERS = 1000;

/**
 * The git directories in a place that is not kept for runs alone: what stands there is executed by the
 * git of whoever works in it otherwise, also by that of a prompt.
 */
async function gitDirsIn(place: string, stateDir: string): Promise<string[]> {
  if (place === stateDir || place.startsWith(`${stateDir}/`)) return [];
  const folders = thisMachine
    .entries(place)
    .filter(({ kind }) => kind === 'folder')
    .slice(0, MOST_FOLDERS);
  const found = [place, ...folders.map(({ name }) => `${place}/${name}`)]
    .map((folder) => `${folder}/.git`)
    .filter((path) => thisMachine.kindOf(path) !== 'none');
  // Nothing can be mounted on a symlink.
  const isPlain = await Promise.all(found.map(async (path) => (await real(path)) === path));
  return found.filter((_, at) => isPlain[at]);
}

/** A path without symlinks; as it is where nothing is there. */
export async function real(path: string): Promise<string> {
  return realpath(path).catch(() => path);
}
