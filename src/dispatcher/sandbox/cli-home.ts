import { createHash } from 'node:crypto';
import { access, chmod, lstat, readdir, rename, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { AgentAccount } from '../../agents/account.ts';
import { inHome } from '../../agents/command-line.ts';
import { needsOf } from '../../agents/sandbox.ts';
import { hasCode } from '../../errors.ts';
import { makeFolder } from '../../folder.ts';
import { folderBelow, folderIn, pathOf } from '../../state/place/below.ts';
import { real } from '../../runner/sandbox/system.ts';
import { bury } from '../../state/removal.ts';
import { GONE, removeRunDirectory, runDirectories } from '../../state/run-directory.ts';
import { lendLogin } from './lent-login.ts';
import { ownPlace } from './places.ts';
import type { Confinement, Own } from './view.ts';

/*
 * The folders of a CLI in a sandbox, `<state>/sandbox/.homes/<run>`, are made for one run: in them are the
 * operator's settings, which it cannot change, a copy of the login, and the session that it goes on with.
 * When it has ended, the files of its session are moved to `<state>/sandbox/.sessions/<key>`, and the rest is
 * removed. So nothing that a run writes, under whatever name, is there when a CLI starts again.
 */

/** The folders of a CLI in a sandbox. */
export interface CliHome {
  own: Own;
  /** Takes back what comes back, and removes the rest. */
  close: () => Promise<void>;
}

/** How long the files of a session are kept after its last run, as its workspace is. */
const KEPT_MS = 7 * 24 * 3_600_000;
/** Bytes; a file of a session that is longer is not kept. */
const LONGEST = 256 * 1024 * 1024;
/** More files of a session are not kept. */
const MOST_FILES = 5000;

/** Makes the folders of a CLI for a run. */
export async function cliHome(
  { stateDir, runDir, session, env, log, actor, now }: Confinement,
  account: AgentAccount | undefined,
  home: string,
  written: readonly string[],
): Promise<CliHome> {
  const needs = account && needsOf(account.agent);
  if (account === undefined || needs === undefined || runDir === undefined)
    return { own: [], close: () => Promise.resolve() };
  const [homes, sessions] = ['.homes', '.sessions'].map((name) =>
    join(stateDir, 'sandbox', name),
  ) as [string, string];
  const dir = join(homes, basename(runDir));
  await removeStale(homes, dirname(runDir), dir);
  await makeFolder(homes, 0o700);
  const kept = session && join(sessions, digestOf(session.key));
  if (kept !== undefined) {
    await removeOld(sessions, now().getTime() - KEPT_MS);
    if (session?.goesOn === true) await rename(kept, dir).catch(ifThere);
    else await removeRunDirectory(kept);
  }
  const placeOf = await placesOf(account, env, home);
  const own: Own[number][] = [];
  for (const path of needs.folders) {
    await makeFolder(join(dir, path), 0o700);
    own.push({ path: placeOf(path), from: join(dir, path), writable: true });
  }
  for (const path of needs.settings) {
    const from = await ownPlace(placeOf(path), written);
    if (from !== undefined) own.push({ path: placeOf(path), from, writable: false });
  }
  const lent = await lendLogin(await real(placeOf(needs.login.file)), {
    ...{ dir, login: needs.login, now },
    failed: (reason) => {
      log('internal_error', { actor, error: `the login of ${account.id}: ${reason}` });
    },
  });
  return {
    own,
    close: async () => {
      await lent.close();
      if (kept !== undefined) await keep(dir, needs.sessions, kept).catch(() => undefined);
      await removeRunDirectory(dir);
    },
  };
}

/** Where the files of an account are that lie in other folders for a login of another name. */
export async function placesOf(
  { agent, folder: named }: AgentAccount,
  env: NodeJS.ProcessEnv,
  home: string,
): Promise<(path: string) => string> {
  const { variable, folder } = agent.account;
  const set = named ?? (variable === undefined ? undefined : env[variable]);
  const prefix = folder === '' ? '' : `${folder}/`;
  const root = set === undefined || set === '' ? undefined : await real(inHome(set, home));
  return (path) => {
    if (root === undefined) return `${home}/${path}`;
    if (path === folder) return root;
    return path.startsWith(prefix) ? `${root}/${path.slice(prefix.length)}` : `${home}/${path}`;
  };
}

/** Removes the folders of runs that have ended without us. */
async function removeStale(homes: string, runs: string, mine: string): Promise<void> {
  for (const path of await runDirectories(homes)) {
    const name = basename(path, GONE);
    const isUnderWay = await access(join(runs, name)).then(
      () => join(homes, name) !== mine,
      () => false,
    );
    if (!isUnderWay) await removeRunDirectory(path);
  }
}

async function removeOld(sessions: string, edge: number): Promise<void> {
  for (const path of await runDirectories(sessions)) {
    const found = await lstat(path).catch(() => undefined);
    if (path.endsWith(GONE) || (found !== undefined && found.mtimeMs < edge))
      await removeRunDirectory(path);
  }
}

/** Moves the files of a session out of the folders of its run. */
async function keep(dir: string, patterns: readonly string[], kept: string): Promise<void> {
  await removeRunDirectory(kept);
  await makeFolder(kept, 0o700);
  let left = MOST_FILES;
  for (const pattern of patterns) {
    const names = pattern.split('/');
    const fixed = names.findIndex((name) => name.includes('*'));
    const above = names.slice(0, fixed);
    const folder = await folderBelow(dir, above);
    if (folder !== undefined) await take(folder, names.slice(fixed), join(kept, ...above));
  }

  async function take(from: FileHandle, names: readonly string[], to: string): Promise<void> {
    try {
      const [name = '', ...rest] = names;
      for (const found of (await readdir(pathOf(from))).filter((one) => fits(one, name))) {
        if (rest.length > 0) {
          const inner = await folderIn(from, found);
          if (inner !== undefined) await take(inner, rest, join(to, found));
        } else if (left-- > 0) await takeFile(join(pathOf(from), found), to, `${dir}${GONE}`);
      }
    } finally {
      await from.close();
    }
  }
}

/**
 * Moves a plain file, and nothing else that is under its name. What that is, is certain only where no run can
 * reach it, so it passes through the graveyard, where what is no file stays.
 */
async function takeFile(path: string, folder: string, graveyard: string): Promise<void> {
  const grave = await bury(path, graveyard);
  const found = grave === undefined ? undefined : await lstat(grave);
  if (grave === undefined || found?.isFile() !== true || found.size > LONGEST) return;
  await chmod(grave, 0o600);
  await makeFolder(folder, 0o700);
  await rename(grave, join(folder, basename(path)));
}

function fits(name: string, pattern: string): boolean {
  const [before = '', after] = pattern.split('*');
  if (after === undefined) return name === pattern;
  return name.length >= pattern.length - 1 && name.startsWith(before) && name.endsWith(after);
}

function digestOf(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 40);
}

function ifThere(error: unknown): void {
  if (!hasCode(error, 'ENOENT')) throw error;
}
