import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deflateSync, inflateSync } from 'node:zlib';

let serial = 0;

/** The hash by which a repository names its objects, told by any id of it. */
export function hashOf(id: string): 'sha1' | 'sha256' {
  return id.length === 64 ? 'sha256' : 'sha1';
}

/** What git hashes and keeps: the content behind a line of its type and its size. */
function stored(type: string, content: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${type} ${String(content.length)}\0`), content]);
}

/** The id of a file's content. */
export function blobId(hash: string, content: Buffer): string {
  return createHash(hash).update(stored('blob', content)).digest('hex');
}

/**
 * Writes an object into a folder of loose objects, unless it is there.
 * Little is made smaller: git does so when it packs.
 *
 * @returns its id
 * @throws Error when the disk does not take it
 */
export function writeObject(
  dir: string,
  hash: string,
  type: 'blob' | 'tree' | 'commit',
  content: Buffer,
): string {
  const store = stored(type, content);
  const oid = createHash(hash).update(store).digest('hex');
  const folder = join(dir, oid.slice(0, 2));
  const path = join(folder, oid.slice(2));
  if (isThere(path, store)) return oid;
  // Git recognises a file with this name as left half written, and prunes it.
  const temporary = join(folder, `tmp_obj_${String(process.pid)}_${String(serial++)}`);
  try {
    mkdirSync(folder, { recursive: true });
    writeFileSync(temporary, deflateSync(store, { level: 1 }), {
      mode: 0o444,
      flag: 'wx',
    });
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  return oid;
}

/** Whether an object is there as it should be: one that a power failure has emptied or filled with zeros is not. */
function isThere(path: string, store: Buffer): boolean {
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) return false;
  try {
    return inflateSync(readFileSync(path), { maxOutputLength: store.length }).equals(store);
  } catch {
    return false;
  }
}
