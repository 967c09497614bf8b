import { failed, type Git } from '../git/git.ts';
import type { GitObject, Objects } from './objects.ts';

/** Finds the commit from which two histories diverged; undefined when they have no common commit. */
export async function mergeBase(git: Git, one: string, other: string): Promise<string | undefined> {
  const found = await git.run(['merge-base', one, other]);
  if (found.ok) return found.stdout.toString('utf8').trim();
  if (found.code === 1) return undefined;
  throw failed(git.dir, 'merge-base', found.failure);
}

/**
 * Whether one commit belongs to the history of another; both are known here.
 *
 * @throws CrosstalkError `git_failed` when git gave no answer, which does not count as "no"
 */
export async function isAncestor(git: Git, commit: string, tip: string): Promise<boolean> {
  const asked = await git.run(['merge-base', '--is-ancestor', commit, tip]);
  if (asked.ok || asked.code === 1) return asked.ok;
  throw failed(git.dir, 'merge-base', asked.failure);
}

/** Number of commits read before git is asked: usually the last ones are meant. */
const NEAR = 16;

/**
 * Returns those of some commits that are not among the last few on the line of first parents of `tip`.
 * Reading these takes no process.
 */
export async function notNear(
  objects: Objects,
  commits: readonly string[],
  tip: string,
): Promise<string[]> {
  const left = new Set(commits);
  left.delete(tip);
  let next: string | undefined = tip;
  for (let step = 0; step < NEAR && next !== undefined && left.size > 0; step++) {
    const object: GitObject | undefined = await objects.read(next);
    // The oldest commits of a shallow clone name parents that are not in it.
    if (object?.type !== 'commit') break;
    left.delete(next);
    next = parentIn(object);
  }
  return [...left];
}

/** Reads the first parent of a commit, from the second line of its object. */
function parentIn(object: GitObject): string | undefined {
  const text = object.content?.toString('latin1', 0, 256) ?? '';
  return /^tree [0-9a-f]+\nparent ([0-9a-f]+)\n/.exec(text)?.[1];
}

/** Returns those of some commits of this clone that are not ancestors of another of them. */
export async function heads(git: Git, commits: readonly string[]): Promise<string[]> {
  if (commits.length < 2) return [...commits];
  const found = await git.must(['merge-base', '--independent', ...commits]);
  return found.toString('utf8').trim().split('\n');
}

/** Number of commits listed first, and the factor by which it grows until some are old enough. */
const FIRST_LOOK = 256;
const LOOK_FURTHER = 16;

/**
 * Finds the newest commit on the line of first parents of `tip` at which something that has come since, and stayed, was
 * not there yet: the difference between it and `tip` holds all that was added since, whatever any clock said.
 *
 * @param isThere whether it is there at a commit
 * @returns undefined where the history begins with it
 */
export async function before(
  git: Git,
  tip: string,
  isThere: (commit: string) => Promise<boolean>,
): Promise<string | undefined> {
  for (let most = FIRST_LOOK; ; most *= LOOK_FURTHER) {
    const args = ['rev-list', '--first-parent', `--max-count=${String(most)}`, tip];
    const line = (await git.must(args)).toString('utf8').trim().split('\n');
    const last = line.length - 1;
    if (await isThere(line[last] ?? '')) {
      if (line.length < most) return undefined;
      continue;
    }
    let [newest, oldest] = [0, last];
    while (newest < oldest) {
      const middle = Math.floor((newest + oldest) / 2);
      if (await isThere(line[middle] ?? '')) newest = middle + 1;
      else oldest = middle;
    }
    return line[oldest];
  }
}

/** Whether any of some files exists at a commit. */
export async function hasAny(
  objects: Objects,
  commit: string,
  paths: readonly string[],
): Promise<boolean> {
  const found = await Promise.all(paths.map((path) => objects.read(`${commit}:${path}`)));
  return found.some((object) => object !== undefined);
}
