import type { Git } from '../git/git.ts';

/** Maximum bytes of differences that are read; a branch with more is not searched. */
const MOST = 64 * 1024 * 1024;

/** A text that commits add, and its file. */
export interface Added {
  path: string;
  content: string;
}

/**
 * Returns the texts that the commits of a branch add to a place with some of them, commit by commit:
 * their authors and messages, and the lines that they add to files, including lines that a later commit
 * removes. Lines that they remove are left out, as they were there before.
 *
 * @param git our own git, with the objects of the repository
 * @param commit the last commit
 * @param known commits that are left out with their ancestors; the repository need not have them
 * @returns undefined when there is more than {@link MOST}
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
      // Indented, so that no line of a message can be mistaken for one of a difference.
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

/**
 * Adds a version without NULs to text that has some: PowerShell and others write UTF-16, in which a NUL
 * follows each ASCII letter.
 */
function readable(text: string): string {
  return text.includes('\0') ? `${text}\n${text.replaceAll('\0', '')}` : text;
}
