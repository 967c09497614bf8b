import { isDeepStrictEqual } from 'node:util';
import { join } from 'node:path';
import { CrosstalkError } from '../../errors.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { fileStamp } from '../clone/clone.ts';
import type { Repository } from '../clone/handle.ts';
import { replace } from '../clone/own-git.ts';
import { noteMove, readRef, writeRef } from '../clone/refs.ts';
import type { Objects } from '../objects/objects.ts';
import {
  emptyTree,
  onCheckout,
  patternFile,
  readPatterns,
  removeOwnLock,
  whileLocked,
  inTheWayReason,
  shownBy,
  statusOf,
} from './on-checkout.ts';
import {
  left,
  planMove,
  stillHolds,
  type CheckoutState,
  type Epochs,
  type Plan,
  loadRecord,
  saveRecord,
} from './plan.ts';
import { saysRefused, withoutRefused } from './refused.ts';
import { catchUp } from './solo-checkout.ts';
import { prepareClone } from './showing.ts';
import {
  arrivals,
  clearStaging,
  holds,
  makePlain,
  moveIn,
  stage,
  stampOf,
  stampsOf,
  type Old,
  type Staging,
} from './staging.ts';

/** Maximum number of plans, when the operator's git keeps changing the clone in between. */
const MOST_TRIES = 3;

/**
 * Brings the checkout to a commit of the bus so that people and agents can read files there, when it is
 * on the transport's branch and clean; otherwise leaves it exactly as it is (invariant 1). It shows only
 * the paths of a transport, as plain files, and does not grow past a bound (trust.md §1). Anything odd in
 * the place of one of git's files in the clone stops the checkout, but not the mail.
 *
 * When the history before `tip` was archived or rewritten, the checkout switches to the history that is
 * on the bus now, unless it has commits that never were on the bus.
 *
 * @param folders the folders shown; undefined for all that may be shown
 */
export async function follow(
  repository: Repository,
  { objects, epochs }: { objects: Objects; epochs: Epochs },
  tip: string,
  folders: readonly string[] | undefined,
): Promise<CheckoutState> {
  const moveTo = async (
    commit: string,
    shown: readonly string[] | undefined,
  ): Promise<CheckoutState> => {
    for (let tries = 1; tries <= MOST_TRIES; tries++) {
      const planned = await planMove(repository, objects, commit, epochs, shown);
      const state = 'state' in planned ? planned : await carryOut(repository, objects, planned);
      if (state !== undefined) return state;
    }
    return left('it was changed while it was brought along');
  };
  try {
    if (repository.origin === undefined) return await catchUp(repository, objects, tip, folders);
    await removeOwnLock(repository);
    const begun = (await loadRecord(repository))?.to;
    const first = begun && (await moveTo(begun.commit, begun.folders));
    const last = await moveTo(tip, folders);
    const isFirst = last.state === 'current' || (last.state === 'left' && first?.state === 'left');
    return isFirst ? (first ?? last) : last;
  } catch (error) {
    if (error instanceof CrosstalkError && error.code === 'git_failed') return left(error.message);
    throw error;
  }
}

/**
 * Carries out a planned move of the checkout, in this order: git stages a new index and the files that
 * arrive; where nothing of the operator's is in the way, the move is recorded, obsolete files are
 * removed, and the new files are renamed into the checkout; the branch follows, and the index last. A
 * process that is killed in between leaves files, a branch and an index that are each in their old or in
 * their new state, and so does a full disk: the same move, repeated, recognises both states.
 */
async function carryOut(
  repository: Repository,
  objects: Objects,
  plan: Plan,
): Promise<CheckoutState | undefined> {
  const { tip, showing, isKnown, measured } = plan;
  const held = await whileLocked(repository, () => Promise.resolve(undefined));
  if (held !== undefined) return left(held);
  if (showing.patterns !== (await readPatterns(repository)))
    await replace(patternFile(repository), showing.patterns);
  const changing = { cone: showing.cone, changes: !isKnown };
  const { staging, lacks, ...staged } = await stageMove(repository, objects, plan, changing);
  let kept: true | CheckoutState | undefined;
  try {
    if (!staged.ok) return left(staged.failure.reason);
    const busy = await whileLocked(repository, async () => {
      kept = await moveFiles(repository, plan, staging);
      return kept === true ? staging.index : undefined;
    });
    if (busy !== undefined) return left(busy);
  } finally {
    clearStaging(staging);
  }
  if (kept !== true) return kept;
  const { patterns } = showing;
  const record = { ...measured.size, commit: tip, patterns };
  await saveRecord(repository, { ...record, ...(lacks && { lacks }) });
  return { state: 'forwarded' };
}

/**
 * Stages a move, without the paths that git refuses where there are some.
 *
 * @returns also whether the new index lacks such paths
 */
async function stageMove(
  repository: Repository,
  objects: Objects,
  { tip, start, record }: Plan,
  changing: { cone: boolean; changes: boolean },
): Promise<Awaited<ReturnType<typeof stage>> & { lacks: boolean }> {
  const commits = [start ?? (await emptyTree(repository)), tip] as const;
  if (record?.lacks !== true) {
    const staged = await stage(repository, ...commits, changing);
    if (staged.ok || !saysRefused(staged.failure.reason)) return { ...staged, lacks: false };
  }
  const [from = '', to = ''] = await withoutRefused(repository, objects, commits);
  const lacks = to !== (await objects.read(`${tip}^{tree}`))?.oid;
  return { ...(await stage(repository, from, to, changing)), lacks };
}

/**
 * Moves the files and the branch.
 *
 * @returns true; or the reason why nothing was moved; undefined when the plan no longer holds
 */
async function moveFiles(
  repository: Repository,
  plan: Plan,
  staging: Staging,
): Promise<true | CheckoutState | undefined> {
  const { clone, branch } = repository;
  const { tip, head, start, showing, record, folders, measured } = plan;
  if (staging.stamp !== (await fileStamp(join(clone.gitDir, 'index')))) return undefined;
  if (!(await stillHolds(repository, plan))) return undefined;
  // Files that may be executable or links, or whose old versions may have been either.
  const unusual = [...measured.files, ...measured.changes].filter(
    ({ mode, status }) => status !== 'D' && (mode !== '100644' || status !== 'A'),
  );
  makePlain(staging, staging.tree, unusual);
  const old = await oldFiles(repository, plan);
  if (typeof old === 'string') return left(old);
  const seen = stampsOf(clone.dir, old);
  if (old.gone.size + old.replaced.size > 0) {
    // Since the plan was made, the operator may have changed one of them.
    const again = await statusOf(repository, start);
    if (!again.ok || !isDeepStrictEqual(again.changed, plan.changed)) return undefined;
  }
  const found = arrivals(staging, clone.dir, old);
  if (!found.ok) return left(inTheWayReason(found.inTheWay));
  await prepareClone(repository, showing, record === undefined);
  await saveRecord(repository, {
    ...(record !== undefined && plan.isKnown ? record : { files: 0, bytes: 0, commit: '' }),
    patterns: plan.before,
    to: { from: start, commit: tip, folders },
  });
  if (!(await moveIn(staging, clone.dir, { gone: old.gone, seen, paths: found.paths })))
    return undefined;
  makePlain(staging, clone.dir, unusual);
  if (head === tip) return true;
  const ref = `refs/heads/${branch}`;
  const written = await writeRef(clone, ref, tip, head ?? '');
  if (!written.ok && (await readRef(clone, 'HEAD')) !== tip) return left(written.reason);
  if (head !== undefined && plan.isElsewhere)
    await noteMove(clone, ref, head, tip, 'crosstalk: follow another history');
  return true;
}

const SUBMODULE = '160000';
/** An entry of the index as git lists it; a lower-case tag marks a file assumed unchanged. */
const LISTED = /^(\S) \d+ ([0-9a-f]+) \d\t(.+)$/s;

/**
 * Returns the files of the bus in the checkout that are to be replaced or removed. Where somebody else
 * may have moved the checkout, the index tells which of its files are not to be shown. It also tells
 * which files the operator has told git to assume unchanged: `git status` does not list those.
 *
 * @returns a string with the reason when the checkout must be left as it is
 */
async function oldFiles(
  repository: Repository,
  { start, before, showing, isKnown, changed, measured }: Plan,
): Promise<Old | string> {
  const [wasShown, isShown] = [shownBy(before), shownBy(showing.patterns)];
  const [replaced, gone] = [new Set<string>(), new Set<string>()];
  for (const { path, status, mode } of measured.changes)
    if (status !== 'A' && wasShown(path))
      (status === 'D' || mode === SUBMODULE ? gone : replaced).add(path);
  const isMoved = !isKnown && start !== undefined;
  if (!isMoved && replaced.size + gone.size === 0) return { replaced, gone };
  const listed = await onCheckout(repository, ['ls-files', '-v', '-s', '-z'], { cone: false });
  if (!listed.ok) return listed.failure.reason;
  const own = new Set(changed.map(({ path }) => path));
  for (const line of listed.stdout.toString('utf8').split('\0')) {
    const [, tag = '', oid = '', path = ''] = LISTED.exec(line) ?? [];
    const isPresent = tag === 'H' || tag === 'h';
    if (isMoved && isPresent && !isShown(path) && !own.has(path)) gone.add(path);
    const file = join(repository.clone.dir, path);
    if (tag !== 'h' || !(gone.has(path) || replaced.has(path)) || holds(file, { oid })) continue;
    if (stampOf(file) !== undefined) return `it has uncommitted changes: ${escapeInvisible(path)}`;
  }
  return { replaced, gone };
}
