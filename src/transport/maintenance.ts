import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Git } from './git/git.ts';
import type { Repository } from './clone/handle.ts';

/** Loose objects before and after git's maintenance. */
export interface Maintained {
  before: number;
  after: number;
}

/** Number of loose objects that git itself considers too many (`gc.auto`). */
const MANY_LOOSE = 6700;
/** Number of packs that git itself considers too many (`gc.autoPackLimit`). */
const MANY_PACKS = 50;
/** Folders that are counted as samples, since objects are spread evenly over 256 folders. */
const SAMPLES = ['17', '42', '8a', 'd3'];
const LOCKS = ['index.lock', 'shallow.lock', 'HEAD.lock', 'config.lock', 'packed-refs.lock'];
/**
 * Milliseconds after which a lock is stale: packing a large repository takes long, and nothing else holds
 * a lock for more than moments.
 */
const STALE_MS = 15 * 60_000;
const PACKING_LIMIT = 600_000;

/**
 * Packs loose objects, and merges small packs, automatically when there are many: each message adds about
 * ten objects, each busy push a pack, and our other git calls never pack. Nothing is deleted that is not
 * in a pack, so unreferenced objects stay too. The check itself only reads some folders.
 *
 * @returns undefined when there was nothing to do
 */
export async function maintainIfDue({
  git,
  clone,
  partial,
}: Repository): Promise<Maintained | undefined> {
  const dir = clone.objectsDir;
  const [loose, packs] = await Promise.all([sampled(dir), packsIn(dir)]);
  if (loose < MANY_LOOSE && packs < MANY_PACKS) return undefined;
  const before = await looseObjects(git);
  const run = (...args: string[]): Promise<unknown> => git.run(args, { timeout: PACKING_LIMIT });
  // Maintenance that cannot run, for example because another one is running, leaves everything as it is.
  await run('maintenance', 'run', '--quiet', '--task=loose-objects');
  // Without this, git would remove the loose objects just packed only the next time.
  await run('prune-packed', '--quiet');
  if (partial === true) {
    // In a geometric repack, older versions of git forget which packs hold promised objects.
    await run('maintenance', 'run', '--quiet', '--task=incremental-repack');
    await run('multi-pack-index', 'expire');
  } else if (packs >= MANY_PACKS) await run('repack', '-d', '--quiet', '--geometric=2');
  return { before, after: await looseObjects(git) };
}

/**
 * Lists git's lock files that are older than any git process holds one, so that they were left by a git
 * that was killed. Locks dated in the future count too, as a clock that was ahead leaves them.
 */
export async function staleLocks({ clone, gitDir, branch }: Repository): Promise<string[]> {
  const objects = clone.objectsDir;
  const folders = [clone.gitDir, gitDir];
  const locks = [...LOCKS, `refs/remotes/origin/${branch}.lock`];
  const paths = [
    ...folders.flatMap((folder) => locks.map((name) => join(folder, name))),
    join(objects, 'maintenance.lock'),
    join(objects, 'info', 'commit-graphs', 'commit-graph-chain.lock'),
  ];
  const ages = await Promise.all(
    paths.map(async (path) => {
      const found = await lstat(path).catch(() => undefined);
      const isStale = found !== undefined && Math.abs(Date.now() - found.mtimeMs) > STALE_MS;
      return isStale ? [path] : [];
    }),
  );
  return ages.flat();
}

/** Counts the loose objects. */
export async function looseObjects(git: Git): Promise<number> {
  const counted = (await git.must(['count-objects', '-v'])).toString('utf8');
  return Number(/^count: (\d+)$/m.exec(counted)?.[1] ?? '0');
}

async function sampled(dir: string): Promise<number> {
  const names = await Promise.all(
    SAMPLES.map((folder) => readdir(join(dir, folder)).catch(() => [])),
  );
  return (256 / SAMPLES.length) * names.flat().length;
}

async function packsIn(dir: string): Promise<number> {
  const names = await readdir(join(dir, 'pack')).catch(() => []);
  return names.filter((name) => name.endsWith('.pack')).length;
}
