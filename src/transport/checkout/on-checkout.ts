import { open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { hasCode, reasonOf } from '../../errors.ts';
import { isPlain } from '../clone/clone-file.ts';
import type { Failure } from '../git/failure.ts';
import type { GitOutcome } from '../git/git.ts';
import { findPipe, knownPipe } from './pipes.ts';
import type { Repository } from '../clone/handle.ts';

/**
 * Git on the operator's index and work tree, with our own configuration: no hook, no filter, no
 * file system monitor of the clone (trust.md §1).
 *
 * @param showing undefined for a checkout that shows everything
 */
export async function onCheckout(
  { git, clone, gitDir }: Repository,
  args: readonly string[],
  showing: { cone: boolean; changes?: boolean } | undefined,
  input?: string,
): Promise<GitOutcome> {
  const cone = showing?.cone ?? false;
  const sparse = [
    `core.sparseCheckout=${String(showing !== undefined)}`,
    `core.sparseCheckoutCone=${String(cone)}`,
    // Folders that the index holds as one are not taken apart for new patterns.
    `index.sparse=${String(cone && showing?.changes !== true)}`,
  ].flatMap((setting) => ['-c', setting]);
  const index = join(clone.gitDir, 'index');
  const odd = await isPlain(index).then(() => knownPipe(clone.dir, gitDir), reasonOf);
  if (odd !== undefined) return refused(odd);
  const outcome = await git.run([...sparse, ...args], {
    env: {
      GIT_WORK_TREE: clone.dir,
      GIT_INDEX_FILE: index,
      // A file that was made plain is a changed file to git until `status` has recorded that it is
      // not.
      GIT_OPTIONAL_LOCKS: '1',
    },
    ...(input !== undefined && { input }),
  });
  if (outcome.ok) return outcome;
  if (outcome.failure.reason === '') return { ...outcome, failure: silent(args[0] ?? '', outcome) };
  if (outcome.failure.kind !== 'timed_out') return outcome;
  const pipe = await findPipe(clone.dir, gitDir);
  return pipe === undefined ? outcome : refused(pipe);
}

/** The failure of a git that has not said why; see `isAnswer`. */
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

/** The result of a git that was not started. */
function refused(reason: string): GitOutcome {
  const nothing = { stdout: Buffer.alloc(0), stderr: reason };
  return { ok: false, ...nothing, code: null, failure: { kind: 'other', reason } };
}

/** The file that says what the checkout shows: our own file, not that of the clone. */
export function patternFile({ gitDir }: Repository): string {
  return join(gitDir, 'info', 'sparse-checkout');
}

/** What the checkout was last told to show; empty while it was told nothing. */
export function readPatterns(repository: Repository): Promise<string> {
  return readFile(patternFile(repository), 'utf8').catch(() => '');
}

/** A tree without entries, for a checkout that has no commit yet. */
export async function emptyTree({ git }: Repository): Promise<string> {
  const made = await git.must(['hash-object', '-w', '-t', 'tree', '--stdin'], { input: '' });
  return made.toString('utf8').trim();
}

const LOCK_TRIES = 10;
const LOCK_WAIT_MS = 100;

/**
 * Works on the checkout while no git writes its index, by git's own lock.
 *
 * @returns why the lock was not to be had, if so
 */
export async function whileLocked(
  { clone }: Repository,
  work: () => Promise<void>,
): Promise<string | undefined> {
  const lock = join(clone.gitDir, 'index.lock');
  for (let tries = 1; ; tries++) {
    try {
      await (await open(lock, 'wx', 0o644)).close();
      break;
    } catch (error) {
      if (!hasCode(error, 'EEXIST')) return `${lock} cannot be made: ${reasonOf(error)}`;
      if (tries === LOCK_TRIES) return `${lock} exists: another git holds it, or was killed`;
      await sleep(LOCK_WAIT_MS);
    }
  }
  try {
    await work();
  } finally {
    await rm(lock, { force: true });
  }
  return undefined;
}
