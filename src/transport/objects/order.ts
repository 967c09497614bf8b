import { CrosstalkError } from '../../errors.ts';
import { failed, type Git } from '../git/git.ts';
import type { Objects } from './objects.ts';
import { fieldsOf } from './stream.ts';
import { compareTrees, type FolderUse } from './walk.ts';

/** Maximum number of commits that are compared with their parents; for more, git lists their objects. */
const FEW = 32;
const LINE_BREAK = 10;

/**
 * Returns paths of files in the order in which history added them, as far as it is known. This costs a
 * walk from `since` (or the root), so it is used only when a batch holds several messages.
 *
 * `git log` with paths is not used: the path of a message's file may have been a folder of any size in
 * between, and git would walk all of it.
 *
 * @throws CrosstalkError `git_failed` when git was killed or ran out of time
 */
export async function commitOrder(
  git: Git,
  objects: Objects,
  since: string | undefined,
  tip: string,
  paths: readonly string[],
): Promise<string[]> {
  const range = since === undefined ? tip : `${since}..${tip}`;
  const wanted = new Set(paths);
  const order = ['rev-list', '--reverse', '--topo-order'];
  const listed = await git.run([...order, '--parents', `--max-count=${String(FEW + 1)}`, range]);
  if (!listed.ok && listed.code === null) throw failed(git.dir, 'rev-list', listed.failure);
  if (!listed.ok) return [];
  const commits = listed.stdout
    .toString('utf8')
    .split('\n')
    .filter((line) => line !== '');
  if (commits.length <= FEW) return addedBy(git, objects, commits, wanted);
  const found = new Set<string>();
  const all = [...order, '--objects', '--in-commit-order', range];
  try {
    for await (const lines of fieldsOf(git, all, LINE_BREAK)) {
      for (const line of lines) {
        const path = line.slice(line.indexOf(' ') + 1);
        if (wanted.has(path)) found.add(path);
      }
    }
  } catch (error) {
    if (error instanceof CrosstalkError && error.data['kind'] === 'no_answer') throw error;
    // An object is missing here: the remaining files keep the order of their paths.
  }
  return [...found];
}

/** @param commits each with its parents, as `rev-list --parents` prints them */
async function addedBy(
  git: Git,
  objects: Objects,
  commits: readonly string[],
  wanted: ReadonlySet<string>,
): Promise<string[]> {
  const folders = new Set<string>();
  for (const path of wanted)
    for (let at = path.indexOf('/'); at > 0; at = path.indexOf('/', at + 1))
      folders.add(path.slice(0, at));
  const use: FolderUse = (path) => (folders.has(path) ? 'enter' : 'skip');
  const found = new Set<string>();
  for (const line of commits) {
    const [commit = '', ...parents] = line.split(' ');
    const steps = (parents.length === 0 ? [undefined] : parents).map((parent) => ({
      path: '',
      from: parent === undefined ? undefined : `${parent}^{tree}`,
      to: `${commit}^{tree}`,
    }));
    for (const step of steps)
      for await (const changes of compareTrees(git, objects, [step], use))
        for (const { path, status } of changes)
          if (status === 'A' && wanted.has(path)) found.add(path);
  }
  return [...found];
}
