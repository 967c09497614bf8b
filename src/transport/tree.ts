import type { Git } from './git.ts';
import type { Objects } from './objects.ts';
import { FOLDER, parseTree } from './tree-object.ts';

/** A file added, changed or removed between two commits. */
export interface Change {
  path: string;
  oid: string;
  /** `100644` and the like; `120000` is a symlink, `160000` a submodule. */
  mode: string;
  status: 'A' | 'M' | 'D' | 'T';
}

export interface TreeEntry {
  path: string;
  oid: string;
  mode: string;
  type: string;
}

/** Changes between two commits, in path order; renames count as removed and added. */
export async function changesBetween(
  git: Git,
  from: string,
  to: string,
  paths: readonly string[] = [],
): Promise<Change[]> {
  const out = await git.must([
    'diff-tree',
    '-r',
    '-z',
    '--raw',
    '--no-renames',
    '--no-abbrev',
    from,
    to,
    '--',
    ...paths,
  ]);
  const fields = out.toString('utf8').split('\0');
  const changes: Change[] = [];
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const [, mode = '', , oid = '', status = ''] = (fields[i] ?? '').split(' ');
    changes.push({ path: fields[i + 1] ?? '', oid, mode, status: status as Change['status'] });
  }
  return changes;
}

const SUBMODULE = '160000';

/**
 * The entries of one folder at a commit through the open process; none for a folder that does not
 * exist, undefined for one too large to be read so.
 */
export async function readFolder(
  objects: Objects,
  commit: string,
  folder: string,
): Promise<TreeEntry[] | undefined> {
  return readTree(objects, `${commit}:${folder}`, folder);
}

async function readTree(
  objects: Objects,
  name: string,
  folder: string,
): Promise<TreeEntry[] | undefined> {
  const object = await objects.read(name);
  if (object?.type !== 'tree') return [];
  if (object.content === undefined) return undefined;
  return [...parseTree(object.content, object.oid.length / 2)].map(([name, { mode, oid }]) => ({
    mode: mode.padStart(6, '0'),
    oid,
    type: mode === FOLDER ? 'tree' : mode === SUBMODULE ? 'commit' : 'blob',
    path: `${folder === '' ? '' : `${folder}/`}${Buffer.from(name, 'latin1').toString('utf8')}`,
  }));
}

/** Folders deeper than this are named, not entered: nothing of ours is, and a tree may be hostile. */
const MAX_DEPTH = 32;

/**
 * The files below a folder at a commit, a folder at a time in path order: however many there are in
 * all, memory holds those of one folder.
 */
export async function* walkFolder(
  git: Git,
  objects: Objects,
  commit: string,
  folder: string,
): AsyncGenerator<TreeEntry[]> {
  const ahead = [{ name: `${commit}:${folder}`, path: folder, depth: 0 }];
  for (let next = ahead.pop(); next !== undefined; next = ahead.pop()) {
    const { name, path, depth } = next;
    const entries =
      (await readTree(objects, name, path)) ??
      (await listTree(git, commit, [path], { recursive: false }));
    const isEntered = ({ type }: TreeEntry): boolean => type === 'tree' && depth < MAX_DEPTH;
    yield entries.filter((entry) => !isEntered(entry));
    const inner = entries.filter(isEntered).reverse();
    ahead.push(...inner.map((entry) => ({ name: entry.oid, path: entry.path, depth: depth + 1 })));
  }
}

/** Like {@link changesBetween}, but undefined when there are more than so many. */
export async function changesCapped(
  git: Git,
  from: string,
  to: string,
  paths: readonly string[],
  cap: number,
): Promise<Change[] | undefined> {
  const changes = await changesBetween(git, from, to, paths);
  return changes.length > cap ? undefined : changes;
}

/** Entries of folders at a commit, path order; none for a folder that does not exist. */
export async function listTree(
  git: Git,
  commit: string,
  folders: readonly string[],
  options: { recursive: boolean },
): Promise<TreeEntry[]> {
  if (folders.length === 0) return [];
  const paths = folders.map((folder) => `${folder}/`);
  const out = await git.must([
    'ls-tree',
    '-z',
    ...(options.recursive ? ['-r'] : []),
    commit,
    ...paths,
  ]);
  return out
    .toString('utf8')
    .split('\0')
    .filter((line) => line !== '')
    .map((line) => {
      const [facts, path] = splitOnce(line, '\t');
      const [mode = '', type = '', oid = ''] = facts.split(' ');
      return { path, oid, mode, type };
    });
}

/**
 * The paths (or what is below them) in the order in which history added them. Costs a walk from
 * `since` (or the root), so it is asked only when a batch holds several messages.
 */
export async function commitOrder(
  git: Git,
  since: string | undefined,
  tip: string,
  paths: readonly string[],
): Promise<string[]> {
  const range = since === undefined ? tip : `${since}..${tip}`;
  const outcome = await git.run([
    'log',
    '--reverse',
    '--topo-order',
    '-m',
    '--diff-filter=A',
    '--no-renames',
    '--name-only',
    '--format=',
    '-z',
    range,
    '--',
    ...paths,
  ]);
  const found = outcome.ok ? outcome.stdout.toString('utf8').split(/[\0\n]+/) : [];
  return [...new Set(found.filter((path) => path !== ''))];
}

/**
 * The files below a folder at a commit that contain any of some fixed strings, path order. Callers
 * look inside: it may name more of them.
 */
export async function filesContaining(
  git: Git,
  commit: string,
  folder: string,
  strings: readonly string[],
): Promise<string[]> {
  const patterns = strings.flatMap((text) => ['-e', text]);
  const outcome = await git.run([
    'grep',
    '-l',
    '-z',
    '-F',
    '--full-name',
    ...patterns,
    commit,
    '--',
    folder,
  ]);
  // git grep ends with 1 and says nothing when nothing matches. It dies of a corrupt object: then
  // every file may be one that contains the string.
  if (!outcome.ok && outcome.stderr !== '') {
    const files = await listTree(git, commit, [folder], { recursive: true });
    return files.map(({ path }) => path);
  }
  const prefix = `${commit}:`;
  return outcome.stdout
    .toString('utf8')
    .split('\0')
    .filter((line) => line.startsWith(prefix))
    .map((line) => line.slice(prefix.length));
}

function splitOnce(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}
