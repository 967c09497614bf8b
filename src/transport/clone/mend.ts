import { createHash } from 'node:crypto';
import { createReadStream, lstatSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createInflate } from 'node:zlib';
import { hasMet, markOf } from '../git/damage.ts';
import type { Objects } from '../objects/objects.ts';
import { OID } from './refs.ts';
import { fetchBranch, type Fetched } from './remote.ts';
import type { Repository } from './handle.ts';

/** Content of the mark once objects were removed, until the remote has sent them again. */
const REMOVED = 'removed\n';

/** The outcome of a fetch, with the number of damaged objects that were removed before it. */
export type Mended = Fetched & { mended?: number };

/**
 * Fetches the bus. If git has met a damaged object since the last fetch, for example one that a power
 * failure left half written, the damaged ones are removed first, and the remote sends everything: git
 * assumes that each object with a known name is intact, and would never request it again.
 */
export async function fetchMending(
  repository: Repository,
  objects: Objects,
  signal?: AbortSignal,
): Promise<Mended> {
  const { gitDir, objectsDir } = repository;
  if (!hasMet(gitDir)) {
    const fetched = await fetchBranch(repository, objects, signal);
    if (!hasMet(gitDir)) return fetched;
  }
  const mark = markOf(gitDir);
  const mended =
    objectsDir === undefined ? 0 : await removeDamaged(objectsDir, mark).catch(() => 0);
  if ((lstatSync(mark, { throwIfNoEntry: false })?.size ?? 0) === 0) {
    // There was nothing to repair: the search is repeated for the next one that git meets.
    rmSync(mark, { force: true });
    return fetchBranch(repository, objects, signal);
  }
  let fetched = await fetchBranch(repository, objects, signal, 'all');
  if (fetched.ok) rmSync(mark, { force: true });
  // A git older than 2.36 cannot request everything: reading a missing object then reports the error.
  else if (/unknown option .refetch/.test(fetched.failure.reason))
    fetched = await fetchBranch(repository, objects, signal);
  return { ...fetched, ...(mended > 0 && { mended }) };
}

/** Removes the damaged objects, after marking that something is missing; returns their number. */
async function removeDamaged(objectsDir: string, mark: string): Promise<number> {
  const damaged = await damagedIn(objectsDir);
  if (damaged.length > 0) writeFileSync(mark, REMOVED);
  for (const path of damaged) rmSync(path, { force: true });
  return damaged.length;
}

/** Lists the files of the loose objects whose content does not match their names. */
async function damagedIn(objectsDir: string): Promise<string[]> {
  const damaged: string[] = [];
  for (const folder of readdirSync(objectsDir)) {
    // A link would lead out of the clone.
    if (!/^[0-9a-f]{2}$/.test(folder) || !lstatSync(join(objectsDir, folder)).isDirectory())
      continue;
    for (const name of readdirSync(join(objectsDir, folder))) {
      const path = join(objectsDir, folder, name);
      if (OID.test(folder + name) && !(await isWhole(path, folder + name))) damaged.push(path);
    }
  }
  return damaged;
}

async function isWhole(path: string, oid: string): Promise<boolean> {
  const found = lstatSync(path, { throwIfNoEntry: false });
  // An object that is gone by now, or not a file, is left to git.
  if (found?.isFile() !== true) return true;
  const hash = createHash(oid.length === 64 ? 'sha256' : 'sha1');
  try {
    await pipeline(createReadStream(path), createInflate(), hash);
    return hash.digest('hex') === oid;
  } catch (error) {
    // A disk that cannot be read now may be readable later.
    return (error as NodeJS.ErrnoException).code?.startsWith('Z_') !== true;
  }
}
