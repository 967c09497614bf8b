import { failed, type Git } from '../git/git.ts';

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

/** Those of some commits of this clone from which no other of them goes on. */
export async function heads(git: Git, commits: readonly string[]): Promise<string[]> {
  if (commits.length < 2) return [...commits];
  const found = await git.must(['merge-base', '--independent', ...commits]);
  return found.toString('utf8').trim().split('\n');
}

const FIELDS = ['%H', '%P', '%an', '%ae', '%at', '%s'];

/** The commits of `to` that are not in the history of `from`, oldest first; of more than `most`, the newest. */
export async function commitsSince(
  git: Git,
  from: string,
  to: string,
  most: number,
): Promise<Ancestor[]> {
  const format = `--format=${FIELDS.join('%x00')}%x00`;
  const limit = `--max-count=${String(most)}`;
  const out = await git.must(['log', '--topo-order', '-z', limit, format, `${from}..${to}`]);
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
