import { readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Git } from './git.ts';
import type { Repository } from './repository.ts';

/** Loose objects before and after git's maintenance. */
export interface Maintained {
  before: number;
  after: number;
}

/** Git's own figure (`gc.auto`) for when loose objects become too many. */
const MANY_LOOSE = 6700;
/** Objects are spread evenly over 256 folders, so one of them tells of all. */
const SAMPLE = '17';
const PACKING_LIMIT = 600_000;

/**
 * Packs loose objects when there are many, on our own initiative: each message adds about ten, and
 * our git calls never do it in passing. Nothing is deleted that is in no pack, so objects that
 * nothing refers to stay too. Telling that there is nothing to do costs one look at a folder.
 *
 * @returns undefined when there was nothing to do
 */
export async function maintainIfDue({ git, gitDir }: Repository): Promise<Maintained | undefined> {
  if ((await sampled(gitDir)) < MANY_LOOSE) return undefined;
  const before = await looseObjects(git);
  // One that cannot run, as with another under way, leaves things as they are.
  await git.run(
    ['maintenance', 'run', '--quiet', '--task=loose-objects', '--task=incremental-repack'],
    { timeout: PACKING_LIMIT },
  );
  await git.run(['prune-packed', '--quiet'], { timeout: PACKING_LIMIT });
  return { before, after: await looseObjects(git) };
}

/** How many loose objects there are. */
export async function looseObjects(git: Git): Promise<number> {
  const counted = (await git.must(['count-objects', '-v'])).toString('utf8');
  return Number(/^count: (\d+)$/m.exec(counted)?.[1] ?? '0');
}

async function sampled(gitDir: string): Promise<number> {
  // A linked work tree names the repository it belongs to.
  const common = await readFile(join(gitDir, 'commondir'), 'utf8').catch(() => '.');
  const folder = join(resolve(gitDir, common.trim()), 'objects', SAMPLE);
  return 256 * (await readdir(folder).catch(() => [])).length;
}
