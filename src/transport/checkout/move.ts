import {
  lstat,
  readFile,
  realpath,
  rm,
  chmod,
  readlink,
  rename,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createHash } from 'node:crypto';
import { changesIn } from './changes.ts';
import { forgetCheckoutSize } from './size.ts';
import { shows, statusOf } from './status.ts';
import type { Objects } from '../objects/objects.ts';
import { emptyTree, onCheckout, patternFile, readPatterns, whileLocked } from './on-checkout.ts';
import { replace } from '../clone/own-git.ts';
import { readRef, writeRef } from '../clone/refs.ts';
import type { Repository } from '../clone/handle.ts';
import { showingOf } from './showing.ts';
import type { FileChange } from '../objects/walk.ts';
import type { Clone } from '../clone/clone.ts';

/**
 * A checkout is moved in this order: the move is remembered here, git writes the files, then the
 * index, the branch follows, and the move is forgotten. A process that is killed in between leaves
 * a checkout whose index is at one commit and whose branch is at another, or whose index is at one
 * commit and whose files are partly at another. To git these are changes that an operator has made,
 * and the checkout would never be moved again. {@link finishMove} knows better.
 */
export interface CheckoutMove {
  /** The commit that the branch was at; empty for a branch without a commit. */
  from: string;
  to: string;
  /** The patterns of what it showed before. */
  shown: string;
}

function moveFile({ gitDir }: Repository): string {
  return join(gitDir, 'checkout-to');
}

/** The move that was begun and not forgotten; most of the time there is none. */
export async function moveUnderWay(repository: Repository): Promise<CheckoutMove | undefined> {
  try {
    const move = JSON.parse(await readFile(moveFile(repository), 'utf8')) as Partial<CheckoutMove>;
    const { from, to, shown } = move;
    if (/^([0-9a-f]{40,64})?$/.test(from ?? '-') && /^[0-9a-f]{40,64}$/.test(to ?? '-'))
      if (typeof shown === 'string') return move as CheckoutMove;
  } catch {
    // There is none.
  }
  return undefined;
}

/** Records a move of the checkout before it begins, so that it can be completed after a crash. */
export function rememberMove(repository: Repository, move: CheckoutMove): Promise<void> {
  return replace(moveFile(repository), `${JSON.stringify(move)}\n`);
}

/** Removes the record of a move that is complete. */
export function forgetMove(repository: Repository): Promise<void> {
  return rm(moveFile(repository), { force: true });
}

/**
 * Brings a move to its end that failed, or that a process was killed in: the branch follows an index
 * that has arrived, and files that were written before an index that has not are taken back. What is
 * an operator's own stays as it is. Nothing happens while a git is at work on the index: it may be
 * the one of another process of ours.
 *
 * @returns why it could not be done, if so
 */
export async function finishMove(
  repository: Repository,
  objects: Objects,
  move: CheckoutMove,
): Promise<string | undefined> {
  const { clone, branch } = repository;
  const isThere = async (): Promise<boolean> =>
    ((await readRef(clone, 'HEAD')) ?? '') === move.from;
  const start = move.from === '' ? await emptyTree(repository) : move.from;
  if (await isThere()) await putBack(repository, objects, start, move.to);
  let failed: string | undefined;
  const busy = await whileLocked(repository, async () => {
    if (!(await isThere())) return;
    const [arrived, begun] = [await staged(repository, move.to), await staged(repository, start)];
    if (isSame(arrived)) await writeRef(clone, `refs/heads/${branch}`, move.to, move.from);
    if (!isSame(begun)) {
      const unread = [begun, arrived].find((compared) => !compared.ok);
      if (unread?.ok === false) failed = `git cannot compare its index: ${unread.reason}`;
      return;
    }
    // The index is where it was. Nothing of the move is in it, even if git cannot read its target.
    failed = await takeBackParts(repository, objects, move);
    if (failed === undefined) await replace(patternFile(repository), move.shown);
  });
  // A move that is not finished is not forgotten: it can be finished once there is room again.
  const reason = busy ?? failed;
  if (reason !== undefined) return reason;
  await forgetCheckoutSize(repository);
  await forgetMove(repository);
  return undefined;
}

/**
 * Puts the entries of an operator's own files back into the index, which were left out for a move
 * (see `leaveOut`): it holds all of a commit but for files that are not to be shown.
 */
async function putBack(
  repository: Repository,
  objects: Objects,
  start: string,
  to: string,
): Promise<void> {
  const compared = await staged(repository, start);
  const missing = compared.ok ? compared.changes : [];
  if (missing.length === 0 || missing.some(({ status }) => status !== 'D')) return;
  if (await isIndexAt(repository, to)) return;
  const patterns = await readPatterns(repository);
  for (const { path } of missing)
    if (shows(patterns, path) && (await objects.read(`${to}:${path}`)) !== undefined) return;
  await onCheckout(repository, ['read-tree', '-m', start], { cone: false });
}

/** Whether the index holds exactly what a commit does. */
export async function isIndexAt(repository: Repository, commit: string): Promise<boolean> {
  return isSame(await staged(repository, commit));
}

/** The paths in which the index differs from a commit; or why git cannot tell. */
type Staged =
  { ok: true; changes: { status: string; path: string }[] } | { ok: false; reason: string };

function isSame(staged: Staged): boolean {
  return staged.ok && staged.changes.length === 0;
}

async function staged(repository: Repository, commit: string): Promise<Staged> {
  const args = ['diff-index', '--cached', '--name-status', '--no-renames', '-z', commit, '--'];
  const said = await onCheckout(repository, args, { cone: false });
  if (!said.ok) return { ok: false, reason: said.failure.reason };
  const fields = said.stdout.toString('utf8').split('\0');
  const changes = Array.from({ length: Math.floor(fields.length / 2) }, (_, at) => ({
    status: fields[2 * at] ?? '',
    path: fields[2 * at + 1] ?? '',
  }));
  return { ok: true, changes };
}

/**
 * Takes back files that a move has written without its index. Such a file holds what was to arrive,
 * or the beginning of it; git removes a file before it writes it anew.
 *
 * @returns why it could not be done, if so
 */
async function takeBackParts(
  repository: Repository,
  objects: Objects,
  { from, to, shown }: CheckoutMove,
): Promise<string | undefined> {
  const { clone } = repository;
  const patterns = await readPatterns(repository);
  const before = from === '' ? undefined : from;
  const showing = await showingOf(objects, to);
  const found = await changesIn(repository, objects, before, to, showing);
  // Nothing can have been written of what git never could be asked for.
  if (!found.ok) return undefined;
  const { changes } = found;
  for (const change of changes.filter(({ status }) => status === 'A'))
    if ((await partOf(repository, change.path, change.oid)) === 'part')
      await rm(join(clone.dir, change.path));
  if (before === undefined) return undefined;
  const status = await statusOf(repository, before);
  if (!status.ok) return status.reason;
  const expected = new Map(changes.map((change) => [change.path, change]));
  const back: FileChange[] = [];
  for (const { staged, path } of status.changed) {
    const [was, is] = [shows(shown, path), shows(patterns, path)];
    if (staged !== ' ' || !(was || is)) continue;
    const change = expected.get(path);
    const arriving = change?.status === 'D' ? undefined : change?.oid;
    const oid = arriving ?? (await objects.read(`${to}:${path}`))?.oid;
    const found = await partOf(repository, path, oid);
    if (found === 'part' || (found === 'none' && (change !== undefined || !is)))
      back.push({ path, oid: oid ?? '', mode: '100644', status: 'M' });
  }
  if (back.length === 0) return undefined;
  const input = back.map(({ path }) => `${path}\0`).join('');
  const args = ['checkout-index', '--force', '--quiet', '-z', '--stdin'];
  const taken = await onCheckout(repository, args, { cone: false }, input);
  await makePlain(clone, back);
  return taken.ok ? undefined : taken.failure.reason;
}

/**
 * Whether a file holds a blob or the beginning of one, holds something else, or does not exist.
 * What is behind a symlink is something else: it was not written by a move.
 */
async function partOf(
  { git, clone }: Repository,
  path: string,
  oid: string | undefined,
): Promise<'part' | 'other' | 'none'> {
  const file = join(clone.dir, path);
  const found = await lstat(file).catch(() => undefined);
  if (found === undefined) return 'none';
  if (oid === undefined || !found.isFile()) return 'other';
  const folder = await realpath(dirname(file)).catch(() => undefined);
  if (folder !== join(await realpath(clone.dir), dirname(path))) return 'other';
  const content = await readFile(file);
  if (content.length === 0 || blobId(content, oid.length) === oid) return 'part';
  const blob = await git.run(['cat-file', 'blob', oid]);
  return blob.ok && blob.stdout.subarray(0, content.length).equals(content) ? 'part' : 'other';
}

let serial = 0;

/**
 * Makes plain files of what a checkout holds: no executable bit, and in the place of a symlink the
 * text of the link, as git writes it with core.symlinks=false (trust.md §1). 6.0.0 and a plain
 * `git clone` have written both.
 *
 * @param files what is on the bus at these paths; a link with another text is not what arrived
 */
export async function makePlain(clone: Clone, files: readonly FileChange[]): Promise<void> {
  for (const { path, oid } of files) {
    const file = join(clone.dir, path);
    const found = await lstat(file).catch(() => undefined);
    if (found?.isSymbolicLink() === true) await replaceLink(clone, file, oid);
    else if (found?.isFile() === true && (found.mode & 0o111) !== 0)
      await chmod(file, found.mode & 0o666);
  }
}

async function replaceLink(clone: Clone, file: string, oid: string): Promise<void> {
  const text = await readlink(file, { encoding: 'buffer' });
  if (blobId(text, oid.length) !== oid) return;
  // The file is replaced by a rename: a process that is killed in between must not leave a file
  // missing.
  const temporary = join(
    clone.gitDir,
    `crosstalk-plain.${String(process.pid)}.${String(serial++)}`,
  );
  try {
    await writeFile(temporary, text, { mode: 0o644 });
    await rename(temporary, file).catch(async () => {
      // The git directory may be on another disk.
      await rm(file);
      await writeFile(file, text, { mode: 0o644, flag: 'wx' });
    });
  } finally {
    await rm(temporary, { force: true });
  }
}

/** The id of a blob with some content, as long as the ids of the repository are. */
function blobId(content: Buffer, length: number): string {
  return createHash(length === 64 ? 'sha256' : 'sha1')
    .update(`blob ${String(content.length)}\0`)
    .update(content)
    .digest('hex');
}
