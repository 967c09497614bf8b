import type { Git } from '../git/git.ts';
import type { Objects } from './objects.ts';
import { compareTrees, FOLDER_MODE, type FileChange, type FolderUse } from './walk.ts';

/** Maximum number of folders for one git process, to fit a command line. */
const MANY = 1000;

/**
 * Finds the files below a folder at a commit that contain a string, in path order. Callers check the
 * files, because the result may hold more than the matching ones.
 *
 * Git receives the folders one by one, and must not go deeper: below a commit it would visit every path,
 * and a hostile tree has billions.
 */
export async function filesContaining(
  git: Git,
  objects: Objects,
  commit: string,
  folder: string,
  string: string,
  use: FolderUse,
): Promise<string[]> {
  const files: FileChange[] = [];
  const step = { path: folder, from: undefined, to: `${commit}:${folder}` };
  for await (const some of compareTrees(git, objects, [step], use))
    for (const file of some) if (file.mode !== FOLDER_MODE) files.push(file);
  const folders = [...new Set(files.map(({ path }) => path.slice(0, path.lastIndexOf('/'))))];
  const found = new Set<string>();
  for (let at = 0; at < folders.length; at += MANY) {
    const trees = folders.slice(at, at + MANY).map((path) => `${commit}:${path}`);
    const flags = ['-l', '-z', '-F', '--max-depth=0', '--full-name'];
    const outcome = await git.run(['grep', ...flags, '-e', string, ...trees]);
    // git grep ends with 1 and no output when nothing matches. It also ends at a corrupt object, or is
    // killed: then any file may contain the string.
    if (!outcome.ok && (outcome.code === null || outcome.stderr !== ''))
      return files.map(({ path }) => path);
    for (const name of outcome.stdout.toString('utf8').split('\0')) {
      if (!name.startsWith(`${commit}:`)) continue;
      const path = name.slice(commit.length + 1);
      // Depending on git's version, a slash or a colon separates folder and file.
      found.add(path).add(path.replace(':', '/'));
    }
  }
  return files.flatMap(({ path }) => (found.has(path) ? [path] : []));
}
