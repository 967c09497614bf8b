import { isUtf8 } from 'node:buffer';
import {
  closeSync,
  constants,
  fstatSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  rmdirSync,
} from 'node:fs';
import { open, rm, type FileHandle } from 'node:fs/promises';
import { hasCode } from './errors.ts';

/** Result of reading a path where a text file is expected, which another program may have written. */
export type PlainFile =
  { kind: 'text'; text: string } | { kind: 'absent' } | { kind: 'odd'; why: string };

const WHY: Record<string, string> = {
  ELOOP: 'is a symlink',
  ENXIO: 'is no plain file',
  ENODEV: 'is no plain file',
};

interface Reading {
  /** Whether the file itself may be a symlink; symlinks among its parent folders are always followed. */
  follow?: boolean;
  /** Whether bytes that are not UTF-8 make the file `odd`; for content that is passed on unchanged. */
  whole?: boolean;
}

/**
 * Reads a file that others may have written, so that its content can neither make us wait nor fill our memory: a named
 * pipe, a device and a file beyond the limit are `odd`. A folder counts as absent. It is read synchronously, which
 * takes less time than awaiting each step.
 *
 * @param limit bytes
 */
export function plainFileAt(
  path: string,
  limit: number,
  { follow = true, whole = false }: Reading = {},
): PlainFile {
  const { O_RDONLY, O_NONBLOCK, O_NOFOLLOW } = constants;
  let file: number | undefined;
  try {
    // Opening a named pipe normally waits until somebody writes into it; O_NONBLOCK opens it
    // immediately.
    file = openSync(path, O_RDONLY | O_NONBLOCK | (follow ? 0 : O_NOFOLLOW));
    const stats = fstatSync(file);
    if (stats.isDirectory()) return { kind: 'absent' };
    if (!stats.isFile()) return { kind: 'odd', why: 'is no plain file' };
    if (stats.size > limit) return { kind: 'odd', why: tooLarge(stats.size, limit) };
    const bytes = readNow(file, stats.size);
    if (whole && !isUtf8(bytes)) return { kind: 'odd', why: 'is no UTF-8 text; convert it first' };
    return { kind: 'text', text: bytes.toString('utf8') };
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return { kind: 'absent' };
    return { kind: 'odd', why: WHY[code] ?? `cannot be read (${code})` };
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/** Reads a file as {@link plainFileAt} does, for callers that await other things too. */
export function readPlainFile(
  path: string,
  limit: number,
  reading: Reading = {},
): Promise<PlainFile> {
  return Promise.resolve(plainFileAt(path, limit, reading));
}

function readNow(file: number, size: number): Buffer {
  const buffer = Buffer.alloc(size);
  let filled = 0;
  while (filled < size) {
    const read = readSync(file, buffer, filled, size - filled, filled);
    if (read === 0) break;
    filled += read;
  }
  return buffer.subarray(0, filled);
}

/** Returns the reason why a file of this size is not read. */
export function tooLarge(size: number | bigint, limit: number): string {
  return `has ${String(size)} bytes, more than ${String(limit)}`;
}

/**
 * Writes a new file, all of it or nothing: a file that a full disk cuts short is removed.
 *
 * @throws the error of the system; `EEXIST` if the path is taken, also by a symlink
 */
export async function writeNewFile(path: string, bytes: Uint8Array, mode: number): Promise<void> {
  const file = await open(path, 'wx', mode);
  try {
    await file.writeFile(bytes).finally(() => file.close());
  } catch (error) {
    await rm(path, { force: true }).catch(() => undefined);
    throw error;
  }
}

/** Milliseconds after which an unchanged guard is taken for one of a process that was killed. */
const GUARD_MS = 2000;
const GUARD_WAIT_MS = 5;

/**
 * Gives a complete file a name that is not taken: of several processes one succeeds, and no reader sees a partial file.
 * This is one step of link(2). Where a file system has no hard links, or the system refuses them, one process at a time
 * checks and renames: the one that created a folder beside the name.
 *
 * @returns false if the name is taken
 * @throws the error of the system
 */
export function putNew(whole: string, path: string): boolean {
  try {
    linkSync(whole, path);
    return true;
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false;
  }
  const guard = `${path}.guard`;
  takeGuard(guard);
  try {
    if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) return false;
    renameSync(whole, path);
    return true;
  } finally {
    removeGuard(guard);
  }
}

/** Creates the guard folder. Others hold it only for a moment; a synchronous caller has to block until then. */
function takeGuard(guard: string): void {
  let [seen, since] = ['', 0];
  for (;;) {
    try {
      mkdirSync(guard, { mode: 0o700 });
      return;
    } catch (error) {
      if (!hasCode(error, 'EEXIST')) throw error;
    }
    const { ino = 0, ctimeMs = performance.now() } =
      lstatSync(guard, { throwIfNoEntry: false }) ?? {};
    const found = `${String(ino)} ${String(ctimeMs)}`;
    if (seen !== found) [seen, since] = [found, performance.now()];
    else if (performance.now() - since > GUARD_MS) removeGuard(guard);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, GUARD_WAIT_MS);
  }
}

function removeGuard(guard: string): void {
  try {
    rmdirSync(guard);
  } catch {
    // Another process that waited for it has removed it.
  }
}

/** Whether a regular file, or one that a symlink leads to, consists of exactly these bytes. */
export async function holdsBytes(path: string, bytes: Buffer): Promise<boolean> {
  let file: FileHandle | undefined;
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const stats = await file.stat();
    if (!stats.isFile() || stats.size !== bytes.length) return false;
    return (await read(file, bytes.length)).equals(bytes);
  } catch {
    return false;
  } finally {
    await file?.close();
  }
}

/**
 * Reads all bytes of an open regular file, but not more than its stated size: it may grow for ever.
 *
 * @param size in bytes, as the file system states it
 * @returns the bytes, or the reason why they cannot be relied on and what to do
 */
export async function readWhole(file: FileHandle, size: number): Promise<Buffer | string> {
  const bytes = await read(file, size + 1);
  if (bytes.length === size) return bytes;
  const { size: after } = await file.stat();
  return after === size
    ? `claims to have ${String(size)} bytes, which is not true, as with the files in /proc and /sys: copy what is in it into a file, and give that`
    : 'was changed while it was read; copy it, and give the copy';
}

async function read(file: FileHandle, size: number): Promise<Buffer> {
  const buffer = Buffer.alloc(size);
  let filled = 0;
  while (filled < size) {
    const { bytesRead } = await file.read(buffer, filled, size - filled, filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}
