import type { Git } from '../git/git.ts';

/** Bytes of differences that are read; a branch with more is not searched. */
const MOST = 64 * 1024 * 1024;

/** A text that commits bring along, and the file it stands in. */
export interface Added {
  path: string;
  content: string;
}

/**
 * What the commits of a branch bring along to where some are already, commit by commit: their authors and
 * messages, and the lines that they add to files, also to those that a later commit removes. What they
 * remove is left out, as it was there before.
 *
 * @param git of ours, with the objects of the repository
 * @param commit the last of them
 * @param known commits that are left out with all before them; the repository need not have them
 * @returns undefined where there is more than is read
 * @throws CrosstalkError `git_failed`
 */
export async function addedBy(
  git: Git,
  commit: string,
  known: readonly string[],
  signal: AbortSignal,
): Promise<Added[] | undefined> {
  const said = await git.must(
    [
      ...['log', '--patch', '-c', '--unified=0', '--text', '--no-renames', '--no-color'],
      ...['--no-ext-diff', '--no-textconv', '--no-show-signature', '--no-notes', '--no-mailmap'],
      // Indented, so that no line of a message can be taken for one of a difference.
      '--format=%w(0,1,1)%an <%ae>%n%cn <%ce>%n%B',
      ...['--ignore-missing', '--stdin'],
    ],
    { most: MOST, signal, input: [commit, ...known.map((oid) => `^${oid}`), ''].join('\n') },
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
  return parts.map(({ path, lines }) => ({ path, content: readable(lines.join('\n')) }));
}

/** What PowerShell and others write in UTF-16 has a null between each two letters. */
function readable(text: string): string {
  return text.includes('\0') ? `${text}\n${text.replaceAll('\0', '')}` : text;
}
