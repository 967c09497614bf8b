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
 *
 * @param as `quick`: nothing is made smaller, which takes a tenth of the time; git does so when it packs
 * @returns its id
 * @throws Error when the disk does not take it
 */
export function writeObject(
  dir: string,
  hash: string,
  type: 'blob' | 'tree' | 'commit',
  content: Buffer,
  as: 'small' | 'quick' = 'small',
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
    writeFileSync(temporary, as === 'quick' ? deflateSync(store, { level: 0 }) : inZlib(store), {
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

/** Content of fewer bytes than this is stored as it is: to begin compressing takes longer than it saves. */
const SMALL = 4096;
/** The header of a zlib stream (RFC 1950) of the fastest kind. */
const HEADER = [0x78, 0x01];
/** The largest prime below 2^16, of the checksum. */
const PRIME = 65_521;

/**
 * Content in the zlib format, in which git keeps its objects. What is small becomes one stored block (RFC
 * 1951), as git's own reader takes it; git compresses it when it packs.
 */
export function inZlib(content: Buffer): Buffer {
  const { length } = content;
  if (length >= SMALL) return deflateSync(content, { level: 1 });
  const stored = Buffer.allocUnsafe(length + 11);
  stored.set(HEADER);
  // The last block, stored: its length, and that with every bit turned over.
  stored[2] = 1;
  stored.writeUInt16LE(length, 3);
  stored.writeUInt16LE(length ^ 0xffff, 5);
  content.copy(stored, 7);
  stored.writeUInt32BE(adler32(content), length + 7);
  return stored;
}

/** The checksum of a zlib stream, for content so short that no sum overflows. */
function adler32(content: Buffer): number {
  let a = 1;
  let b = 0;
  for (const byte of content) {
    a += byte;
    b += a;
  }
  return (b % PRIME) * 0x1_0000 + (a % PRIME);
}
