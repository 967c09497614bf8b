import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import type { AgentAccount } from '../../agents/account.ts';
import { inHome } from '../../agents/command-line.ts';
import { needsOf } from '../../agents/sandbox.ts';
import { makeFolder } from '../../folder.ts';
import { buryBelow, clearGraveyard } from '../../state/removal.ts';
import type { View } from '../../runner/sandbox/mounts.ts';
import { real } from '../../runner/sandbox/system.ts';
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
  /** The command lines of all tiers of this machine, whose logins are not for this one. */
  commands: readonly string[];
  log: Log;
}

export type Own = View['own'];

/** The folders of the CLI, which are the actor's own here, with the operator's settings and login in them. */
export async function ownPlaces(
  { stateDir, actor, env }: Confinement,
  account: AgentAccount | undefined,
  home: string,
): Promise<Own> {
  const needs = account && needsOf(account.agent);
  if (account === undefined || needs === undefined) return [];
  const { variable, folder } = account.agent.account;
  const named = account.folder ?? (variable === undefined ? undefined : env[variable]);
  const prefix = folder === '' ? '' : `${folder}/`;
  const root = named === undefined || named === '' ? undefined : await real(inHome(named, home));
  /** A login folder of another name has the same things in it. */
  const placeOf = (path: string): string => {
    if (root === undefined) return `${home}/${path}`;
    if (path === folder) return root;
    return path.startsWith(prefix) ? `${root}/${path.slice(prefix.length)}` : `${home}/${path}`;
  };
  const own: { path: string; from: string; writable: boolean }[] = [];
  for (const path of needs.folders) {
    const from = join(stateDir, 'sandbox', actor, path);
    await makeFolder(from, 0o700);
    own.push({ path: placeOf(path), from, writable: true });
  }
  const shared = [
    ...needs.settings.map((path) => ({ path, writable: false })),
    ...needs.logins.map((path) => ({ path, writable: true })),
  ];
  for (const { path, writable } of shared) {
    const from = await realpath(placeOf(path)).catch(() => undefined);
    if (from !== undefined) own.push({ path: placeOf(path), from, writable });
    else if (!writable) await forget(join(stateDir, 'sandbox'), actor, needs.folders, path);
  }
  return own;
}

/** Removes settings that an earlier run has left where the operator has none, as from a workspace. */
async function forget(
  root: string,
  actor: string,
  folders: readonly string[],
  path: string,
): Promise<void> {
  const folder = folders.find((one) => path.startsWith(`${one}/`));
  if (folder === undefined) return;
  // No actor has such a name.
  const graveyard = join(root, `.${actor}.gone`);
  const names = path.slice(folder.length + 1).split('/');
  await buryBelow(join(root, actor, folder), names, graveyard);
  await clearGraveyard(graveyard);
}
