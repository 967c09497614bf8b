import { createHash } from 'node:crypto';
import { linkSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { hasCode, reasonOf } from '../../errors.ts';
import { isPlain, smallText } from '../clone/clone-file.ts';
import type { Failure } from '../git/failure.ts';
import type { GitOutcome } from '../git/git.ts';
import { findPipe, knownPipe } from './pipes.ts';
import type { Repository } from '../clone/handle.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { replace } from '../clone/own-git.ts';

/**
 * Runs git on the operator's index and work tree, with our own configuration: no hook, no filter, no file
 * system monitor of the clone (trust.md §1).
 *
 * @param showing undefined for a checkout that shows everything
 * @param place the index and work tree; by default those of the clone
 */
export async function onCheckout(
  { git, clone, gitDir, objectsDir }: Repository,
  args: readonly string[],
  showing: { cone: boolean; changes?: boolean } | undefined,
  place: { index: string; tree: string } = { index: join(clone.gitDir, 'index'), tree: clone.dir },
): Promise<GitOutcome> {
  const cone = showing?.cone ?? false;
  const settings = [
    // Others than its owner may read the index, as ever, but for what the clone itself says of that.
    ...(objectsDir === undefined ? [] : ['core.sharedRepository=umask']),
    `core.sparseCheckout=${String(showing !== undefined)}`,
    `core.sparseCheckoutCone=${String(cone)}`,
    // Folders that the index holds as one entry are not expanded for new patterns.
    `index.sparse=${String(cone && showing?.changes !== true)}`,
  ].flatMap((setting) => ['-c', setting]);
  const odd = await isPlain(place.index).then(() => knownPipe(clone.dir, gitDir), reasonOf);
  if (odd !== undefined) return refused(odd);
  const outcome = await git.run([...settings, ...args], {
    env: {
      GIT_WORK_TREE: place.tree,
      GIT_INDEX_FILE: place.index,
      // Git sees a file that was made plain as changed until `status` has recorded that it is not.
      GIT_OPTIONAL_LOCKS: '1',
    },
  });
  if (outcome.ok) return outcome;
  if (outcome.failure.reason === '') return { ...outcome, failure: silent(args[0] ?? '', outcome) };
  if (outcome.failure.kind !== 'timed_out') return outcome;
  const pipe = await findPipe(clone.dir, gitDir);
  return pipe === undefined ? outcome : refused(pipe);
}

/** Builds the failure of a git that gave no reason; see `isAnswer`. */
function silent(
  command: string,
  { code, failure }: { code: number | null; failure: Failure },
): Failure {
  const how =
    code === null
      ? 'was ended by a signal, or gave up without a word'
      : `ended with exit code ${String(code)} without a word`;
  return { ...failure, reason: `git ${command} ${how}` };
}

/** Builds the result of a git that was not started. */
function refused(reason: string): GitOutcome {
  const nothing = { stdout: Buffer.alloc(0), stderr: reason };
  return { ok: false, ...nothing, code: null, failure: { kind: 'other', reason } };
}

/** Returns the path of the file with the patterns of the checkout: our own file, not that of the clone. */
export function patternFile({ gitDir }: Repository): string {
  return join(gitDir, 'info', 'sparse-checkout');
}

/** Reads the patterns of what the checkout shows; empty before any were set. */
export function readPatterns(repository: Repository): Promise<string> {
  return readFile(patternFile(repository), 'utf8').catch(() => '');
}

/** Writes an empty tree, for a checkout that has no commit yet. */
export async function emptyTree({ git }: Repository): Promise<string> {
  const made = await git.must(['hash-object', '-w', '-t', 'tree', '--stdin'], { input: '' });
  return made.toString('utf8').trim();
}

const LOCK_TRIES = 10;
const LOCK_WAIT_MS = 100;

function indexOf({ clone }: Repository): { index: string; lock: string } {
  const index = join(clone.gitDir, 'index');
  return { index, lock: `${index}.lock` };
}

/** Returns the folder of files that are renamed into the checkout; another state directory has its own. */
export function stagingFolder({ clone, gitDir }: Repository): string {
  const name = createHash('sha1').update(gitDir).digest('hex').slice(0, 8);
  return join(clone.gitDir, `crosstalk-checkout-${name}`);
}

/**
 * Works on the checkout while no git writes its index, by git's own lock, which names our git directory.
 *
 * @param work returns the file that takes the place of the index, if any
 * @returns the reason when the lock could not be taken
 */
export async function whileLocked(
  repository: Repository,
  work: () => Promise<string | undefined>,
): Promise<string | undefined> {
  const { index, lock } = indexOf(repository);
  for (let tries = 1; ; tries++) {
    try {
      makeLock(lock, repository);
      break;
    } catch (error) {
      if (!hasCode(error, 'EEXIST')) return `${lock} cannot be made: ${reasonOf(error)}`;
      if (tries === LOCK_TRIES) return `${lock} exists: another git holds it, or was killed`;
      await sleep(LOCK_WAIT_MS);
    }
  }
  try {
    const made = await work();
    if (made !== undefined) renameSync(made, index);
  } finally {
    rmSync(lock, { force: true });
  }
  return undefined;
}

/** Creates a lock that names its owner from its first byte on: neither a kill nor a full disk leaves an empty one. */
function makeLock(lock: string, repository: Repository): void {
  const [owner, beside] = [repository.gitDir, `${stagingFolder(repository)}.lock`];
  try {
    writeFileSync(beside, owner);
    linkSync(beside, lock);
  } catch (error) {
    // A file system without hard links.
    if (!hasCode(error, 'EPERM') && !hasCode(error, 'ENOTSUP')) throw error;
    writeFileSync(lock, owner, { flag: 'wx' });
  } finally {
    rmSync(beside, { force: true });
  }
}

/** Removes the lock left by a killed process of ours: only one of them works on a checkout at a time. */
export async function removeOwnLock(repository: Repository): Promise<void> {
  const { lock } = indexOf(repository);
  if ((await smallText(lock)) === repository.gitDir) rmSync(lock, { force: true });
}

/** A file that git finds changed; `git status` explains the letters. */
export interface Changed {
  staged: string;
  unstaged: string;
  path: string;
}

type CheckoutStatus = { ok: true; changed: Changed[] } | { ok: false; reason: string };

/** Returns the files changed in the checkout since a commit, without untracked ones. */
export async function statusOf(
  repository: Repository,
  head: string | undefined,
): Promise<CheckoutStatus> {
  if (head === undefined) return { ok: true, changed: [] };
  // Status compares with HEAD, and only our own HEAD may be read.
  await replace(join(repository.gitDir, 'HEAD'), `${head}\n`);
  const cone = isCone(await readPatterns(repository));
  const args = [
    ...['status', '--porcelain', '-z', '--no-renames', '--untracked-files=no'],
    // Otherwise git starts another git in the folder of a submodule, which obeys the configuration
    // there.
    '--ignore-submodules=dirty',
  ];
  const said = await onCheckout(repository, args, { cone });
  if (!said.ok) return { ok: false, reason: said.failure.reason };
  const lines = said.stdout.toString('utf8').split('\0').slice(0, -1);
  const changed = lines.map((line) => ({
    staged: line.charAt(0),
    unstaged: line.charAt(1),
    path: line.slice(3),
  }));
  return { ok: true, changed };
}

/** Returns the reason that names an operator's file in the place of a file of the bus. */
export function inTheWayReason(path: string): string {
  return `a file that is not on the bus is in the way: ${escapeInvisible(path)}`;
}

/** Whether patterns are those of whole folders (see `showingOf`). */
export function isCone(patterns: string): boolean {
  return patterns.startsWith('/*\n');
}

/** Returns a test of whether our patterns show a path; without patterns all paths are shown. */
export function shownBy(patterns: string): (path: string) => boolean {
  if (patterns === '') return () => true;
  const lines = new Set(patterns.split('\n'));
  return (path) => {
    let folder = path.slice(0, Math.max(0, path.lastIndexOf('/')));
    if (lines.has(`/${path}`)) return true;
    if (isCone(patterns) && (folder === '' || lines.has(`!/${folder}/*/`))) return true;
    for (; folder !== ''; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/'))))
      if (lines.has(`/${folder}/`) && !lines.has(`!/${folder}/*/`)) return true;
    return false;
  };
}
