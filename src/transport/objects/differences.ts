import type { Git } from '../git/git.ts';
import { type GitObject, type Objects, unreadable } from './objects.ts';
import { fieldsOf } from './stream.ts';
import { parseTree, type Tree } from './tree-object.ts';

/** The object that a name in a folder refers to; the mode has six digits. */
export interface Side {
  mode: string;
  oid: string;
}

/** A name in one of two folders, or in both with different objects. */
export interface Pair {
  name: string;
  from?: Side;
  to?: Side;
}

/** The differences of two folders, or the reason for none: a folder is too large, or neither exists. */
export type Differences =
  { kind: 'pairs'; pairs: AsyncGenerator<Pair[]> } | { kind: 'too_large' | 'none' };

/** Maximum bytes of a folder: more than two million files; nobody has that many messages in a day. */
const MAX_FOLDER_BYTES = 128 * 1024 * 1024;

/**
 * Compares the entries of two folders, without entering the folders in them: git compares whole trees
 * before it prints the first line, however many paths a hostile one has.
 *
 * @param from an object id, or a name such as `<commit>:<path>`; undefined for an empty folder
 * @throws CrosstalkError `git_failed` for a folder that is named by its id and cannot be read
 */
export async function differences(
  git: Git,
  objects: Objects,
  from: string | undefined,
  to: string | undefined,
): Promise<Differences> {
  const [before, after] = await Promise.all([
    readFolder(git, objects, from),
    readFolder(git, objects, to),
  ]);
  const known = [before, after].filter((folder) => folder !== undefined);
  if (known.length === 0) return { kind: 'none' };
  if (known.some(({ size }) => size > MAX_FOLDER_BYTES)) return { kind: 'too_large' };
  if (before?.oid === after?.oid) return { kind: 'none' };
  const isHere = known.every(({ content }) => content !== undefined);
  const pairs = isHere ? compared(treeOf(before), treeOf(after)) : streamed(git, before, after);
  return { kind: 'pairs', pairs };
}

async function readFolder(
  git: Git,
  objects: Objects,
  name: string | undefined,
): Promise<GitObject | undefined> {
  if (name === undefined) return undefined;
  const object = await objects.read(name);
  if (object?.type === 'tree') return object;
  // A path of a commit may not exist; an object that a tree names has to.
  if (name.includes(':')) return undefined;
  throw unreadable(git.dir, name);
}

function treeOf(object: GitObject | undefined): Tree {
  return object?.content === undefined
    ? new Map<string, Side>()
    : parseTree(object.content, object.oid.length / 2);
}

async function* compared(before: Tree, after: Tree): AsyncGenerator<Pair[]> {
  const pairs: Pair[] = [];
  const side = (entry: Side): Side => ({ oid: entry.oid, mode: entry.mode.padStart(6, '0') });
  const add = (latin1: string, from: Side | undefined, to: Side | undefined): void => {
    const name = Buffer.from(latin1, 'latin1').toString('utf8');
    // Git itself would not write such a name into a checkout.
    if (name === '' || name === '.' || name === '..' || name.includes('/')) return;
    pairs.push({ name, ...(from && { from: side(from) }), ...(to && { to: side(to) }) });
  };
  for (const [name, to] of after) {
    const from = before.get(name);
    if (from?.oid !== to.oid || from.mode !== to.mode) add(name, from, to);
  }
  for (const [name, from] of before) if (!after.has(name)) add(name, from, undefined);
  yield pairs;
}

/** The empty tree, which git knows in every repository, by the length of its name. */
const EMPTY_TREE = new Map([
  [40, '4b825dc642cb6eb9a060e54bf8d69288fbee4904'],
  [64, '6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321'],
]);

/** Compares folders that are too large to be kept in memory. */
async function* streamed(
  git: Git,
  before: GitObject | undefined,
  after: GitObject | undefined,
): AsyncGenerator<Pair[]> {
  const empty = EMPTY_TREE.get((before ?? after)?.oid.length ?? 0) ?? '';
  const sides = [before?.oid ?? empty, after?.oid ?? empty];
  const raw = ['diff-tree', '-z', '--raw', '--no-renames', '--no-abbrev', ...sides];
  let facts: string | undefined;
  for await (const fields of fieldsOf(git, raw)) {
    const pairs: Pair[] = [];
    for (const field of fields) {
      if (facts === undefined) {
        facts = field;
        continue;
      }
      const [oldMode = '', mode = '', oldOid = '', oid = ''] = facts.slice(1).split(' ');
      pairs.push({
        name: field,
        ...(!isNone(oldOid) && { from: { mode: oldMode, oid: oldOid } }),
        ...(!isNone(oid) && { to: { mode, oid } }),
      });
      facts = undefined;
    }
    yield pairs;
  }
}

function isNone(oid: string): boolean {
  return /^0*$/.test(oid);
}
