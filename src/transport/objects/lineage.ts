import { failed, type Git } from '../git/git.ts';
import type { GitObject, Objects } from './objects.ts';

/** A commit, as far as it says who wrote what. */
export interface Ancestor {
  oid: string;
  /** The first; empty for a root. */
  parent: string;
  author: { name: string; email: string };
  /** The author's date. */
  at: Date;
  subject: string;
}

/** The commit from which two histories went apart; undefined where they have nothing in common. */
export async function mergeBase(git: Git, one: string, other: string): Promise<string | undefined> {
  const found = await git.run(['merge-base', one, other]);
  if (found.ok) return found.stdout.toString('utf8').trim();
  if (found.code === 1) return undefined;
  throw failed(git.dir, 'merge-base', found.failure);
}

/**
 * Whether one commit belongs to the history of another; both are known here.
 *
 * @throws CrosstalkError `git_failed` when git could not say: a call without an answer does not
 *   count as "no"
 */
export async function isAncestor(git: Git, commit: string, tip: string): Promise<boolean> {
  const asked = await git.run(['merge-base', '--is-ancestor', commit, tip]);
  if (asked.ok || asked.code === 1) return asked.ok;
  throw failed(git.dir, 'merge-base', asked.failure);
}

/** So many commits are read before git is asked: the last ones are mostly meant. */
const NEAR = 16;

/**
 * Those of some commits that are not among the last few that lead to `tip`, of which the first parents
 * are followed. To read these takes no process.
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
    // The oldest commits of a shallow clone name parents that it has not got.
    if (object?.type !== 'commit') break;
    left.delete(next);
    next = parentIn(object);
  }
  return [...left];
}

/** The first parent of a commit, from the second line of its object. */
function parentIn(object: GitObject): string | undefined {
  const text = object.content?.toString('latin1', 0, 256) ?? '';
  return /^tree [0-9a-f]+\nparent ([0-9a-f]+)\n/.exec(text)?.[1];
}

/** Those of some commits of this clone from which no other of them goes on. */
export async function heads(git: Git, commits: readonly string[]): Promise<string[]> {
  if (commits.length < 2) return [...commits];
  const found = await git.must(['merge-base', '--independent', ...commits]);
  return found.toString('utf8').trim().split('\n');
}

const FIELDS = ['%H', '%P', '%an', '%ae', '%at', '%s'];

/**
 * The commits of `to` that are not in the history of `from`, oldest first; of more than `most`, the newest.
 *
 * @param by only those of authors whose name or address holds one of these
 */
export async function commitsSince(
  git: Git,
  from: string,
  to: string,
  most: number,
  by: readonly string[] = [],
): Promise<Ancestor[]> {
  return commitsOf(git, [to], [from], most, by);
}

/**
 * The commits in any of some histories that are in none of some others, oldest first; of more than `most`,
 * the newest. All of the commits named are known here.
 */
export async function commitsOf(
  git: Git,
  histories: readonly string[],
  without: readonly string[],
  most: number,
  by: readonly string[] = [],
): Promise<Ancestor[]> {
  const format = `--format=${FIELDS.join('%x00')}%x00`;
  const limits = [`--max-count=${String(most)}`, '--fixed-strings', '--no-mailmap'];
  limits.push(...by.map((author) => `--author=${author}`));
  const input = [...histories, ...without.map((commit) => `^${commit}`), ''].join('\n');
  const args = ['log', '--topo-order', '-z', ...limits, format, '--stdin'];
  const out = await git.must(args, { input });
  const fields = out.toString('utf8').split('\0');
  const commits: Ancestor[] = [];
  // Each record ends with its own NUL and with that of -z.
  for (let at = 0; at + FIELDS.length <= fields.length; at += FIELDS.length + 1) {
    const [oid = '', parents = '', name = '', email = '', seconds = '', subject = ''] =
      fields.slice(at);
    const [parent = ''] = parents.split(' ');
    commits.push({
      oid,
      parent,
      author: { name, email },
      at: new Date(Number(seconds) * 1000),
      subject,
    });
  }
  return commits.reverse();
}

/** So many commits are listed at first, and then so many times more, until some are old enough. */
const FIRST_LOOK = 256;
const LOOK_FURTHER = 16;

/**
 * The newest commit on the line of first parents of `tip` at which none of some files was there yet: the
 * difference between it and `tip` holds all that was added since the first of them, whatever any clock said.
 *
 * @returns undefined where the history begins with one of them
 */
export async function before(
  git: Git,
  objects: Objects,
  tip: string,
  paths: readonly string[],
): Promise<string | undefined> {
  for (let most = FIRST_LOOK; ; most *= LOOK_FURTHER) {
    const args = ['rev-list', '--first-parent', `--max-count=${String(most)}`, tip];
    const line = (await git.must(args)).toString('utf8').trim().split('\n');
    const last = line.length - 1;
    if (await hasAny(objects, line[last] ?? '', paths)) {
      if (line.length < most) return undefined;
      continue;
    }
    let [newest, oldest] = [0, last];
    while (newest < oldest) {
      const middle = Math.floor((newest + oldest) / 2);
      if (await hasAny(objects, line[middle] ?? '', paths)) newest = middle + 1;
      else oldest = middle;
    }
    return line[oldest];
  }
}

/** Whether any of some files is there at a commit. */
export async function hasAny(
  objects: Objects,
  commit: string,
  paths: readonly string[],
): Promise<boolean> {
  const found = await Promise.all(paths.map((path) => objects.read(`${commit}:${path}`)));
  return found.some((object) => object !== undefined);
}
