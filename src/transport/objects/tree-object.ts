/** The object that a name in a tree refers to; the mode is as git writes it, `40000` for a folder. */
interface TreeObjectEntry {
  mode: string;
  oid: string;
}
/** Map from file names, their bytes as latin1 so that they are all preserved, to their objects. */
export type Tree = Map<string, TreeObjectEntry>;

/** The mode of a folder in a tree object, where git writes no leading zero. */
export const FOLDER = '40000';
/** The mode of a file. */
export const FILE = '100644';

/**
 * Parses a tree object: for each entry mode, space, name, NUL and the id as bytes.
 *
 * @throws Error for bytes that are not a tree; git accepts no such object
 */
export function parseTree(content: Buffer, idBytes: number): Tree {
  const tree: Tree = new Map();
  for (let at = 0; at < content.length;) {
    const space = content.indexOf(0x20, at);
    const end = space < 0 ? -1 : content.indexOf(0, space);
    const next = end + 1 + idBytes;
    if (end < 0 || next > content.length)
      throw new Error('a tree object is damaged; look at the repository with: git fsck');
    tree.set(content.toString('latin1', space + 1, end), {
      mode: content.toString('latin1', at, space),
      oid: content.toString('hex', end + 1, next),
    });
    at = next;
  }
  return tree;
}

/** Formats a tree object. Git sorts a tree by bytes, a folder as if its name ended in a slash. */
export function formatTree(tree: Tree): Buffer {
  const sorted = [...tree].map(([name, entry]) => ({
    key: entry.mode === FOLDER ? `${name}/` : name,
    name,
    entry,
  }));
  // Latin1 strings compare like their bytes.
  sorted.sort((a, b) => (a.key < b.key ? -1 : 1));
  return Buffer.concat(
    sorted.flatMap(({ name, entry }) => [
      Buffer.from(`${entry.mode} ${name}\0`, 'latin1'),
      Buffer.from(entry.oid, 'hex'),
    ]),
  );
}
