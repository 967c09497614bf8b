import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deflateSync, inflateSync } from 'node:zlib';

let serial = 0;

/** Returns the hash function of a repository's object names, given any id of it. */
export function hashOf(id: string): 'sha1' | 'sha256' {
  return id.length === 64 ? 'sha256' : 'sha1';
}

/** Returns the bytes that git hashes and stores: the content after a line with its type and size. */
function stored(type: string, content: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${type} ${String(content.length)}\0`), content]);
}

/** Computes the id of a file's content. */
export function blobId(hash: string, content: Buffer): string {
  return createHash(hash).update(stored('blob', content)).digest('hex');
}

/**
 * Writes an object into a folder of loose objects, unless it exists. It is compressed little, as git
 * compresses when it packs.
 *
 * @returns its id
 * @throws Error when it cannot be written
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
  // Git recognises a file with this name as half written, and prunes it.
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

/** Whether an intact object is there: not one that a power failure has emptied or filled with zeros. */
function isThere(path: string, store: Buffer): boolean {
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) return false;
  try {
    return inflateSync(readFileSync(path), { maxOutputLength: store.length }).equals(store);
  } catch {
    return false;
  }
}
