import { createHash } from 'node:crypto';
import { lstat, readdir, readFile, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { makeFolder } from '../../folder.ts';
import { plainFileAt } from '../../plain-file.ts';
import { isWithin } from '../../runner/sandbox/mounts.ts';
import type { Survey } from '../../runner/sandbox/survey.ts';
import { kindOf, real } from '../../runner/sandbox/system.ts';
import { writeDurably } from '../../state/files.ts';
import { submodulesIn } from './submodules.ts';
import { closed, unsafe } from './places.ts';

/*
 * Git executes what stands in a repository. So in folders of the operator's that runs may write, each repository
 * is unwritable, and its place fixed (see `mountsOf`). After a run it is looked again whether each is where it
 * was: a run that began before a repository was there does not know of it.
 */

type Found = Survey['repositories'];

/**
 * What has to be unwritable in folders that runs may write, so that no git of the operator's executes what they
 * write: git directories, files that stand for one with what they lead to, and the folders of submodules that
 * are not there yet.
 *
 * @param places the folders that runs may write, without symlinks
 * @throws CrosstalkError `refused` for a repository that no mount can keep
 */
export async function fixedIn(places: readonly string[], found: Found): Promise<string[]> {
  const fixed = found.map(({ path }) => path);
  const isIn = (path: string): boolean => places.some((place) => isWithin(path, place));
  for (const { path, kind } of found) {
    if (kind === 'link')
      throw unsafe(
        `${path} is a symlink in a folder that runs may write, so that one of them could put another repository in its place; have a file say where it is instead, as git init --separate-git-dir writes it, or give the actor a worktree`,
      );
    const git = kind === 'file' ? namedBy(path) : path;
    if (git === undefined) continue;
    const common = commonOf(git);
    for (const one of kind === 'file' ? [git, common] : [common]) {
      const place = await real(one);
      if (!isIn(place) || fixed.includes(place)) continue;
      if ((await kindOf(place)) !== 'folder')
        throw unsafe(
          `${path} leads to ${place}, which is missing, in a folder that runs may write: one of them could make a repository there; remove ${path}, or make its repository again`,
        );
      fixed.push(place);
    }
    if (!path.endsWith('/.git')) continue;
    for (const name of await submodulesIn(git)) {
      const folder = join(dirname(path), name);
      if (fixed.includes(`${folder}/.git`) || !isIn(folder)) continue;
      if ((await real(folder)) !== folder || (await kindOf(folder)) !== 'folder')
        throw unsafe(
          `the folder ${folder} of a submodule is missing, so that a run could make a repository there; make it with: git -C ${dirname(path)} checkout -- ${name}`,
        );
      fixed.push(folder);
    }
  }
  // What lies in a folder that is unwritable is so too.
  return [...new Set(fixed)].filter(
    (path) => !fixed.some((one) => one !== path && isWithin(path, one)),
  );
}

/** A file of a repository is not read if it is larger. */
const MOST_BYTES = 4096;

function smallText(path: string): string {
  const found = plainFileAt(path, MOST_BYTES, { follow: false });
  if (found.kind === 'odd') throw closed(path);
  return found.kind === 'text' ? found.text : '';
}

/** The git directory that a file stands for. */
function namedBy(file: string): string | undefined {
  const named = /^gitdir: ([^\n]+)/.exec(smallText(file))?.[1]?.trim() ?? '';
  return named === '' ? undefined : resolve(dirname(file), named);
}

/** The git directory with the settings of one. */
function commonOf(git: string): string {
  const named = smallText(join(git, 'commondir')).trim();
  return named === '' ? git : resolve(git, named);
}

/** What is at a path, so that something else in its place is noticed. */
async function identityOf(path: string): Promise<string> {
  const found = await lstat(path).catch(() => undefined);
  return found === undefined ? '' : `${String(found.dev)}:${String(found.ino)}`;
}

/** Which repositories are where, before a run. */
export async function identitiesOf(fixed: readonly string[]): Promise<Map<string, string>> {
  const all = fixed.map(async (path) => [path, await identityOf(path)] as const);
  return new Map(await Promise.all(all));
}

/** Those of some repositories that are not where they were; later runs are kept from their folders. */
export async function holdMoved(
  stateDir: string,
  before: ReadonlyMap<string, string>,
): Promise<string[]> {
  const moved: string[] = [];
  for (const [path, identity] of before) {
    if ((await identityOf(path)) === identity) continue;
    moved.push(path);
    await makeFolder(heldIn(stateDir), 0o700);
    const name = createHash('sha256').update(path).digest('hex').slice(0, 16);
    await writeDurably(join(heldIn(stateDir), name), JSON.stringify({ path, identity }));
  }
  return moved;
}

/**
 * @throws CrosstalkError `refused` while a repository is missing that has been moved away during a run from a
 *   folder that this run may write
 */
export async function checkHeld(stateDir: string, places: readonly string[]): Promise<void> {
  for (const name of await readdir(heldIn(stateDir)).catch(() => [])) {
    const file = join(heldIn(stateDir), name);
    const { path, identity } = JSON.parse(await readFile(file, 'utf8')) as Record<string, string>;
    if (path === undefined || !places.some((place) => isWithin(path, place))) continue;
    if ((await identityOf(path)) === identity) await rm(file, { force: true });
    else
      throw unsafe(
        `the repository ${path} was moved or replaced during a run that could write there; see what is in its place before you use git in it, and then remove ${file}`,
      );
  }
}

function heldIn(stateDir: string): string {
  // No actor has such a name.
  return join(stateDir, 'sandbox', '.moved');
}
