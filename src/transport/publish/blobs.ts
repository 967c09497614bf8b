import { createHash, randomBytes } from 'node:crypto';
import { access, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { constants, deflate } from 'node:zlib';
import { passed } from '../../crash-points.ts';
import type { Blob } from '../../protocol/commit.ts';
import type { Repository } from '../clone/handle.ts';
import { isDense, type Entries } from './publish.ts';

const deflated = promisify(deflate);

/** More than what is stored without compression has besides its content, so that it is one piece. */
const OVERHEAD = 1 << 14;

/** The bytes of a file that is to be published; undefined when they are not there, or altered. */
export type BytesOf = (blob: Blob) => Promise<Buffer | undefined>;

/**
 * Gives git the bytes that entries name, one file at a time, so that no more than one is in memory.
 * Nothing refers to them until a commit does. A file whose bytes cannot be had keeps having no name
 * in git, and its entry is refused.
 *
 * @param tip returns a commit of the repository, from which the kind of its names is known
 */
export async function inGit(
  repository: Repository,
  tip: () => Promise<string | undefined>,
  entries: Entries,
  bytesOf: BytesOf,
): Promise<Entries> {
  if (entries.every((commits) => commits.every(({ blobs }) => blobs === undefined))) return entries;
  const known = await tip();
  const named = [];
  for (const commits of entries) {
    const done = [];
    for (const commit of commits) {
      const blobs = [];
      for (const blob of commit.blobs ?? [])
        blobs.push(blob.oid === undefined ? await written(repository, known, blob, bytesOf) : blob);
      done.push(commit.blobs === undefined ? commit : { ...commit, blobs });
    }
    named.push(done);
  }
  passed('files_in_git');
  return named;
}

async function written(
  { git, objectsDir }: Repository,
  tip: string | undefined,
  blob: Blob,
  bytesOf: BytesOf,
): Promise<Blob> {
  const bytes = await bytesOf(blob);
  if (bytes === undefined) return blob;
  // What this process cannot do, git does, or says why it cannot be done.
  const oid =
    objectsDir === undefined || tip === undefined
      ? undefined
      : await looseBlob(objectsDir, tip, bytes).catch(() => undefined);
  if (oid !== undefined) return { ...blob, oid, dense: await isDense(bytes) };
  const out = await git.must(['hash-object', '-w', '--stdin'], { input: bytes });
  return { ...blob, oid: out.toString('latin1').trim() };
}

/** Writes a loose object as git does, without starting git; see `writeLoose`. */
async function looseBlob(objectsDir: string, tip: string, bytes: Buffer): Promise<string> {
  const head = Buffer.from(`blob ${String(bytes.length)}\0`);
  const hash = createHash(tip.length === 64 ? 'sha256' : 'sha1');
  const oid = hash.update(head).update(bytes).digest('hex');
  const folder = join(objectsDir, oid.slice(0, 2));
  const path = join(folder, oid.slice(2));
  const isThere = await access(path).then(
    () => true,
    () => false,
  );
  if (isThere) return oid;
  // Git compresses it when it packs it for the push; what is here is packed by the next maintenance.
  const content = Buffer.concat([head, bytes]);
  const store = await deflated(content, {
    level: constants.Z_NO_COMPRESSION,
    chunkSize: content.length + OVERHEAD,
  });
  // Git recognises a file with this name as left half written, and prunes it.
  const temporary = join(folder, `tmp_obj_${randomBytes(8).toString('hex')}`);
  try {
    await mkdir(folder, { recursive: true });
    await writeFile(temporary, store, { mode: 0o444, flag: 'wx' });
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  return oid;
}
