import { listPaths, listTree, readFolder, type TreeEntry } from './tree.ts';
import { Objects } from './objects.ts';
import { fieldsOf } from './stream.ts';
import type { Git } from '../git/git.ts';

/** A file of any size at a commit, or the reason why it cannot be read. */
export type FoundBlob = { path: string } & (
  | { kind: 'here'; oid: string; bytes: Buffer }
  /** Its size differs from the expected one, so nothing of it was read. */
  | { kind: 'other_size'; size: number }
  | { kind: 'absent' }
  /** The entry exists, but its bytes are not in this clone. */
  | { kind: 'missing' }
  | { kind: 'no_file' }
);

/**
 * Reads files whose size is known beforehand, one after the other: however small the compressed bytes of
 * a larger one are, none of it is unpacked.
 *
 * @param wanted by path, the expected number of bytes
 * @param prefetch fetches objects missing from a partial clone
 */
export async function* readBlobs(
  git: Git,
  objects: Objects,
  commit: string,
  wanted: ReadonlyMap<string, number>,
  prefetch: (oids: readonly string[]) => Promise<void>,
): AsyncGenerator<FoundBlob> {
  const entries = await entriesAt(git, objects, commit, [...wanted.keys()]);
  const files = [...entries.values()].filter(({ mode }) => mode.startsWith('100'));
  const oids = files.map(({ oid }) => oid);
  await prefetch(oids);
  const sizes = await sizesOf(git, oids);
  const reader = new Objects(git, Math.max(0, ...wanted.values()));
  try {
    for (const [path, expected] of wanted) {
      const entry = entries.get(path);
      const size = sizes.get(entry?.oid ?? '');
      if (entry === undefined) yield { path, kind: 'absent' };
      else if (!entry.mode.startsWith('100')) yield { path, kind: 'no_file' };
      else if (size === undefined) yield { path, kind: 'missing' };
      else if (size !== expected) yield { path, kind: 'other_size', size };
      else {
        const { content: bytes } = (await reader.read(entry.oid)) ?? {};
        yield bytes === undefined
          ? { path, kind: 'missing' }
          : { path, kind: 'here', oid: entry.oid, bytes };
      }
    }
  } finally {
    reader.close();
  }
}

/** Returns the entries at paths, read by their folders. */
export async function entriesAt(
  git: Git,
  objects: Objects,
  commit: string,
  paths: readonly string[],
): Promise<Map<string, TreeEntry>> {
  const wanted = new Set(paths);
  const found = new Map<string, TreeEntry>();
  for (const folder of new Set(paths.map((path) => path.slice(0, path.lastIndexOf('/'))))) {
    const inFolder = paths.filter((path) => path.startsWith(`${folder}/`));
    // Of a folder that is too large to be read, only these paths are requested.
    const entries =
      (await readFolder(objects, commit, folder)) ?? (await listPaths(git, commit, inFolder));
    for (const entry of entries) if (wanted.has(entry.path)) found.set(entry.path, entry);
  }
  return found;
}

/** The number and size of the files in folders of a folder. */
export interface Weight {
  files: number;
  /** Bytes; undefined in a partial clone, where the files would have to be fetched to be measured. */
  bytes?: number;
}

/**
 * Counts the files in the folders of a folder, and no deeper, since anyone who can push may nest any
 * number of folders.
 */
export async function weigh(
  git: Git,
  commit: string,
  folder: string,
  { isPartial }: { isPartial: boolean },
): Promise<Weight> {
  const inside = await listTree(git, commit, [folder]);
  const folders = inside.filter(({ type }) => type === 'tree').map(({ path }) => `${path}/`);
  const weight = { files: 0, bytes: 0 };
  const long = isPartial ? [] : ['--long'];
  for (let at = 0; at < folders.length; at += MANY_FOLDERS) {
    const some = folders.slice(at, at + MANY_FOLDERS);
    for await (const lines of fieldsOf(git, ['ls-tree', '-z', ...long, commit, ...some]))
      for (const line of lines) {
        const file = /^100\d{3} blob [0-9a-f]+(?: +(\d+))?\t/.exec(line);
        if (file === null) continue;
        weight.files++;
        weight.bytes += Number(file[1] ?? 0);
      }
  }
  return isPartial ? { files: weight.files } : weight;
}

/** Maximum number of folders given to one process. */
const MANY_FOLDERS = 256;

async function sizesOf(git: Git, oids: readonly string[]): Promise<Map<string, number>> {
  if (oids.length === 0) return new Map();
  const out = await git.must(
    ['cat-file', '--batch-check=%(objectname) %(objecttype) %(objectsize)'],
    {
      input: oids.map((oid) => `${oid}\n`).join(''),
    },
  );
  const lines = out.toString('latin1').matchAll(/^([0-9a-f]{40,64}) blob (\d+)$/gm);
  return new Map(Array.from(lines, ([, oid = '', size]) => [oid, Number(size)]));
}
