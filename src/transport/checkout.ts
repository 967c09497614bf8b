import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { reasonOf } from '../errors.ts';
import { exists, isPlain } from './clone-file.ts';
import type { Epochs } from './epoch.ts';
import type { GitOutcome } from './git.ts';
import { inTheWay, takeBack } from './checkout-files.ts';
import { makePlain, measure } from './checkout-size.ts';
import type { Objects } from './objects.ts';
import { replace } from './own-git.ts';
import { headOf, readRef, writeRef } from './refs.ts';
import type { Repository } from './repository.ts';
import { showingOf } from './showing.ts';
import { prepareClone } from './sparse.ts';

/** What became of the checkout; `left` says why it was not touched. */
export type CheckoutState = { state: 'current' | 'forwarded' } | { state: 'left'; reason: string };

const UNDER_WAY = [
  'MERGE_HEAD',
  'CHERRY_PICK_HEAD',
  'REVERT_HEAD',
  'rebase-merge',
  'rebase-apply',
  'BISECT_LOG',
];

/**
 * Git on the operator's index and work tree, with our own configuration: no hook, no filter, no
 * file system monitor of the clone (trust.md §1).
 */
async function onCheckout(
  { git, clone }: Repository,
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
  const odd = await isPlain(index).then(() => undefined, reasonOf);
  if (odd !== undefined) {
    const nothing = { stdout: Buffer.alloc(0), stderr: odd };
    return { ok: false, ...nothing, failure: { kind: 'other', reason: odd } };
  }
  return git.run([...sparse, ...args], {
    env: { GIT_WORK_TREE: clone.dir, GIT_INDEX_FILE: index },
    ...(input !== undefined && { input }),
  });
}

const left = (reason: string): CheckoutState => ({ state: 'left', reason });

/**
 * Brings the checkout to `tip` so that people and agents can read files there, when it is on the
 * transport's branch and clean; otherwise leaves it exactly as it is (invariant 1). It shows the
 * paths of a transport only, as plain files, and does not grow past a bound (trust.md §1).
 *
 * When the history before `tip` was archived, the checkout goes over to the one that follows it.
 *
 * @param folders those that are shown; undefined for all that may be
 */
export async function fastForward(
  repository: Repository,
  objects: Objects,
  tip: string,
  epochs: Epochs,
  folders: readonly string[] | undefined,
): Promise<CheckoutState> {
  const { clone, branch } = repository;
  if (!(await isOnBranch(repository))) return left(`it is not on the branch ${branch}`);
  const showing = await showingOf(objects, tip, folders);
  const head = await readRef(clone, 'HEAD');
  const before = await readFile(patternFile(repository), 'utf8').catch(() => '');
  if (head === tip && before === showing.patterns) return { state: 'current' };
  for (const name of UNDER_WAY) {
    if (await exists(join(clone.gitDir, name)))
      return left(`${name} says that something is under way in it`);
  }
  const start = head ?? (await emptyTree(repository));
  if (head === undefined) {
    if (await exists(join(clone.gitDir, 'index'))) return left('its branch has no commit');
  } else {
    const problem = await uncleanReason(repository, objects, head, tip, epochs);
    if (problem !== undefined) return left(problem);
  }
  const measured = await measure(repository, objects, head, tip, showing, before);
  if (!measured.ok) return left(measured.reason);
  const own = await inTheWay(clone.dir, measured.changes);
  if (own !== undefined) return left(`a file that is not on the bus is in the way: ${own}`);
  await prepareClone(repository, showing);
  await replace(patternFile(repository), showing.patterns);
  const changing = { cone: showing.cone, changes: before !== showing.patterns };
  const moved = await onCheckout(repository, ['read-tree', '-m', '-u', start, tip], changing);
  if (!moved.ok) {
    await rm(patternFile(repository), { force: true });
    await takeBack(clone.dir, measured.changes, (args, input) =>
      onCheckout(repository, args, changing, input),
    );
    return left(moved.failure.reason);
  }
  await makePlain(clone.dir, measured.executable);
  const written = await writeRef(clone, `refs/heads/${branch}`, tip, head ?? '');
  if (!written.ok && (await readRef(clone, 'HEAD')) !== tip) {
    await onCheckout(repository, ['read-tree', '-m', '-u', tip, start], showing);
    return left(written.reason);
  }
  await measured.keep();
  return { state: 'forwarded' };
}

/** Why a checkout may not be moved from its commit to another, or undefined. */
async function uncleanReason(
  repository: Repository,
  objects: Objects,
  head: string,
  tip: string,
  epochs: Epochs,
): Promise<string | undefined> {
  const { git } = repository;
  if (!(await isJustBehind(objects, head, tip))) {
    const ahead = await git.run(['merge-base', '--is-ancestor', head, tip]);
    if (!ahead.ok && !(await epochs.isLeftBehind(head, tip)))
      return ahead.stderr === '' ? 'it has commits that are not on the bus' : ahead.failure.reason;
  }
  // Status compares with HEAD, and only our own may be asked.
  await replace(join(repository.gitDir, 'HEAD'), `${head}\n`);
  const status = await statusOf(repository);
  if (!status.ok) return status.failure.reason;
  if (status.stdout.length === 0) return undefined;
  // A checkout that was brought along when its branch could not be: the branch follows.
  const same = await onCheckout(repository, ['diff-index', '--cached', '--quiet', tip, '--'], {
    cone: false,
  });
  return same.ok ? undefined : 'it has uncommitted changes';
}

/** Commits between a checkout and the bus that are looked at without a git process. */
const FEW_COMMITS = 50;

/** Whether a commit is a few steps back in the history of another. */
async function isJustBehind(objects: Objects, commit: string, tip: string): Promise<boolean> {
  let at = tip;
  for (let steps = 0; at !== commit && steps < FEW_COMMITS; steps++) {
    const text = (await objects.read(`${at}^{commit}`))?.content?.toString('latin1') ?? '';
    const parent = /^parent ([0-9a-f]{40,64})$/m.exec(text)?.[1];
    if (parent === undefined) return false;
    at = parent;
  }
  return at === commit;
}

async function statusOf(repository: Repository): Promise<GitOutcome> {
  const cone = (await readFile(patternFile(repository), 'utf8').catch(() => '')).startsWith('/*\n');
  return onCheckout(repository, ['status', '--porcelain', '--untracked-files=no'], { cone });
}

function patternFile({ gitDir }: Repository): string {
  return join(gitDir, 'info', 'sparse-checkout');
}

async function emptyTree({ git }: Repository): Promise<string> {
  const made = await git.must(['hash-object', '-w', '-t', 'tree', '--stdin'], { input: '' });
  return made.toString('utf8').trim();
}

/** Marks the commit that index and work tree still stand at when they could not follow. */
const BEHIND = 'refs/crosstalk/behind';
const LOCK_TRIES = 10;
const LOCK_WAIT_MS = 100;

/**
 * Solo mode moves the branch that may be checked out. Index and work tree follow from `from` to
 * `to` by a two-tree merge, which keeps local changes; left behind, the operator's next commit
 * would delete the mail. Elsewhere than on that branch nothing is touched.
 *
 * When they cannot follow (another git holds the index for longer than a moment), where they
 * stand is remembered, and {@link catchUp} or the next message takes them along.
 */
export async function followBranch(
  repository: Repository,
  from: string,
  to: string,
): Promise<CheckoutState> {
  const { git, branch } = repository;
  if (!(await isOnBranch(repository))) return left(`it is not on the branch ${branch}`);
  const recorded = await behind(repository);
  const start = recorded ?? from;
  const showing = await soloShowing(repository);
  const changing = showing && { ...showing, changes: from === to };
  for (let tries = 1; ; tries++) {
    const followed = await onCheckout(repository, ['read-tree', '-m', '-u', start, to], changing);
    if (followed.ok) {
      if (recorded !== undefined) await git.run(['update-ref', '-d', BEHIND]);
      return { state: 'forwarded' };
    }
    if (followed.failure.kind !== 'contention' || tries === LOCK_TRIES) {
      await git.run(['update-ref', BEHIND, start]);
      return left(
        `${followed.failure.reason}; do not commit in it before it was brought along with: crosstalk sync`,
      );
    }
    await sleep(LOCK_WAIT_MS);
  }
}

/**
 * Solo mode: brings a checkout along that could not follow; `current` when it never fell behind.
 *
 * @param folders those that are shown; undefined for everything: all of it was written here
 */
export async function catchUp(
  repository: Repository,
  objects: Objects,
  tip: string,
  folders: readonly string[] | undefined,
): Promise<CheckoutState> {
  const before = await readFile(patternFile(repository), 'utf8').catch(() => '');
  const showing = folders && (await showingOf(objects, tip, folders));
  const start = await behind(repository);
  if (start === undefined && before === (showing?.patterns ?? '')) return { state: 'current' };
  if (!(await isOnBranch(repository))) return left(`it is not on the branch ${repository.branch}`);
  if (showing === undefined) await rm(patternFile(repository), { force: true });
  else await replace(patternFile(repository), showing.patterns);
  await prepareClone(repository, showing);
  return followBranch(repository, start ?? tip, tip);
}

async function soloShowing(repository: Repository): Promise<{ cone: boolean } | undefined> {
  const text = await readFile(patternFile(repository), 'utf8').catch(() => '');
  return text === '' ? undefined : { cone: text.startsWith('/*\n') };
}

async function behind({ git }: Repository): Promise<string | undefined> {
  const ref = await git.run(['rev-parse', '--quiet', '--verify', BEHIND]);
  return ref.ok ? ref.stdout.toString('utf8').trim() : undefined;
}

/** Whether HEAD of the clone names the branch. */
async function isOnBranch({ clone, branch }: Repository): Promise<boolean> {
  return (await headOf(clone).catch(() => undefined)) === `refs/heads/${branch}`;
}
