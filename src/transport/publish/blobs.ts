import { passed } from '../../crash-points.ts';
import type { Blob } from '../../protocol/outgoing.ts';
import type { Repository } from '../clone/handle.ts';
import { isDense, type Entries } from './publish.ts';

/** A source of the bytes of a file to be published; undefined when they are missing or altered. */
export type BytesOf = (blob: Blob) => Promise<Buffer | undefined>;

/**
 * Writes the attached files of entries into git, one file at a time, so that no more than one is in
 * memory. Nothing refers to them until a commit does. A file whose bytes cannot be read remains without
 * an object id, and its entry is refused.
 */
export async function inGit(
  repository: Repository,
  entries: Entries,
  bytesOf: BytesOf,
): Promise<Entries> {
  if (entries.every((commits) => commits.every(({ blobs }) => blobs === undefined))) return entries;
  const named = [];
  for (const commits of entries) {
    const done = [];
    for (const commit of commits) {
      const blobs = [];
      for (const blob of commit.blobs ?? [])
        blobs.push(blob.oid === undefined ? await written(repository, blob, bytesOf) : blob);
      done.push(commit.blobs === undefined ? commit : { ...commit, blobs });
    }
    named.push(done);
  }
  passed('files_in_git');
  return named;
}

async function written({ git }: Repository, blob: Blob, bytesOf: BytesOf): Promise<Blob> {
  const bytes = await bytesOf(blob);
  if (bytes === undefined) return blob;
  // Git compresses the file when it packs it for the push; the local object is packed by the next maintenance.
  const out = await git.must(['-c', 'core.looseCompression=0', 'hash-object', '-w', '--stdin'], {
    input: bytes,
  });
  return { ...blob, oid: out.toString('latin1').trim(), dense: await isDense(bytes) };
}
