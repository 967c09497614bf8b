import { join } from 'node:path';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { inTheWay, notUtf8 } from './files.ts';
import { finishMove, forgetMove, isIndexAt, moveUnderWay, rememberMove } from './move.ts';
import { loadCheckoutSize, measure } from './size.ts';
import { inTheWayReason, ownFiles, shows, statusOf, type CheckoutStatus } from './status.ts';
import { exists } from '../clone/clone-file.ts';
import type { GitOutcome } from '../git/git.ts';
import type { Objects } from '../objects/objects.ts';
import { emptyTree, onCheckout, patternFile, readPatterns } from './on-checkout.ts';
import { replace } from '../clone/own-git.ts';
import { makePlain } from './plain.ts';
import { headOf, noteMove, readRef, writeRef } from '../clone/refs.ts';
import type { Repository } from '../clone/handle.ts';
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

/** The state of a checkout that was not updated, and the reason. */
export const left = (reason: string): CheckoutState => ({ state: 'left', reason });

/** What is asked of the epochs of a bus. */
export interface Epochs {
  /** Whether a commit is in a history of the bus that `tip` has left behind. */
  isLeftBehind: (commit: string, tip: string) => Promise<boolean>;
}

/**
 * Brings the checkout to `tip` so that people and agents can read files there, when it is on the
 * transport's branch and clean; otherwise leaves it exactly as it is (invariant 1). The checkout
 * shows only the paths of a transport, as plain files, and does not grow past a bound (trust.md
 * §1).
 *
 * When the history before `tip` was archived or rewritten, the checkout goes over to the history
 * that is on the bus now, unless it has commits that never were on the bus.
 *
 * @param folders those that are shown; undefined for all that may be shown
 * @param look what was seen in it a moment ago
 */
export async function fastForward(
  repository: Repository,
  objects: Objects,
  tip: string,
  epochs: Epochs,
  folders: readonly string[] | undefined,
  look?: Look,
): Promise<CheckoutState> {
  const { clone, branch } = repository;
  if (!(await isOnBranch(repository))) return left(`it is not on the branch ${branch}`);
  const showing = await showingOf(objects, tip, folders);
  const unfinished = await moveUnderWay(repository);
  let before = await readPatterns(repository);
  const isShown = before === showing.patterns && unfinished === undefined;
  const last = await loadCheckoutSize(repository);
  const now = await readRef(clone, 'HEAD');
  if (now === tip && isShown && last?.commit === now) return { state: 'current' };
  for (const name of UNDER_WAY) {
    if (await exists(join(clone.gitDir, name)))
      return left(`${name} says that something is under way in it`);
  }
  if (unfinished !== undefined) {
    const busy = await finishMove(repository, objects, unfinished);
    if (busy !== undefined) return left(busy);
    before = await readPatterns(repository);
  }
  const head = unfinished === undefined ? now : await readRef(clone, 'HEAD');
  if (head === undefined && (await exists(join(clone.gitDir, 'index'))))
    return left('its branch has no commit');
  const placed = await placeOf(repository, objects, head, tip, epochs);
  if (!placed.ok) return left(placed.reason);
  const isSeen = look?.head === head && unfinished === undefined;
  const status = isSeen && look ? look.status : await statusIn(repository, head);
  if (!status.ok) return left(status.reason);
  const own = await ownFiles(
    status.changed,
    before,
    async (path) =>
      shows(showing.patterns, path) && (await objects.read(`${tip}:${path}`)) !== undefined,
  );
  // The checkout was updated when its branch could not be: now the branch follows.
  if (!own.ok && !(await isIndexAt(repository, tip)))
    return head === tip && isShown ? { state: 'current' } : left(own.reason);
  const known = isShown && last?.commit === head ? last : undefined;
  const measured = await measure(repository, objects, head, tip, showing, known);
  if (!measured.ok) return left(measured.reason);
  const odd = notUtf8(measured.changes);
  if (odd !== undefined) return left(`a name on the bus is not UTF-8: ${escapeInvisible(odd)}`);
  const first = await inTheWay(clone.dir, measured.changes);
  if (first !== undefined) return left(inTheWayReason(first));
  const move = { from: head ?? '', to: tip, shown: before };
  await rememberMove(repository, move);
  await prepareClone(repository, showing, last === undefined);
  await replace(patternFile(repository), showing.patterns);
  const changing = { cone: showing.cone, changes: known === undefined };
  const git = (args: readonly string[], input?: string): Promise<GitOutcome> =>
    onCheckout(repository, args, changing, input);
  const start = head ?? (await emptyTree(repository));
  const without = own.ok ? await leaveOut(git, own.hidden, start) : start;
  const moved = await git(['read-tree', '-m', '-u', without, tip]);
  if (!moved.ok) {
    // The disk may be full, or the file system may not accept a name: left like this, the checkout
    // could never follow.
    await finishMove(repository, objects, move);
    return left(moved.failure.reason);
  }
  await makePlain(clone, measured.unusual);
  const written = await writeRef(clone, `refs/heads/${branch}`, tip, head ?? '');
  if (!written.ok && (await readRef(clone, 'HEAD')) !== tip) {
    if ((await git(['read-tree', '-m', '-u', tip, start])).ok) await forgetMove(repository);
    await makePlain(clone, measured.changes);
    return left(written.reason);
  }
  if (head !== undefined && placed.isElsewhere)
    await noteMove(clone, `refs/heads/${branch}`, head, tip, 'crosstalk: follow another history');
  await measured.keep();
  await forgetMove(repository);
  return { state: 'forwarded' };
}

/**
 * Takes an operator's own files out of the index, where the checkout does not show what the bus has
 * at their paths: git would not go on, or would put its own in their place.
 *
 * @param start the commit that the index is at
 * @returns what the index is at then
 */
async function leaveOut(
  git: (args: readonly string[], input?: string) => Promise<GitOutcome>,
  hidden: readonly string[],
  start: string,
): Promise<string> {
  if (hidden.length === 0) return start;
  const input = hidden.map((path) => `${path}\0`).join('');
  await git(['update-index', '--force-remove', '-z', '--stdin'], input);
  const tree = await git(['write-tree', '--missing-ok']);
  return tree.ok ? tree.stdout.toString('utf8').trim() : start;
}

/** What was changed in a checkout, as it was when its branch was at a commit. */
export interface Look {
  head: string | undefined;
  status: CheckoutStatus;
}

/**
 * Looks at the checkout before it is known where it is to go, for a {@link fastForward} that follows at once.
 * What is changed in between is not overwritten: git compares each file again before it writes it.
 */
export async function lookAhead(repository: Repository): Promise<Look | undefined> {
  if (repository.origin === undefined || !(await isOnBranch(repository))) return undefined;
  if ((await moveUnderWay(repository)) !== undefined) return undefined;
  const head = await readRef(repository.clone, 'HEAD');
  return { head, status: await statusIn(repository, head) };
}

async function statusIn(repository: Repository, head: string | undefined): Promise<CheckoutStatus> {
  return head === undefined ? { ok: true, changed: [] } : statusOf(repository, head);
}

/** Where a commit is in the history of the bus: on the way to its tip, or in one that was left. */
type Placed = { ok: true; isElsewhere: boolean } | { ok: false; reason: string };

async function placeOf(
  { git }: Repository,
  objects: Objects,
  head: string | undefined,
  tip: string,
  epochs: Epochs,
): Promise<Placed> {
  if (head === undefined || (await isJustBehind(objects, head, tip)))
    return { ok: true, isElsewhere: false };
  const ahead = await git.run(['merge-base', '--is-ancestor', head, tip]);
  if (ahead.ok) return { ok: true, isElsewhere: false };
  if (await epochs.isLeftBehind(head, tip)) return { ok: true, isElsewhere: true };
  const reason = ahead.stderr === '' ? 'it has commits that are not on the bus' : undefined;
  return { ok: false, reason: reason ?? ahead.failure.reason };
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

/** Whether HEAD of the clone names the branch. */
export async function isOnBranch({ clone, branch }: Repository): Promise<boolean> {
  return (await headOf(clone).catch(() => undefined)) === `refs/heads/${branch}`;
}
