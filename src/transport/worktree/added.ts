import type { Clone } from '../clone/clone.ts';
import { gitFor, type Tree } from './tree.ts';

/** Bytes of differences that are read; a branch with more is not searched. */
const MOST = 64 * 1024 * 1024;

/** A text that commits bring along, and the file it stands in. */
export interface Added {
  path: string;
  content: string;
}

/**
 * What the commits of a branch bring along, commit by commit: their authors and messages, and the lines
 * that they add to files, also to those that a later commit removes. What they remove is left out, as it
 * was there before.
 *
 * @param commit the last of them, in the objects of the repository
 * @param last a commit that is left out with all before it, like the one with which the branch begins
 * @returns undefined where there is more than is read
 * @throws CrosstalkError `git_failed`
 */
export async function addedBy(
  environment: NodeJS.ProcessEnv,
  source: Clone,
  tree: Tree,
  { commit, last }: { commit: string; last: string | undefined },
  signal: AbortSignal,
): Promise<Added[] | undefined> {
  const git = await gitFor(environment, tree, { source, objects: source });
  const said = await git.must(
    [
      ...['log', '--patch', '-c', '--unified=0', '--text', '--no-renames', '--no-color'],
      ...['--no-ext-diff', '--no-textconv', '--no-show-signature', '--no-notes', '--no-mailmap'],
      // Indented, so that no line of a message can be taken for one of a difference.
      '--format=%w(0,1,1)%an <%ae>%n%cn <%ce>%n%B',
      ...[commit, '--not', tree.base, ...(last === undefined ? [] : [last])],
    ],
    { most: MOST, signal },
  );
  if (said.length > MOST) return undefined;
  return addedIn(said.toString('utf8'));
}

const FILE = /^diff --(?:git a\/.* b\/|combined )(.*)$/;

function addedIn(log: string): Added[] {
  const parts: { path: string; lines: string[] }[] = [{ path: 'a commit message', lines: [] }];
  const [messages] = parts;
  for (const line of log.split('\n')) {
    const path = FILE.exec(line)?.[1];
    if (path !== undefined) parts.push({ path, lines: [path] });
    else if (line.startsWith(' ') && !/^ *\+/.test(line)) messages?.lines.push(line.slice(1));
    else if (!/^ *-/.test(line)) parts.at(-1)?.lines.push(line.replace(/^[ +]/, ''));
  }
  return parts.map(({ path, lines }) => ({ path, content: lines.join('\n') }));
}
