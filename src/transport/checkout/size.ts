import { changesIn, MOST_FILES, tooMany, type NotHeld } from './changes.ts';
import { deepFolder, deepReason } from './deep.ts';
import type { Objects } from '../objects/objects.ts';
import { prefetch } from '../clone/partial.ts';
import type { Repository } from '../clone/handle.ts';
import type { Showing } from './showing.ts';
import type { FileChange } from '../objects/walk.ts';

/** Maximum bytes of a checkout; beyond them it is not moved. A window (`crosstalk.window`) shows less. */
const MOST_BYTES = 256 * 1024 * 1024;

/** Maximum number of sizes read through the open git process; more of them get a process of their own. */
const FEW = 20;

/** The size of a checkout. */
export interface Size {
  files: number;
  bytes: number;
}

export type Measured =
  | {
      ok: true;
      /** All changes in the shown part. */
      changes: FileChange[];
      /** All shown files, where they were examined. */
      files: FileChange[];
      size: Size;
    }
  | NotHeld;

/**
 * Decides whether the checkout may be brought from one commit to another: the size of what it would hold
 * is computed before a byte is written, because a small push can stand for any number of files.
 *
 * @param from undefined for a checkout that holds nothing yet
 * @param known the size at `from`; undefined when everything has to be measured, because the patterns
 *   change, or because somebody else has moved the checkout
 */
export async function measure(
  repository: Repository,
  objects: Objects,
  from: string | undefined,
  to: string,
  showing: Showing,
  known: Size | undefined,
): Promise<Measured> {
  const found = await changesIn(repository, objects, from, to, showing);
  if (!found.ok) return found;
  const { changes } = found;
  const deep = await deepFolder(repository.git, objects, from, to, showing.folders);
  if (deep !== undefined) return { ok: false, reason: deepReason(deep) };
  let size = known && (await sum(repository, objects, known, changes));
  let files: FileChange[] = [];
  if (size === undefined || isOver(size)) {
    // Removed files were not subtracted, so the exact size is computed.
    const all = await changesIn(repository, objects, undefined, to, showing);
    if (!all.ok) return all;
    files = all.changes;
    size = await sum(repository, objects, { files: 0, bytes: 0 }, files);
  }
  if (isOver(size)) return size.files > MOST_FILES ? tooMany() : tooLarge(size);
  return { ok: true, changes, files, size };
}

function tooLarge({ files, bytes }: Size): NotHeld {
  const mib = (count: number): string => `${String(Math.ceil(count / 1024 / 1024))} MiB`;
  return {
    ok: false,
    reason: `it would hold ${String(files)} files of ${mib(bytes)}, more than ${mib(MOST_BYTES)}; show less with: crosstalk sync --window 7d`,
  };
}

function isOver({ files, bytes }: Size): boolean {
  return files > MOST_FILES || bytes > MOST_BYTES;
}

/** Returns the maximum size of the checkout after some changes: removed files are not subtracted. */
async function sum(
  repository: Repository,
  objects: Objects,
  size: Size,
  changes: readonly FileChange[],
): Promise<Size> {
  const written = changes.filter(({ status, mode }) => status !== 'D' && mode.startsWith('100'));
  const oids = written.map(({ oid }) => oid);
  const sizes = await sizesOf(repository, objects, oids);
  return {
    files: size.files + changes.length,
    bytes: size.bytes + sizes.reduce((total, one) => total + one, 0),
  };
}

async function sizesOf(
  repository: Repository,
  objects: Objects,
  oids: readonly string[],
): Promise<number[]> {
  await prefetch(repository, oids);
  if (oids.length <= FEW)
    return Promise.all(oids.map(async (oid) => (await objects.read(oid))?.size ?? 0));
  const input = oids.map((oid) => `${oid}\n`).join('');
  const out = await repository.git.must(['cat-file', '--batch-check=%(objectsize)'], { input });
  const lines = out.toString('latin1').split('\n').slice(0, -1);
  return lines.map((line) => Number(line) || 0);
}
