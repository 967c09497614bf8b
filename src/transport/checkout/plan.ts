import { join } from 'node:path';
import { readdir } from 'node:fs/promises';
import { setImmediate } from 'node:timers/promises';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { finishMove, isIndexAt, moveUnderWay, type CheckoutMove } from './move.ts';
import { loadCheckoutSize, measure, type Measured } from './size.ts';
import { inTheWayReason, ownFiles, shows, statusOf, type CheckoutStatus } from './status.ts';
import { exists } from '../clone/clone-file.ts';
import type { Objects } from '../objects/objects.ts';
import { readPatterns } from './on-checkout.ts';
import { headOf, readRef } from '../clone/refs.ts';
import type { Repository } from '../clone/handle.ts';
import { showingOf, type Showing } from './showing.ts';
import { atPath } from '../../at-path.ts';
import type { FileChange } from '../objects/walk.ts';

/** What became of the checkout; `left` says why it was not touched. */
export type CheckoutState = { state: 'current' | 'forwarded' } | { state: 'left'; reason: string };

/** The state of a checkout that was not updated, and the reason. */
export const left = (reason: string): CheckoutState => ({ state: 'left', reason });

/** What is asked of the epochs of a bus. */
export interface Epochs {
  /** Whether a commit is in a history of the bus that `tip` has left behind. */
  isLeftBehind: (commit: string, tip: string) => Promise<boolean>;
}

/** How a checkout is going to be brought to a commit. Nothing of it is done yet. */
export interface Plan {
  tip: string;
  /** The commit that its branch is at; undefined for a branch without one. */
  head: string | undefined;
  /** The patterns of what it shows now, and what it is to show. */
  before: string;
  showing: Showing;
  /** Whether it never was brought along here, and whether what it shows changes. */
  isFirst: boolean;
  isOther: boolean;
  /** The operator's own files that are at paths of the bus which are not shown. */
  hidden: readonly string[] | undefined;
  measured: Extract<Measured, { ok: true }>;
  /** Whether it goes over to another history. */
  isElsewhere: boolean;
}

const UNDER_WAY = [
  'MERGE_HEAD',
  'CHERRY_PICK_HEAD',
  'REVERT_HEAD',
  'rebase-merge',
  'rebase-apply',
  'BISECT_LOG',
];

/**
 * Finds out how the checkout can be brought to `tip`, without changing anything but what an
 * interrupted move has left.
 *
 * @param folders those that are shown; undefined for all that may be shown
 * @param unfinished a move that was begun and not completed
 * @returns the state of a checkout that is not to be moved
 */
export async function planMove(
  repository: Repository,
  objects: Objects,
  tip: string,
  epochs: Epochs,
  folders: readonly string[] | undefined,
  unfinished: CheckoutMove | undefined,
): Promise<Plan | CheckoutState> {
  const { clone, branch } = repository;
  if (!(await isOnBranch(repository))) return left(`it is not on the branch ${branch}`);
  const showing = await showingOf(objects, tip, folders);
  let before = await readPatterns(repository);
  const isShown = before === showing.patterns && unfinished === undefined;
  const last = await loadCheckoutSize(repository);
  const now = await readRef(clone, 'HEAD');
  if (now === tip && isShown && last?.commit === now) return { state: 'current' };
  const name = await underWay(repository);
  if (name !== undefined) return left(`${name} says that something is under way in it`);
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
  const status = await statusIn(repository, head);
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
  return {
    ...{ tip, head, before, showing, measured, isElsewhere: placed.isElsewhere },
    isFirst: last === undefined,
    isOther: known === undefined,
    hidden: own.ok ? own.hidden : undefined,
  };
}

/**
 * Plans a move to a commit that is not on the bus yet, while it is on its way there; undefined where
 * the checkout may have to be left, or an interrupted move comes first.
 */
export async function planAhead(
  repository: Repository,
  objects: Objects,
  tip: string,
  epochs: Epochs,
  folders: readonly string[] | undefined,
): Promise<Plan | undefined> {
  if (repository.origin === undefined || (await moveUnderWay(repository)) !== undefined)
    return undefined;
  const planned = await planMove(repository, objects, tip, epochs, folders, undefined);
  return 'state' in planned ? undefined : planned;
}

/**
 * Whether a plan made a moment ago can be carried out: the branch and what is shown are as they were,
 * nothing has begun in the clone, and nothing has come in the way. What was changed in the files in
 * between is not overwritten: git compares each file again before it writes it.
 */
export async function stillHolds(
  repository: Repository,
  plan: Plan,
  tip: string,
): Promise<boolean> {
  if (plan.tip !== tip) return false;
  const [isThere, unfinished, head, shown, begun, first] = await Promise.all([
    isOnBranch(repository),
    moveUnderWay(repository),
    readRef(repository.clone, 'HEAD'),
    readPatterns(repository),
    underWay(repository),
    inTheWay(repository.clone.dir, plan.measured.changes),
  ]);
  const isFree = [unfinished, begun, first].every((found) => found === undefined);
  return isThere && isFree && head === plan.head && shown === plan.before;
}

/** What says that something of the operator's is under way in the clone; undefined where nothing does. */
async function underWay({ clone }: Repository): Promise<string | undefined> {
  const found = await Promise.all(UNDER_WAY.map((name) => exists(join(clone.gitDir, name))));
  return UNDER_WAY.find((_, at) => found[at]);
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

/** Files looked for at once, before whatever else waits in this process. */
const AT_A_TIME = 200;

/**
 * The first file of the operator's that is where something is to be written: at the path itself, in
 * the place of a folder on the way to it, or in a folder that becomes a file. Git in a sparse
 * checkout says that it would not overwrite such a file, and overwrites it (seen with git 2.39);
 * the folder of a submodule that becomes a file it removes with all that is in it.
 *
 * @param dir the checkout, which holds what it should of what is on the bus
 * @param changes what is to be done to it
 */
async function inTheWay(dir: string, changes: readonly FileChange[]): Promise<string | undefined> {
  const gone = new Set(pathsOf(changes, 'D'));
  const look = new Look(dir, gone);
  const added = await firstOf(pathsOf(changes, 'A'), (path) => look.at(path));
  return added ?? firstOf(pathsOf(changes, 'T'), (path) => look.below(path));
}

/**
 * The first name that is to be written and is not UTF-8: by a path that has lost some of its bytes,
 * one can neither tell what is there nor make it plain. Some file systems take no such name.
 */
function notUtf8(changes: readonly FileChange[]): string | undefined {
  return changes.find(({ path, status }) => status !== 'D' && path.includes('\ufffd'))?.path;
}

/** The first that is found at any of some paths, of which a few are looked at together. */
async function firstOf(
  paths: readonly string[],
  look: (path: string) => Promise<string | undefined>,
): Promise<string | undefined> {
  for (let at = 0; at < paths.length; at += AT_A_TIME) {
    const some = paths.slice(at, at + AT_A_TIME);
    const found = (await Promise.all(some.map(look))).find((path) => path !== undefined);
    if (found !== undefined) return found;
    await setImmediate();
  }
  return undefined;
}

class Look {
  readonly #dir: string;
  readonly #gone: ReadonlySet<string>;
  readonly #folders = new Map<string, Promise<string | undefined>>();

  constructor(dir: string, gone: ReadonlySet<string>) {
    this.#dir = dir;
    this.#gone = gone;
  }

  async at(path: string): Promise<string | undefined> {
    const above = await this.#folder(parentOf(path));
    if (above !== undefined) return above;
    const kind = kindOf(join(this.#dir, path));
    if (kind === 'folder') return this.#inside(path);
    return kind === 'none' || this.#gone.has(path) ? undefined : path;
  }

  /** What is in a folder that is to be another kind of thing: only a submodule was one. */
  async below(path: string): Promise<string | undefined> {
    return kindOf(join(this.#dir, path)) === 'folder' ? this.#inside(path) : undefined;
  }

  /** What is on the way to a path and is not a folder, unless it is going to be removed. */
  #folder(path: string): Promise<string | undefined> {
    if (path === '') return Promise.resolve(undefined);
    const known = this.#folders.get(path);
    if (known !== undefined) return known;
    const found = (async () => {
      const above = await this.#folder(parentOf(path));
      if (above !== undefined) return above;
      const kind = kindOf(join(this.#dir, path));
      return kind === 'other' && !this.#gone.has(path) ? path : undefined;
    })();
    this.#folders.set(path, found);
    return found;
  }

  /** The first file below a folder that is not going to be removed. */
  async #inside(folder: string): Promise<string | undefined> {
    for (const entry of await readdir(join(this.#dir, folder), { withFileTypes: true })) {
      const path = `${folder}/${entry.name}`;
      const found = entry.isDirectory() ? await this.#inside(path) : path;
      if (found !== undefined && !this.#gone.has(found)) return found;
    }
    return undefined;
  }
}

function pathsOf(changes: readonly FileChange[], wanted: FileChange['status']): string[] {
  return changes.filter(({ status }) => status === wanted).map(({ path }) => path);
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')));
}

function kindOf(path: string): 'folder' | 'other' | 'none' {
  const found = atPath(path, { follow: false });
  if (found === undefined) return 'none';
  return found.isDirectory() ? 'folder' : 'other';
}
