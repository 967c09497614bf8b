import { mkdtemp, readdir, readFile, rename, rm, copyFile, chmod, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { passed } from '../../crash-points.ts';
import { CrosstalkError } from '../../errors.ts';
import type { Clone } from '../clone/clone.ts';
import { noteMove, OID, readRef, writeRef, type RefWritten } from '../clone/refs.ts';
import type { Git } from '../git/git.ts';
import { branchInTheWay, checkedOutAt } from './source.ts';
import { gitFor, ownGitOf, partsOf, tipOfTree, type Tree } from './tree.ts';

/** The fetched branch of a copy. */
export interface Brought {
  commit: string;
  /** Number of files that differ between this commit and the base of the branch. */
  changed: number;
  /** The reason why the branch of the original does not name it, although its objects are there. */
  held?: string;
}

/** Limits of a pack that is unpacked into loose objects, as in git's fetch. */
const FEW_OBJECTS = 100;
const SMALL_PACK = 16 * 1024 * 1024;
const PACKING = 'pack-';
const HOUR_MS = 3_600_000;

/**
 * Fetches the branch of a copy into its original repository, as `refs/heads/<branch>`. No git runs with
 * the configuration or the hooks of either, and the objects are checked as if a stranger had sent them.
 * Nothing else of the original is touched.
 *
 * @param last the commit that was fetched before
 * @throws CrosstalkError `git_failed` when it cannot be fetched
 */
export async function bringBranch(
  environment: NodeJS.ProcessEnv,
  source: Clone,
  tree: Tree,
  last: string | undefined,
  signal: AbortSignal,
): Promise<Brought> {
  const commit = await tipOfTree(tree);
  const into = await gitFor(environment, tree, { source, objects: source });
  if (commit !== last && commit !== tree.base)
    await transfer(environment, source, tree, last, { commit, into, signal });
  const changed = await changedFiles(into, tree.base, commit);
  const held = await moveBranch(source, into, tree, { commit, last });
  passed('branch_moved');
  return { commit, changed, ...(held !== undefined && { held }) };
}

/** Describes the branch of a copy that could not be fetched; undefined when it is not known or has no commits. */
export async function leftBehind(
  environment: NodeJS.ProcessEnv,
  source: Clone,
  tree: Tree,
): Promise<Omit<Brought, 'held'> | undefined> {
  try {
    const commit = await tipOfTree(tree);
    if (commit === tree.base) return undefined;
    const objects = await partsOf(tree);
    const git = await gitFor(environment, tree, { source, objects });
    return { commit, changed: await changedFiles(git, tree.base, commit) };
  } catch {
    // The answer of the run must not be lost because of this.
    return undefined;
  }
}

async function transfer(
  environment: NodeJS.ProcessEnv,
  source: Clone,
  tree: Tree,
  last: string | undefined,
  { commit, into, signal }: { commit: string; into: Git; signal: AbortSignal },
): Promise<void> {
  const limits = { signal, timeout: HOUR_MS };
  await removeOlder(ownGitOf(tree));
  const folder = await mkdtemp(join(ownGitOf(tree), PACKING));
  try {
    const from = await gitFor(environment, tree, { source, objects: await partsOf(tree) });
    const known = [tree.base, ...(last === undefined ? [] : [last])];
    const input = [commit, ...known.map((oid) => `^${oid}`), ''].join('\n');
    const named = await from.must(['pack-objects', '--revs', '--quiet', join(folder, 'pack')], {
      input,
      ...limits,
    });
    const name = named.toString('latin1').trim();
    if (!OID.test(name))
      throw new CrosstalkError('git_failed', `git pack-objects named no pack for ${tree.dir}`);
    passed('branch_packed');
    await receive(source, into, join(folder, `pack-${name}`), limits);
    await into.must(['rev-list', '--objects', '--quiet', commit, '--not', tree.base], limits);
    passed('branch_received');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Removes packs left by a killed process; no other process fetches the branch of this copy now. */
async function removeOlder(folder: string): Promise<void> {
  for (const name of await readdir(folder))
    if (name.startsWith(PACKING)) await rm(join(folder, name), { recursive: true, force: true });
}

/**
 * Receives an unchecked pack: the index that came with it is not used, and nothing is written into the
 * repository before the whole pack has been verified.
 */
async function receive(
  source: Clone,
  into: Git,
  path: string,
  limits: { signal: AbortSignal; timeout: number },
): Promise<void> {
  const [pack, index] = [`${path}.pack`, `${path}.idx`];
  const head = await readHead(pack);
  if (head.objects === 0) return;
  await rm(index, { force: true });
  await into.must(['index-pack', '--strict', '-o', index, pack], limits);
  if (head.objects <= FEW_OBJECTS && head.bytes <= SMALL_PACK) {
    await into.must(['unpack-objects', '-q'], { input: await readFile(pack), ...limits });
    return;
  }
  const folder = join(source.objectsDir, 'pack');
  // Git uses a pack once its index is there, so the index is copied last.
  for (const file of [pack, index]) {
    const temporary = join(folder, `tmp_${basename(file)}`);
    await copyFile(file, temporary);
    await chmod(temporary, 0o444);
    await rename(temporary, join(folder, basename(file)));
  }
}

async function readHead(pack: string): Promise<{ objects: number; bytes: number }> {
  const { size } = await stat(pack);
  const bytes = size <= SMALL_PACK ? await readFile(pack) : undefined;
  return { objects: bytes?.readUInt32BE(8) ?? FEW_OBJECTS + 1, bytes: size };
}

async function changedFiles(git: Git, base: string, commit: string): Promise<number> {
  if (base === commit) return 0;
  const args = [
    'diff-tree',
    '-r',
    '-z',
    '--no-renames',
    '--no-ext-diff',
    '--name-only',
    base,
    commit,
  ];
  const names = await git.must(args);
  return names.reduce((count, byte) => count + (byte === 0 ? 1 : 0), 0);
}

/**
 * Moves the branch in the original, unless somebody works on it, or it has commits that would be lost;
 * returns the reason when it was not moved. A crash may have moved it before without recording that.
 */
async function moveBranch(
  source: Clone,
  git: Git,
  { branch, base }: Tree,
  { commit, last }: { commit: string; last: string | undefined },
): Promise<string | undefined> {
  const ref = `refs/heads/${branch}`;
  const now = await readRef(source, ref);
  if (now === commit || (now === undefined && commit === base)) return undefined;
  if (now !== undefined && now !== last) {
    const ancestry = await git.run(['merge-base', '--is-ancestor', now, commit]);
    if (!ancestry.ok)
      return `the branch ${branch} was moved in ${source.dir}; merge ${commit} there`;
  }
  const place = await checkedOutAt(source, ref);
  if (place !== undefined)
    return `the branch ${branch} is checked out in ${place}; merge ${commit} there`;
  const other = now === undefined ? await branchInTheWay(source, ref) : undefined;
  if (other !== undefined) {
    const name = other.replace('refs/heads/', '');
    return `the branch ${name} of ${source.dir} leaves no room for ${branch}; rename it with: git -C ${source.dir} branch -m ${name} another-name`;
  }
  const moved = await movedInTime(source, ref, commit, now ?? '');
  if (!moved.ok) return moved.reason;
  const none = '0'.repeat(commit.length);
  await noteMove(source, ref, now ?? none, commit, 'fetched by crosstalk');
  return undefined;
}

/**
 * Number of tries, half a second apart: the lock of a killed git outlasts them and is left alone, as only
 * threads have branches of this name.
 */
const LOCKED_TRIES = 20;
const LOCKED_WAIT_MS = 500;

/** Moves a branch as soon as its lock is free, unless it was moved in the meantime. */
async function movedInTime(
  source: Clone,
  ref: string,
  to: string,
  from: string,
): Promise<RefWritten> {
  for (let tries = 1; ; tries++) {
    const moved = await writeRef(source, ref, to, from);
    if (moved.ok || !moved.contention || tries === LOCKED_TRIES) return moved;
    if (((await readRef(source, ref)) ?? '') !== from) return moved;
    await sleep(LOCKED_WAIT_MS);
  }
}
