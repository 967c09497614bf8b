import { closeSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { hasCode, reasonOf } from '../../errors.ts';
import { isPlain, smallText } from '../clone/clone-file.ts';
import type { Failure } from '../git/failure.ts';
import type { GitOutcome } from '../git/git.ts';
import { findPipe, knownPipe } from './pipes.ts';
import type { Repository } from '../clone/handle.ts';

/**
 * Runs git on the operator's index and work tree, with our own configuration: no hook, no filter, no file
 * system monitor of the clone (trust.md §1).
 *
 * @param showing undefined for a checkout that shows everything
 * @param place the index and work tree; by default those of the clone
 */
export async function onCheckout(
  { git, clone, gitDir }: Repository,
  args: readonly string[],
  showing: { cone: boolean; changes?: boolean } | undefined,
  place: { index: string; tree: string } = { index: join(clone.gitDir, 'index'), tree: clone.dir },
): Promise<GitOutcome> {
  const cone = showing?.cone ?? false;
  const sparse = [
    `core.sparseCheckout=${String(showing !== undefined)}`,
    `core.sparseCheckoutCone=${String(cone)}`,
    // Folders that the index holds as one entry are not expanded for new patterns.
    `index.sparse=${String(cone && showing?.changes !== true)}`,
  ].flatMap((setting) => ['-c', setting]);
  const odd = await isPlain(place.index).then(() => knownPipe(clone.dir, gitDir), reasonOf);
  if (odd !== undefined) return refused(odd);
  const outcome = await git.run([...sparse, ...args], {
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
      makeLock(lock, repository.gitDir);
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

/** Makes a lock, or leaves none: on a full disk it would be an empty one, which belongs to nobody. */
function makeLock(lock: string, owner: string): void {
  const made = openSync(lock, 'wx', 0o644);
  try {
    writeFileSync(made, owner);
  } catch (error) {
    rmSync(lock, { force: true });
    throw error;
  } finally {
    closeSync(made);
  }
}

/** Removes the lock left by a killed process of ours: only one of them works on a checkout at a time. */
export async function removeOwnLock(repository: Repository): Promise<void> {
  const { lock } = indexOf(repository);
  if ((await smallText(lock)) === repository.gitDir) rmSync(lock, { force: true });
}
