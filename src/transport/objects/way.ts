import { CrosstalkError } from '../../errors.ts';
import { FOLDER, parseTree } from './tree-object.ts';

/** What is read of a folder; its content is left out where it is too large to be kept in memory. */
type Read = (name: string) => Promise<{ oid: string; content: Buffer | undefined } | undefined>;

/**
 * The folder on the way to a path that is in its parent and cannot be read, because it is damaged or missing
 * in the clone; undefined when the path really leads nowhere.
 *
 * @param read one object by a name without a path
 * @param name `<commit>:<path>`
 */
export async function unreadFolder(read: Read, name: string): Promise<string | undefined> {
  const colon = name.indexOf(':');
  const commit = name.slice(0, colon);
  let folder = await read(`${commit}^{tree}`);
  if (folder === undefined)
    return (await read(commit)) === undefined ? undefined : `${commit}^{tree}`;
  for (const part of name.slice(colon + 1).split('/')) {
    // One that is too large to be kept in memory was looked through by git.
    if (folder.content === undefined) return undefined;
    const entries = parseTree(folder.content, folder.oid.length / 2);
    const entry = entries.get(Buffer.from(part, 'utf8').toString('latin1'));
    if (entry?.mode !== FOLDER) return undefined;
    const inner = await read(entry.oid);
    if (inner === undefined) return entry.oid;
    folder = inner;
  }
  return undefined;
}

/** What is said of a folder that has to be there. */
export function unreadable(dir: string, folder: string): CrosstalkError {
  return new CrosstalkError(
    'git_failed',
    `the folder ${folder} cannot be read in ${dir}; if crosstalk sync does not bring it again, check the repository with: git -C ${dir} fsck`,
  );
}

/** What is said when git ends without an answer. */
export function broken(dir: string, why: string): CrosstalkError {
  return new CrosstalkError(
    'git_failed',
    `git cat-file did not answer in ${dir}: ${why || 'no reason given'}; nothing is lost, try again`,
  );
}
