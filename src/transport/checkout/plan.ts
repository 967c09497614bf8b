import { join } from 'node:path';
import { atPath } from '../../at-path.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { exists } from '../clone/clone-file.ts';
import type { Repository } from '../clone/handle.ts';
import { headOf, readRef } from '../clone/refs.ts';
import { isAncestor, notNear } from '../objects/lineage.ts';
import type { Objects } from '../objects/objects.ts';
import { readPatterns, inTheWayReason, shownBy, statusOf, type Changed } from './on-checkout.ts';
import { isRefused } from './refused.ts';
import { showingOf, type Showing } from './showing.ts';
import { measure, type Measured } from './size.ts';
import { holds } from './staging.ts';
import { readFile } from 'node:fs/promises';
import { replace } from '../clone/own-git.ts';

/** The state of the checkout after an update; `left` gives the reason why it was not touched. */
export type CheckoutState = { state: 'current' | 'forwarded' } | { state: 'left'; reason: string };

/** Returns the state of a checkout that was not updated, with the reason. */
export const left = (reason: string): CheckoutState => ({ state: 'left', reason });

/** The epochs of a bus, as far as a checkout needs them. */
export interface Epochs {
  /** Whether a commit is in a history of the bus that `tip` has left behind. */
  isLeftBehind: (commit: string, tip: string) => Promise<boolean>;
}

/** A planned move of the checkout to a commit, of which nothing has been carried out yet. */
export interface Plan {
  tip: string;
  /** The commit that its branch names; undefined for a branch without one. */
  head: string | undefined;
  /** The commit of its index: another one when a process was killed before it wrote the index. */
  start: string | undefined;
  folders: readonly string[] | undefined;
  showing: Showing;
  /** Undefined when the checkout was never updated here. */
  record: CheckoutRecord | undefined;
  /** The patterns of what the checkout shows now. */
  before: string;
  /** Whether it is as recorded; otherwise somebody else has moved it, or its patterns change. */
  isKnown: boolean;
  /** Files that git finds changed, and that do not prevent the move. */
  changed: readonly Changed[];
  measured: Extract<Measured, { ok: true }>;
  /** Whether it switches to another history. */
  isElsewhere: boolean;
}

const UNDER_WAY = [
  'MERGE_HEAD',
  'CHERRY_PICK_HEAD',
  'REVERT_HEAD',
  'rebase-merge',
  'rebase-apply',
  'BISECT_LOG',
  'sequencer',
];

/**
 * Plans how to bring the checkout to `tip`, without changing anything.
 *
 * @param folders the folders shown; undefined for all that may be shown
 * @returns the plan, or the state of a checkout that must not be moved
 */
export async function planMove(
  repository: Repository,
  objects: Objects,
  tip: string,
  epochs: Epochs,
  folders: readonly string[] | undefined,
): Promise<Plan | CheckoutState> {
  const { clone, branch, git } = repository;
  if (!(await isOnBranch(repository))) return left(`it is not on the branch ${branch}`);
  const showing = await showingOf(objects, tip, folders);
  const record = await loadRecord(repository);
  const head = await readRef(clone, 'HEAD');
  const isKnown = record?.patterns === showing.patterns && record.commit === head;
  if (head === tip && isKnown && record.to === undefined) return { state: 'current' };
  const name = await underWay(repository);
  if (name !== undefined) return left(`${name} says that something is under way in it`);
  if (head === undefined && (await exists(join(clone.gitDir, 'index'))))
    return left('its branch has no commit');
  const isFar = head !== undefined && (await notNear(objects, [head], tip)).length > 0;
  const isElsewhere = isFar && !(await isAncestor(git, head, tip));
  if (isElsewhere && !(await epochs.isLeftBehind(head, tip)))
    return left('it has commits that are not on the bus');
  const before = record?.patterns ?? (await readPatterns(repository));
  let start = head;
  const mine = (changed: readonly Changed[]): Promise<string | undefined> =>
    operators(repository, objects, { start, tip, before, after: showing.patterns }, changed);
  let status = await statusOf(repository, start);
  let own = status.ok ? await mine(status.changed) : status.reason;
  if (own !== undefined && record?.to !== undefined && record.to.commit === head) {
    start = record.to.from;
    status = await statusOf(repository, start);
    own = status.ok ? await mine(status.changed) : status.reason;
  }
  if (own !== undefined || !status.ok) return left(own ?? '');
  const known = isKnown ? record : undefined;
  const measured = await measure(repository, objects, start, tip, showing, known);
  if (!measured.ok) return left(measured.reason);
  const { changes, files } = measured;
  // A path that has lost some of its bytes can neither be compared nor be made a plain file.
  const odd = [...changes, ...files].find(
    ({ path, status }) => status !== 'D' && path.includes('\ufffd'),
  );
  if (odd !== undefined)
    return left(`a name on the bus is not UTF-8: ${escapeInvisible(odd.path)}`);
  const there = changes.filter(
    ({ path, status }) =>
      status === 'A' && atPath(join(clone.dir, path), { follow: false })?.isDirectory() === false,
  );
  const inTheWay = await mine(there.map(({ path }) => ({ staged: '?', unstaged: '?', path })));
  if (inTheWay !== undefined) return left(inTheWay);
  const { changed } = status;
  return {
    ...{ tip, head, start, folders, showing, record, before, isKnown, changed, measured },
    isElsewhere,
  };
}

/** Whether no operation has started in the clone since a plan was made, and its branch is unchanged. */
export async function stillHolds(repository: Repository, { head }: Plan): Promise<boolean> {
  if (!(await isOnBranch(repository)) || (await underWay(repository)) !== undefined) return false;
  return (await readRef(repository.clone, 'HEAD')) === head;
}

/** Returns the file that shows an unfinished operation of the operator in the clone; undefined without one. */
async function underWay({ clone }: Repository): Promise<string | undefined> {
  const found = await Promise.all(UNDER_WAY.map((name) => exists(join(clone.gitDir, name))));
  return UNDER_WAY.find((_, at) => found[at]);
}

/**
 * Returns the reason why files of the checkout prevent the move; undefined without one. A file does not
 * prevent it when it has the content that arrives there, as a killed process leaves it, or the content that
 * the bus had there, with the line ends of the operator's git, nor when it is an operator's own file at a
 * path that the checkout does not show. Git reports such a file as a change as soon as a file of that path
 * is pushed.
 *
 * @param move the commits, and the patterns of what it shows
 * @param changed files that git finds changed, or does not know
 */
async function operators(
  { clone }: Repository,
  objects: Objects,
  {
    start,
    tip,
    ...patterns
  }: { start?: string | undefined; tip: string; before: string; after: string },
  changed: readonly Changed[],
): Promise<string | undefined> {
  const [wasShown, isShown] = [shownBy(patterns.before), shownBy(patterns.after)];
  for (const { staged, unstaged, path } of changed) {
    // The index lacks what git refuses.
    if (staged === 'D' && isRefused(path)) continue;
    const isModified = start !== undefined && staged === ' ' && unstaged === 'M';
    const was = isModified ? await objects.read(`${start}:${path}`) : undefined;
    if (was?.type === 'blob' && holds(join(clone.dir, path), was)) continue;
    const object = isShown(path) ? await objects.read(`${tip}:${path}`) : undefined;
    const isUnstaged = staged === ' ' || staged === '?';
    const isArrived =
      object?.type === 'blob' ? holds(join(clone.dir, path), object) : unstaged === 'D';
    if (isUnstaged && isArrived) continue;
    if (!isUnstaged || (staged === ' ' && wasShown(path)))
      return `it has uncommitted changes: ${escapeInvisible(path)}`;
    if (object !== undefined) return inTheWayReason(path);
  }
  return undefined;
}

/** Whether HEAD of the clone names the branch. */
export async function isOnBranch({ clone, branch }: Repository): Promise<boolean> {
  return (await headOf(clone).catch(() => undefined)) === `refs/heads/${branch}`;
}

/** The state in which the checkout was left here, from which the next update starts. */
interface CheckoutRecord {
  /** Number of files in it. Both numbers are upper limits. */
  files: number;
  bytes: number;
  /** The commit of its last update; empty when its size is not known. */
  commit: string;
  /** The patterns of what it shows. */
  patterns: string;
  /** Whether its index lacks paths of the commit, which git refuses (see `withoutRefused`). */
  lacks?: true;
  /**
   * A move that was started. Files of the checkout, its branch and its index may have made it already; it
   * is repeated until it is complete.
   */
  to?: { from?: string | undefined; commit: string; folders?: readonly string[] | undefined };
}

function recordFile({ gitDir }: Repository): string {
  return join(gitDir, 'checkout.json');
}

/** Reads the record of the checkout; undefined without one that can be read. */
export async function loadRecord(repository: Repository): Promise<CheckoutRecord | undefined> {
  try {
    const text = await readFile(recordFile(repository), 'utf8');
    const record = JSON.parse(text) as CheckoutRecord;
    return typeof record.patterns === 'string' ? record : undefined;
  } catch {
    return undefined;
  }
}

export function saveRecord(repository: Repository, record: CheckoutRecord): Promise<void> {
  return replace(recordFile(repository), `${JSON.stringify(record)}\n`);
}
