import type { BigIntStats } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { CrosstalkError } from '../../errors.ts';
import { checkAlternates, checkConfig, isPlain, smallText } from './clone-file.ts';
import { createHash } from 'node:crypto';
import { redact } from '../git/failure.ts';
import { Git } from '../git/git.ts';
import { withoutTrailing } from '../../protocol/text/quoted.ts';

/** The parts of an operator's clone of a transport, which are found without asking git. */
export interface Clone {
  /** Absolute path of the work tree, symlinks resolved. */
  dir: string;
  /** The git directory of this work tree: HEAD, index, unfinished operations. */
  gitDir: string;
  /** The git directory that linked work trees share: configuration, branches, objects. */
  commonDir: string;
  objectsDir: string;
}

/**
 * Finds the clone that a folder belongs to. No git runs for it: git would read the configuration of the
 * clone, which a run may have written (trust.md §1).
 *
 * @throws CrosstalkError `not_found` when the folder is in no git repository, `git_failed` when something
 *   other than a plain file is in the place of a file that names the parts
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
  // A linked work tree has a file that names its git directory.
  const named = /^gitdir: (.*)$/m.exec(await smallText(plain))?.[1]?.trim() ?? '';
  if (named === '') return undefined;
  const gitDir = resolve(dir, named);
  return (await isGitDir(gitDir)) ? gitDir : undefined;
}

async function cloneAt(dir: string, gitDir: string): Promise<Clone> {
  const common = (await smallText(join(gitDir, 'commondir'))).trim();
  const commonDir = common === '' ? gitDir : resolve(gitDir, common);
  return { dir, gitDir, commonDir, objectsDir: join(commonDir, 'objects') };
}

function isGitDir(path: string): Promise<boolean> {
  return isPlain(join(path, 'HEAD'));
}

/**
 * Returns a stamp that changes whenever the configuration of a clone is written; it cannot be set back by
 * hand.
 *
 * @throws CrosstalkError `git_failed` when git could not read the clone without waiting for ever
 */
export async function configStamp({ gitDir, commonDir, objectsDir }: Clone): Promise<string> {
  const paths = [join(commonDir, 'config'), join(gitDir, 'config.worktree')];
  const [stamps] = await Promise.all([
    Promise.all(paths.map((path) => fileStamp(path, checkConfig))),
    checkAlternates(objectsDir),
  ]);
  return stamps.join(' ');
}

/**
 * Returns a stamp that changes whenever a file is written or replaced; `-` without a file.
 *
 * @param check receives the file's status, and throws when the file must not be used
 */
export async function fileStamp(
  path: string,
  check?: (path: string, found: BigIntStats) => void,
): Promise<string> {
  const found = await stat(path, { bigint: true }).catch(() => undefined);
  if (found === undefined) return '-';
  check?.(path, found);
  return `${String(found.ino)}:${String(found.size)}:${String(found.ctimeNs)}`;
}

/**
 * Returns the first name of a transport's state (protocol.md §1): from the origin's URL without
 * credentials, or from the repository's path without an origin. Later its name is the id that the clone
 * keeps (trust.md §2).
 */
export function transportId(repository: { origin?: string; dir: string }): string {
  const source =
    repository.origin === undefined ? repository.dir : plainUrl(repository.origin, repository.dir);
  const stem =
    withoutTrailing(source, /\//)
      .replace(/\.git$/, '')
      .split(/[/:]/)
      .at(-1) ?? '';
  const label = stem
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
    .slice(0, 40);
  const digest = createHash('sha256').update(source).digest('hex').slice(0, 12);
  return `${label === '' ? 'transport' : label}-${digest}`;
}

/**
 * Returns the names that the state of a clone without an id may have: by its remote, and by the name from
 * before it had a remote.
 */
export async function stateNames(clone: Clone, environment: NodeJS.ProcessEnv): Promise<string[]> {
  // Git would read the configuration without checking what kind of file it is, so it is checked first.
  await configStamp(clone);
  const asked = await new Git(clone.dir, environment).run(
    ['config', '--get', 'remote.origin.url'],
    { env: { GIT_DIR: clone.gitDir } },
  );
  const origin = asked.stdout.toString('utf8').trim();
  const solo = transportId({ dir: clone.dir });
  return origin === '' ? [solo] : [transportId({ dir: clone.dir, origin }), solo];
}

function plainUrl(url: string, dir: string): string {
  const plain = withoutTrailing(redact(url), /\//).replace(/\.git$/, '');
  return /^\w+:\/\//.test(plain) || /^[^/]+:/.test(plain) ? plain : join(resolve(dir, plain));
}
