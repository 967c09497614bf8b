import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { changesIn, MOST_FILES, tooMany, type NotHeld } from './changes.ts';
import { deepFolder, deepReason } from './deep.ts';
import type { Objects } from '../objects/objects.ts';
import { prefetch } from '../clone/partial.ts';
import type { Repository } from '../clone/handle.ts';
import type { Showing } from './showing.ts';
import type { FileChange } from '../objects/walk.ts';

/**
 * What a checkout may hold; past this it stays where it is. A window (`crosstalk.window`) shows
 * less.
 */
const CHECKOUT_LIMITS = { files: MOST_FILES, bytes: 256 * 1024 * 1024 };

/**
 * How many sizes are asked for through the open process; more of them get a process of their own.
 */
const FEW = 20;
export type Measured =
  | {
      ok: true;
      /** All that changes in what is shown. */
      changes: FileChange[];
      /** What has to be made plain, because another git than ours may have written it. */
      unusual: FileChange[];
      /** Remembers the size of the checkout, once it has it. */
      keep: () => Promise<void>;
    }
  | NotHeld;

/** What the checkout holds, as it was last brought along here. */
export interface CheckoutSize {
  files: number;
  bytes: number;
  /** The commit it was brought to; 6.0.0 did not say. */
  commit: string;
}

type Counted = Pick<CheckoutSize, 'files' | 'bytes'>;

/**
 * Whether the checkout may be brought from one commit to another: the size of what it would hold is
 * computed before a byte is written, because a small push can stand for any number of files.
 *
 * @param from undefined for a checkout that holds nothing yet
 * @param known what it holds at `from`; undefined when all of it has to be looked at, because it
 *   shows something else from now on, or because somebody else has brought it there
 */
export async function measure(
  repository: Repository,
  objects: Objects,
  from: string | undefined,
  to: string,
  showing: Showing,
  known: CheckoutSize | undefined,
): Promise<Measured> {
  const found = await changesIn(repository, objects, from, to, showing);
  if (!found.ok) return found;
  const added = found.changes;
  const deep = await deepFolder(repository.git, objects, from, to, showing.folders);
  if (deep !== undefined) return { ok: false, reason: deepReason(deep) };
  let exact = known && sum(known, added, await sizesOf(repository, objects, written(added)));
  let files: FileChange[] = [];
  if (exact === undefined || isOver(exact)) {
    const all = await whole(repository, objects, to, showing);
    if (!all.ok) return all;
    [exact, files] = [all.counted, all.files];
  }
  if (isOver(exact)) return exact.files > MOST_FILES ? tooMany() : tooLarge(exact);
  return {
    ok: true,
    changes: added,
    unusual: [...files.filter(isUnusual), ...added.filter(isUnusual)],
    keep: () => saveCheckoutSize(repository, { ...exact, commit: to }),
  };
}

/** A file that may be executable or a link, or that has been there and may have been either. */
function isUnusual({ mode, status }: FileChange): boolean {
  return status !== 'D' && (mode !== '100644' || status !== 'A');
}

function tooLarge({ files, bytes }: Counted): NotHeld {
  const mib = (count: number): string => `${String(Math.ceil(count / 1024 / 1024))} MiB`;
  return {
    ok: false,
    reason: `it would hold ${String(files)} files of ${mib(bytes)}, more than ${mib(CHECKOUT_LIMITS.bytes)}; show less with: crosstalk sync --window 7d`,
  };
}

function isOver({ files, bytes }: Counted): boolean {
  return files > MOST_FILES || bytes > CHECKOUT_LIMITS.bytes;
}

function written(changes: readonly FileChange[]): FileChange[] {
  return changes.filter(({ status, mode }) => status !== 'D' && mode.startsWith('100'));
}

/** The most that the checkout may hold then: what is removed is not counted. */
function sum(size: Counted, added: readonly FileChange[], sizes: readonly number[]): Counted {
  return {
    files: size.files + added.length,
    bytes: size.bytes + sizes.reduce((total, one) => total + one, 0),
  };
}

/** The size of all that the checkout would hold at a commit. */
async function whole(
  repository: Repository,
  objects: Objects,
  tip: string,
  showing: Showing,
): Promise<{ ok: true; counted: Counted; files: FileChange[] } | NotHeld> {
  const all = await changesIn(repository, objects, undefined, tip, showing);
  if (!all.ok) return all;
  const sizes = await sizesOf(repository, undefined, written(all.changes));
  const counted = sum({ files: 0, bytes: 0 }, all.changes, sizes);
  return { ok: true, counted, files: all.changes };
}

async function sizesOf(
  repository: Repository,
  objects: Objects | undefined,
  files: readonly FileChange[],
): Promise<number[]> {
  await prefetch(
    repository,
    files.map(({ oid }) => oid),
  );
  if (objects !== undefined && files.length <= FEW)
    return Promise.all(files.map(async ({ oid }) => (await objects.read(oid))?.size ?? 0));
  const input = files.map(({ oid }) => `${oid}\n`).join('');
  const format = '--batch-check=%(objectsize)';
  const out = await repository.git.must(['cat-file', format], { input });
  return out
    .toString('latin1')
    .split('\n')
    .slice(0, -1)
    .map((line) => Number(line) || 0);
}

function checkoutSizeFile({ gitDir }: Repository): string {
  return join(gitDir, 'checkout.json');
}

/** The size of the checkout when it was last brought along; undefined when that is not known. */
export async function loadCheckoutSize(repository: Repository): Promise<CheckoutSize | undefined> {
  try {
    const size = JSON.parse(await readFile(checkoutSizeFile(repository), 'utf8')) as CheckoutSize;
    const isKnown = Number.isFinite(size.files) && Number.isFinite(size.bytes);
    return isKnown && typeof size.commit === 'string' ? size : undefined;
  } catch {
    return undefined;
  }
}

async function saveCheckoutSize(repository: Repository, size: CheckoutSize): Promise<void> {
  await writeFile(checkoutSizeFile(repository), `${JSON.stringify(size)}\n`, { mode: 0o600 });
}

/** Makes the next move look at all of the checkout. */
export function forgetCheckoutSize(repository: Repository): Promise<void> {
  return rm(checkoutSizeFile(repository), { force: true });
}
