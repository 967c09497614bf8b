import { readFile, realpath, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { CrosstalkError } from '../errors.ts';

/** Where an operator's clone of a transport keeps its parts; found without asking git. */
export interface Clone {
  /** Absolute path of the work tree, symlinks resolved. */
  dir: string;
  /** The git directory of this work tree: HEAD, index, what is under way. */
  gitDir: string;
  /** The git directory that linked work trees share: configuration, branches, objects. */
  commonDir: string;
  objectsDir: string;
}

/**
 * Finds the clone that a folder belongs to. No git runs for it: git would read the configuration of
 * the clone, which a run may have written (trust.md §1).
 *
 * @throws CrosstalkError `not_found` when the folder is in no git repository
 */
export async function findClone(folder: string): Promise<Clone> {
  const start = await realpath(resolve(folder)).catch(() => resolve(folder));
  for (let dir = start; ; dir = dirname(dir)) {
    const gitDir = await gitDirIn(dir);
    if (gitDir !== undefined) return cloneAt(dir, gitDir);
    if (dirname(dir) === dir) break;
  }
  // A bare repository is a transport too.
  if (await isGitDir(start)) return cloneAt(start, start);
  throw new CrosstalkError(
    'not_found',
    `no transport at ${folder}: not a git repository; make one with: crosstalk init ${folder}`,
  );
}

async function gitDirIn(dir: string): Promise<string | undefined> {
  const plain = join(dir, '.git');
  if (await isGitDir(plain)) return plain;
  // A linked work tree has a file that says where.
  const named = /^gitdir: (.*)$/m.exec(await textOf(plain))?.[1]?.trim() ?? '';
  if (named === '') return undefined;
  const gitDir = resolve(dir, named);
  return (await isGitDir(gitDir)) ? gitDir : undefined;
}

async function cloneAt(dir: string, gitDir: string): Promise<Clone> {
  const common = (await textOf(join(gitDir, 'commondir'))).trim();
  const commonDir = common === '' ? gitDir : resolve(gitDir, common);
  return { dir, gitDir, commonDir, objectsDir: join(commonDir, 'objects') };
}

async function isGitDir(path: string): Promise<boolean> {
  return stat(join(path, 'HEAD')).then(
    (head) => head.isFile(),
    () => false,
  );
}

/** What changes whenever the configuration of a clone is written; it cannot be set back by hand. */
export async function configStamp({ gitDir, commonDir }: Clone): Promise<string> {
  const paths = [join(commonDir, 'config'), join(gitDir, 'config.worktree')];
  return (await Promise.all(paths.map(fileStamp))).join(' ');
}

/** What changes whenever a file is written or replaced; `-` while there is none. */
export function fileStamp(path: string): Promise<string> {
  return stat(path, { bigint: true }).then(
    ({ ino, size, ctimeNs }) => `${String(ino)}:${String(size)}:${String(ctimeNs)}`,
    () => '-',
  );
}

function textOf(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '');
}
