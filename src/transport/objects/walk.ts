import { differences, type Pair, type Side } from './differences.ts';
import type { Git } from '../git/git.ts';
import type { Objects } from './objects.ts';
import { Repeats } from './repeats.ts';

/** A file added, changed or removed between two commits; or a folder that was not entered. */
export interface FileChange {
  path: string;
  oid: string;
  /** `100644` and the like; `120000` is a symlink, `160000` a submodule, `040000` a folder. */
  mode: string;
  status: 'A' | 'M' | 'D' | 'T';
  /** The reason why a folder that may contain files of ours was not entered. */
  unread?: string;
}

/** The use of a folder in a walk: entered, listed as if it were a file, or skipped. */
export type FolderUse = (path: string) => 'enter' | 'name' | 'skip';

/** The mode of a folder as git prints it. */
export const FOLDER_MODE = '040000';
const REPEATED = 'the same folder stands at too many places';
const TOO_LARGE = 'a folder larger than 128 MiB';

/** A step of a comparison: a folder, and its name on each side. */
export interface WalkStep {
  path: string;
  from: string | undefined;
  to: string | undefined;
}

interface Walk {
  git: Git;
  objects: Objects;
  use: FolderUse;
  repeats: Repeats;
}

/**
 * Lists the differences of two trees, some at a time, the files of a folder before the content of its
 * folders. Git never compares whole trees for us: it collects every path before it prints the first, and
 * a kilobyte of nested folders has billions. Here a folder is entered only where `use` allows a file of a
 * transport, and a folder that occurs at many places is not entered at all of them ({@link Repeats}): the
 * cost follows the objects that were pushed. Renames count as removed and added.
 *
 * @param steps names of folders; a missing path counts as empty
 * @throws CrosstalkError `git_failed` when an object is missing
 */
export async function* compareTrees(
  git: Git,
  objects: Objects,
  steps: readonly WalkStep[],
  use: FolderUse,
): AsyncGenerator<FileChange[]> {
  const walk: Walk = { git, objects, use, repeats: new Repeats() };
  const ahead = [...steps].reverse();
  for (let step = ahead.pop(); step !== undefined; step = ahead.pop()) {
    const inner: WalkStep[] = [];
    yield* changesIn(walk, step, inner);
    // They are added one by one, because a call accepts a limited number of arguments.
    for (const next of inner.reverse()) ahead.push(next);
  }
}

async function* changesIn(
  walk: Walk,
  step: WalkStep,
  inner: WalkStep[],
): AsyncGenerator<FileChange[]> {
  const { path, from, to } = step;
  const look = walk.repeats.look(path, [from, to]);
  if (look === 'enough') {
    yield [unreadFolder(step, REPEATED)];
    return;
  }
  const found = await differences(walk.git, walk.objects, from, to);
  if (found.kind === 'too_large') yield [unreadFolder(step, TOO_LARGE)];
  if (found.kind !== 'pairs') return;
  let entries = 0;
  for await (const pairs of found.pairs) {
    entries += pairs.length;
    const changes = pairs.flatMap((pair) => changesOf(walk.use, path, pair, inner));
    if (changes.length > 0) yield changes;
  }
  if (look === 'again') walk.repeats.charge(path, entries);
}

function unreadFolder({ path, from, to }: WalkStep, unread: string): FileChange {
  const status = from === undefined ? 'A' : to === undefined ? 'D' : 'M';
  return { path, oid: to ?? from ?? '', mode: FOLDER_MODE, status, unread };
}

/** Returns the changes of a name; folders to be entered are added to `inner`. */
function changesOf(use: FolderUse, folder: string, pair: Pair, inner: WalkStep[]): FileChange[] {
  const path = folder === '' ? pair.name : `${folder}/${pair.name}`;
  const [oldFile, oldFolder] = kinds(pair.from);
  const [newFile, newFolder] = kinds(pair.to);
  const changes: FileChange[] = [];
  const add = (from: Side | undefined, to: Side | undefined): void => {
    const side = to ?? from;
    if (side !== undefined) changes.push({ path, ...side, status: statusOf(from, to) });
  };
  add(oldFile, newFile);
  if (oldFolder === undefined && newFolder === undefined) return changes;
  const what = use(path);
  if (what === 'enter') inner.push({ path, from: oldFolder?.oid, to: newFolder?.oid });
  if (what === 'name') add(oldFolder, newFolder);
  return changes;
}

function kinds(side: Side | undefined): [file: Side | undefined, folder: Side | undefined] {
  return side?.mode === FOLDER_MODE ? [undefined, side] : [side, undefined];
}

function statusOf(from: Side | undefined, to: Side | undefined): FileChange['status'] {
  if (from === undefined) return 'A';
  if (to === undefined) return 'D';
  return from.mode.slice(0, 2) === to.mode.slice(0, 2) ? 'M' : 'T';
}

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
