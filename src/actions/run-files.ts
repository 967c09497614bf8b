import { constants } from 'node:fs';
import { open, realpath } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { CrosstalkError, hasCode, reasonOf } from '../errors.ts';
import { readWhole } from '../plain-file.ts';
import { shown } from '../protocol/text/result.ts';
import { openFolder, type OpenFolder } from '../without-links.ts';
import type { AgentMode } from './agent-mode.ts';

/*
 * The files that a command of a run may access, by any name (trust.md §3, §7): each path is resolved first, and an
 * allowed file is then opened without following a link, so that nothing put in its place in the meantime is reached.
 */

/**
 * Reads a file that a run sends: a regular file below its working directory, its own directory or the
 * checkout. Files in the `.git` folder of the checkout are refused, because it may contain credentials.
 *
 * @param given the option that names it, and its maximum bytes
 * @throws CrosstalkError `usage` for any other file
 */
export async function bytesInRun(
  mode: AgentMode,
  cwd: string,
  file: string,
  { option, limit }: { option: '--file' | '--attach' | '--schema'; limit: number },
): Promise<Buffer> {
  const refused = (why: string): CrosstalkError =>
    new CrosstalkError(
      'usage',
      `${option} ${shown(file)} ${why}; a run may send files below its working directory, CROSSTALK_RUN_DIR or the checkout`,
    );
  const unreadable = (error: unknown): CrosstalkError =>
    refused(`cannot be read: ${reasonOf(error)}`);
  const path = await realpath(resolve(cwd, file)).catch((error: unknown) => {
    throw unreadable(error);
  });
  if (!(await mayRead(mode, path))) throw refused(`is not for a run: it lies elsewhere`);
  const folder = await openFolder(dirname(path)).catch((error: unknown) => {
    throw unreadable(error);
  });
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  const opening = open(join(folder.at, basename(path)), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  const handle = await opening
    .finally(() => folder.close())
    .catch((error: unknown) => {
      throw unreadable(error);
    });
  try {
    const found = await handle.stat();
    if (!found.isFile()) throw refused('is not for a run: it is no regular file');
    if (found.size > limit) throw refused(`has ${String(found.size)} bytes, too many`);
    const bytes = await readWhole(handle, found.size);
    if (typeof bytes === 'string') throw refused(bytes);
    return bytes;
  } finally {
    await handle.close();
  }
}

/**
 * Opens the folder into which a command writes files, created if necessary: for a run one below its
 * working directory or its own directory, where programs keep no settings. Every command of a run that
 * writes to a path named by a user uses this.
 *
 * @param option names it in errors
 * @throws CrosstalkError `usage` for any other folder of a run, and for one that cannot be created
 */
export async function folderToWrite(
  { agentMode, cwd }: { agentMode?: AgentMode | undefined; cwd: string },
  dir: string,
  option: string,
): Promise<OpenFolder> {
  const path = resolve(cwd, dir);
  try {
    const real = await realPathOf(path);
    const why = agentMode === undefined ? undefined : await whyNotToWrite(agentMode, real);
    if (why === undefined) return await openFolder(real, { shownAs: path, make: true });
    throw new CrosstalkError(
      'usage',
      `${option} ${shown(dir)} is not for a run: ${why}; a run may put files below its working directory or CROSSTALK_RUN_DIR`,
    );
  } catch (error) {
    if (error instanceof CrosstalkError) throw error;
    throw new CrosstalkError(
      'usage',
      `${option} ${path} cannot be made: ${hasCode(error, 'ENOTDIR') ? 'a part of it is no folder' : reasonOf(error)}; name another folder`,
      { cause: error },
    );
  }
}

/**
 * Returns the real path of a file that need not exist yet: that of the nearest existing folder above it,
 * and the rest unchanged.
 */
async function realPathOf(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if (!hasCode(error, 'ENOENT') || dirname(path) === path) throw error;
    return join(await realPathOf(dirname(path)), basename(path));
  }
}

async function whyNotToWrite(mode: AgentMode, path: string): Promise<string | undefined> {
  const { runDir, workdir } = mode;
  const root =
    (await rootOf(runDir, path)) ??
    ((await isOfState(mode, path)) ? undefined : await rootOf(workdir, path));
  if (root === undefined) return 'it lies elsewhere';
  // Hidden names belong to repositories, editors and agent CLIs, which obey the files there.
  const folders = relative(root, path).split(sep);
  const hidden = folders.find((name) => name.startsWith('.'));
  return hidden === undefined ? undefined : `${shown(hidden)} is for the settings of programs`;
}

async function mayRead(mode: AgentMode, path: string): Promise<boolean> {
  const { workdir, runDir, transport } = mode;
  const below = async (folder: string | undefined): Promise<boolean> =>
    (await rootOf(folder, dirname(path))) !== undefined;
  if (await below(runDir)) return true;
  if (await isOfState(mode, path)) return false;
  if (transport !== undefined && (await below(join(transport, '.git')))) return false;
  return (await below(workdir)) || below(transport);
}

/** Whether a path is in the state directory, but not in one of the working directories that are kept there. */
async function isOfState({ state }: AgentMode, path: string): Promise<boolean> {
  if ((await rootOf(state, path)) === undefined) return false;
  const workplaces = ['work', 'worktrees'].map((name) => rootOf(join(state ?? '', name), path));
  return (await Promise.all(workplaces)).every((root) => root === undefined);
}

/**
 * Returns the real path of a folder, if a path is the folder or below it; the root of all folders counts
 * as none.
 */
async function rootOf(folder: string | undefined, path: string): Promise<string | undefined> {
  const root = folder === undefined ? sep : await realpath(folder).catch(() => sep);
  return root !== sep && (path === root || path.startsWith(root + sep)) ? root : undefined;
}
