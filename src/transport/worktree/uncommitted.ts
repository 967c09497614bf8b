import { randomUUID } from 'node:crypto';
import { copyFile, lstat, readdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { hasCode } from '../../errors.ts';
import { makeFolder } from '../../folder.ts';
import { readPlainFile } from '../../plain-file.ts';
import { findClone, type Clone } from '../clone/clone.ts';
import { replace } from '../clone/own-git.ts';
import { readRef } from '../clone/refs.ts';
import type { Git } from '../git/git.ts';
import { odd, ownGitOf, type Tree } from './tree.ts';

/**
 * Counts changes that are in no commit, by the index of a work tree. Filters are off, so a file with a
 * filter counts once it was touched. Marks that hide changes are removed from a copy of the index.
 *
 * @param tree the copy whose own git directory `git` uses
 * @param clone the clone of the work tree
 * @param head the commit that is checked out; undefined without one
 */
export async function uncommitted(
  git: Git,
  tree: Tree,
  { dir, gitDir, commonDir }: Clone,
  head: string | undefined,
): Promise<number> {
  if (head !== undefined) await setBranch(tree, head);
  const index = join(gitDir, 'index');
  const found = await lstat(index).catch(() => undefined);
  if (found?.isFile() === false) throw odd(index);
  const shown = join(ownGitOf(tree), `index-${randomUUID()}`);
  const env = { GIT_WORK_TREE: dir, GIT_INDEX_FILE: index };
  try {
    const { hidden, modules } = await entriesIn(git, env);
    if (hidden.size > 0) {
      await copyFile(index, shown);
      env.GIT_INDEX_FILE = shown;
      const input = Buffer.from([...hidden, ''].join('\0'), 'latin1');
      for (const mark of ['--no-skip-worktree', '--no-assume-unchanged'])
        await git.must(['update-index', mark, '-z', '--stdin'], { env, input });
    }
    const modes = await hasModes(commonDir);
    const listed = await notWaiting(dir, (signal) =>
      git.must(
        [
          ...['-c', 'core.bare=false', '-c', `core.filemode=${String(modes)}`, 'status'],
          ...['--porcelain=v1', '-z', '--no-renames'],
          ...['--untracked-files=normal', '--ignore-submodules=all'],
        ],
        { env, signal },
      ),
    );
    const changes = listed.toString('latin1').split('\0').slice(0, -1);
    // A hidden file that is not there is not lost.
    const files = changes.filter((one) => !(one.startsWith(' D ') && hidden.has(one.slice(3))));
    return files.length + (modules.size > 0 ? await movedIn(git, env, dir, { modules, head }) : 0);
  } finally {
    await rm(shown, { force: true });
  }
}

const MOST_SETTINGS = 1024 * 1024;

/** Whether the modes of files count, as git determined when it made the repository. */
async function hasModes(commonDir: string): Promise<boolean> {
  const found = await readPlainFile(join(commonDir, 'config'), MOST_SETTINGS);
  return found.kind !== 'text' || !/\bfilemode *= *false\b/i.test(found.text);
}

/** Returns the paths of an index that are marked to be ignored by git, and its submodules with their commits. */
async function entriesIn(git: Git, env: Record<string, string>) {
  const [hidden, modules] = [new Set<string>(), new Map<string, string>()];
  const listed = await git.must(['ls-files', '-v', '-s', '-z'], { env });
  for (const entry of listed.toString('latin1').split('\0').slice(0, -1)) {
    const [tag = '', mode, oid = ''] = entry.split(' ', 3);
    const path = entry.slice(entry.indexOf('\t') + 1);
    if (mode === '160000') modules.set(Buffer.from(path, 'latin1').toString('utf8'), oid);
    else if (tag === 'S' || tag !== tag.toUpperCase()) hidden.add(path);
  }
  return { hidden, modules };
}

/**
 * Counts the submodules whose commit is recorded in no commit, and folders of submodules that have files
 * but are not repositories. Git's own check would run with their git directories.
 */
async function movedIn(
  git: Git,
  env: Record<string, string>,
  dir: string,
  { modules, head }: { modules: ReadonlyMap<string, string>; head: string | undefined },
): Promise<number> {
  const args = [
    'diff-index',
    '--cached',
    '--raw',
    '-z',
    '--no-renames',
    '--ignore-submodules=none',
  ];
  const staged =
    head === undefined ? '' : (await git.must([...args, head], { env })).toString('latin1');
  const isModule = (one: string): boolean => /^:(?:160000|\d+ 160000) /.test(one);
  let count = head === undefined ? modules.size : staged.split('\0').filter(isModule).length;
  for (const [path, oid] of modules) if (await isMoved(join(dir, path), oid)) count++;
  return count;
}

async function isMoved(folder: string, oid: string): Promise<boolean> {
  const names = await readdir(folder).catch((error: unknown) =>
    hasCode(error, 'ENOENT') ? [] : [''],
  );
  if (names.length === 0) return false;
  const found = await findClone(folder).catch(() => undefined);
  return found?.dir !== folder || (await readRef(found, 'HEAD')) !== oid;
}

/** Sets the checked-out commit in our own git directory. */
async function setBranch(tree: Tree, commit: string): Promise<void> {
  const path = join(ownGitOf(tree), 'refs', 'heads', tree.branch);
  await makeFolder(dirname(path), 0o700);
  await replace(path, `${commit}\n`);
}

/** Files that git opens in the folders of a work tree, whatever their type. */
const RULES = new Set(['.gitignore', '.gitattributes', '.gitmodules']);
/** Milliseconds after which the search for a blocking file starts; most copies are inspected in less. */
const PATIENCE_MS = 1000;
/** Maximum number of entries searched in a copy; after that, git's own time limit applies. */
const MOST_ENTRIES = 300_000;

/**
 * Runs a git that inspects the files of a copy. A run may have put a named pipe in the place of a rules
 * file, on which git would block until its timeout; the search for it takes time, so it starts only when
 * git takes long.
 *
 * @throws CrosstalkError `git_failed`, which names the pipe
 */
async function notWaiting<T>(dir: string, git: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const [stop, over] = [new AbortController(), new AbortController()];
  let pipe: string | undefined;
  const searching = sleep(PATIENCE_MS, undefined, { signal: over.signal })
    .then(() => oddRules(dir, over.signal))
    .then((found) => {
      pipe = found;
      if (found !== undefined) stop.abort();
    })
    .catch(() => undefined);
  try {
    return await git(stop.signal);
  } catch (error) {
    throw pipe === undefined ? error : odd(pipe);
  } finally {
    over.abort();
    await searching;
  }
}

/** Finds the first rules file in a work tree that neither is a file nor leads to one. */
async function oddRules(top: string, signal: AbortSignal): Promise<string | undefined> {
  const folders = [top];
  let entries = 0;
  for (const folder of folders) {
    for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
      if (signal.aborted || ++entries > MOST_ENTRIES) return undefined;
      const path = join(folder, entry.name);
      if (entry.isDirectory() && path !== join(top, '.git')) folders.push(path);
      if (!RULES.has(entry.name) || entry.isFile() || entry.isDirectory()) continue;
      const found = await stat(path).catch(() => undefined);
      if (found?.isFile() === false && !found.isDirectory()) return path;
    }
  }
  return undefined;
}
