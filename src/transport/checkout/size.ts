import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Objects } from '../objects/objects.ts';
import { prefetch } from '../clone/partial.ts';
import type { Repository } from '../clone/handle.ts';
import type { Showing } from './showing.ts';
import { changesCapped, readFolder } from '../objects/tree.ts';
import type { FileChange } from '../objects/walk.ts';

/**
 * What a checkout may hold; past this it stays where it is. A window (`crosstalk.window`) shows
 * less.
 */
const CHECKOUT_LIMITS = { files: 1_000_000, bytes: 256 * 1024 * 1024 };

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
  | { ok: false; reason: string };

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
  const added = await changesIn(repository, objects, from, to, showing);
  if (added === undefined) return tooMany();
  const size =
    known === undefined
      ? undefined
      : sum(known, added, await sizesOf(repository, objects, written(added)));
  const all =
    size === undefined || isOver(size) ? await whole(repository, objects, to, showing) : undefined;
  const exact = all?.counted ?? size;
  if (exact === undefined) return tooMany();
  if (isOver(exact)) {
    const mib = (bytes: number): string => `${String(Math.ceil(bytes / 1024 / 1024))} MiB`;
    return {
      ok: false,
      reason: `it would hold ${String(exact.files)} files of ${mib(exact.bytes)}, more than ${mib(CHECKOUT_LIMITS.bytes)}; show less with: crosstalk sync --window 7d`,
    };
  }
  return {
    ok: true,
    changes: added,
    unusual: [...(all?.files ?? []).filter(isUnusual), ...added.filter(isUnusual)],
    keep: () => saveCheckoutSize(repository, { ...exact, commit: to }),
  };
}

/** A file that may be executable or a link, or that has been there and may have been either. */
function isUnusual({ mode, status }: FileChange): boolean {
  return status !== 'D' && (mode !== '100644' || status !== 'A');
}

function tooMany(): Measured {
  return {
    ok: false,
    reason: `it would hold more than ${String(CHECKOUT_LIMITS.files)} files; show less with: crosstalk sync --window 7d`,
  };
}

function isOver({ files, bytes }: Counted): boolean {
  return files > CHECKOUT_LIMITS.files || bytes > CHECKOUT_LIMITS.bytes;
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
): Promise<{ counted: Counted; files: FileChange[] } | undefined> {
  const all = await changesIn(repository, objects, undefined, tip, showing);
  if (all === undefined) return undefined;
  const sizes = await sizesOf(repository, undefined, written(all));
  return { counted: sum({ files: 0, bytes: 0 }, all, sizes), files: all };
}

/** What differs in the paths shown; undefined when that is more than a checkout may hold. */
export async function changesIn(
  { git }: Repository,
  objects: Objects,
  from: string | undefined,
  to: string,
  { files, folders }: Showing,
): Promise<FileChange[] | undefined> {
  const limit = CHECKOUT_LIMITS.files;
  const [before, after, inside] = await Promise.all([
    from === undefined ? [] : readFolder(objects, from, ''),
    readFolder(objects, to, ''),
    changesCapped(git, objects, from, to, folders, limit),
  ]);
  if (inside === undefined) return undefined;
  // A folder or a submodule of that name was not shown: what arrives there is new.
  const blobs = (before ?? []).filter(({ type }) => type === 'blob');
  const known = new Map(blobs.map(({ path, oid, mode }) => [path, `${mode} ${oid}`]));
  const changed = (after ?? [])
    .filter(({ path }) => files.includes(path))
    .filter(({ path, oid, mode }) => known.get(path) !== `${mode} ${oid}`)
    .map(({ path, oid, mode }): FileChange => {
      return { path, oid, mode, status: known.has(path) ? 'M' : 'A' };
    });
  return [...changed, ...inside];
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
