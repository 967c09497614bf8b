import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { CrosstalkError } from '../../errors.ts';
import { Git } from '../git/git.ts';
import type { Clone } from '../clone/clone.ts';
import { followShallow, isMade, ownGitAt, writeOwnGit } from '../clone/own-git.ts';
import type { Setting } from '../clone/access.ts';
import { readRef } from '../clone/refs.ts';

/**
 * The copy of a repository in which the runs of one thread work (work.md). A run may write everything in
 * it, its git directory included. So our git never runs with that directory: it runs with one of our own
 * next to it, which has our configuration, and with the objects of the copy (trust.md §1).
 */
export interface Tree {
  /** Absolute path, without symlinks. */
  dir: string;
  branch: string;
  /** The commit from which the branch started. */
  base: string;
}

/** Returns our own git directory for a copy. */
export function ownGitOf({ dir }: Pick<Tree, 'dir'>): string {
  return `${dir}.git`;
}

/** Returns the parts of a copy, if they are as git makes them: real folders, whose objects are all their own. */
export function partsOf({ dir }: Pick<Tree, 'dir'>): Promise<Clone> {
  const gitDir = join(dir, '.git');
  return soundParts({ dir, gitDir, commonDir: gitDir, objectsDir: join(gitDir, 'objects') });
}

/** Checks the parts of a repository that a run may have made, on the same conditions. */
export async function soundParts(clone: Clone): Promise<Clone> {
  const { dir, gitDir, commonDir, objectsDir } = clone;
  for (const path of [
    dir,
    gitDir,
    commonDir,
    objectsDir,
    join(objectsDir, 'info'),
    join(objectsDir, 'pack'),
  ]) {
    const found = await lstat(path).catch(() => undefined);
    const mayLack = path.startsWith(`${objectsDir}/`);
    if (found === undefined ? !mayLack : !found.isDirectory()) throw odd(path);
  }
  for (const name of ['alternates', 'http-alternates']) {
    const path = join(objectsDir, 'info', name);
    if ((await lstat(path).catch(() => undefined)) !== undefined) throw odd(path);
  }
  await checkObjects(objectsDir);
  return clone;
}

/**
 * Refuses anything but files and folders among the objects. Git opens whatever has the name of an object:
 * a named pipe would block it, and a symlink would bring in files that the run itself may not be able to
 * read.
 */
async function checkObjects(objectsDir: string): Promise<void> {
  const folders = [objectsDir];
  for (const folder of folders)
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (!entry.isDirectory() && !entry.isFile()) throw odd(path);
      if (entry.isDirectory() && folder === objectsDir) folders.push(path);
    }
}

/** Builds the error for something odd that a run may have put at a path. */
export function odd(path: string): CrosstalkError {
  return new CrosstalkError(
    'git_failed',
    `${path} is not what git has made there; nothing of this copy is used until it is put right, or removed with: crosstalk worktree remove`,
  );
}

/** Returns the last commit of the branch of a copy. */
export async function tipOfTree(tree: Tree): Promise<string> {
  const tip = await readRef(await partsOf(tree), `refs/heads/${tree.branch}`);
  if (tip === undefined)
    throw new CrosstalkError(
      'git_failed',
      `the copy ${tree.dir} has no branch ${tree.branch} any more`,
    );
  return tip;
}

/**
 * Creates our git for a copy: with the objects of the copy, or with those of its original repository.
 *
 * @param settings in addition to ours, such as the address of a remote
 */
export async function gitFor(
  environment: NodeJS.ProcessEnv,
  tree: Tree,
  { source, objects, settings = [] }: { source: Clone; objects: Clone; settings?: Setting[] },
): Promise<Git> {
  const own = ownGitAt(ownGitOf(tree));
  if (settings.length > 0 || !(await isMade(own))) {
    const format: Setting[] =
      tree.base.length === 64 ? [['extensions.objectformat', 'sha256']] : [];
    await writeOwnGit(own, source, [...format, ...settings], tree.branch);
  }
  await followShallow(own, source);
  return new Git(tree.dir, environment, { gitDir: own.gitDir, objectsDir: objects.objectsDir });
}
