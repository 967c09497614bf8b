import { readFile, realpath, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { CrosstalkError } from '../errors.ts';
import { remoteLimits, type RemoteLimits } from './forges.ts';
import type { Git } from './git.ts';

/** What git's configuration says about a transport, read with one call. */
export interface Repository {
  git: Git;
  /** Absolute path of the work tree. */
  dir: string;
  gitDir: string;
  /** Where objects may be written by ourselves; absent in a repository with rules of its own. */
  objectsDir?: string;
  /** URL of `origin`; absent in solo mode. */
  origin?: string;
  /** `user.name` and `user.email`, or the stated default. */
  committer: { name: string; email: string };
  /** `crosstalk.from`, the default sender. */
  from?: string;
  /** Objects may be missing here and are fetched when they are read. */
  partial?: boolean;
  /** `crosstalk.window`: how many days of messages the checkout shows. */
  window?: string;
  /** What the remote should be asked for at most. */
  limits?: RemoteLimits;
  /** `crosstalk.branch`, set by init and join. */
  branch?: string;
}

export const DEFAULT_COMMITTER = { name: 'crosstalk', email: 'crosstalk@crosstalk.local' };

/** Opens the repository git runs in; says so clearly when there is none. */
export async function openRepository(
  git: Git,
  environment: NodeJS.ProcessEnv,
): Promise<Repository> {
  const [gitDir, config] = await Promise.all([
    findGitDir(git),
    git.run(['config', '--list', '-z']),
  ]);
  const settings = parseConfig(config.ok ? config.stdout.toString('utf8') : '');
  git.useBatchSsh(settings.has('core.sshcommand'));
  const origin = settings.get('remote.origin.url');
  const from = settings.get('crosstalk.from');
  const branch = settings.get('crosstalk.branch');
  const window = settings.get('crosstalk.window');
  const limits = remoteLimits(origin, settings);
  return {
    git,
    dir: await realpath(resolve(git.dir)),
    gitDir,
    ...(settings.has('core.sharedrepository') ? {} : { objectsDir: await objectsDirOf(gitDir) }),
    committer: committerOf(settings, environment),
    ...(origin === undefined ? {} : { origin }),
    ...(from === undefined ? {} : { from }),
    ...(branch === undefined ? {} : { branch }),
    ...(window === undefined ? {} : { window }),
    ...(settings.get('remote.origin.promisor') === 'true' ? { partial: true } : {}),
    ...(limits === undefined ? {} : { limits }),
  };
}

/** Where git keeps this repository; asked of git only when it is not the plain `.git` folder. */
async function findGitDir(git: Git): Promise<string> {
  const plain = join(await realpath(git.dir).catch(() => git.dir), '.git');
  const isRepository = await stat(join(plain, 'HEAD')).then(
    (head) => head.isFile(),
    () => false,
  );
  if (isRepository) return plain;
  const where = await git.run(['rev-parse', '--absolute-git-dir']);
  if (where.ok) return where.stdout.toString('utf8').trim();
  const reason =
    where.failure.kind === 'not_started' ? where.failure.reason : 'not a git repository';
  throw new CrosstalkError(
    'not_found',
    `no transport at ${git.dir}: ${reason}; make one with: crosstalk init ${git.dir}`,
  );
}

/** A linked work tree names the repository that has the objects. */
export async function objectsDirOf(gitDir: string): Promise<string> {
  const common = await readFile(join(gitDir, 'commondir'), 'utf8').catch(() => '.');
  return join(resolve(gitDir, common.trim()), 'objects');
}

function parseConfig(text: string): Map<string, string> {
  return new Map(
    text.split('\0').map((line) => {
      const at = line.indexOf('\n');
      return at < 0 ? [line, 'true'] : [line.slice(0, at), line.slice(at + 1)];
    }),
  );
}

function committerOf(
  settings: Map<string, string>,
  environment: NodeJS.ProcessEnv,
): { name: string; email: string } {
  const name = environment['GIT_COMMITTER_NAME'] ?? settings.get('user.name');
  const email = environment['GIT_COMMITTER_EMAIL'] ?? settings.get('user.email');
  const clean = (text: string | undefined): string =>
    (text ?? '').replace(/[<>\p{C}]/gu, '').trim();
  return {
    name: clean(name) || DEFAULT_COMMITTER.name,
    email: clean(email) || DEFAULT_COMMITTER.email,
  };
}

/** When this clone's configuration was changed last, in milliseconds; 0 when it cannot be told. */
export async function configChanged(repository: Repository): Promise<number> {
  return stat(join(repository.gitDir, 'config')).then(
    ({ mtimeMs }) => mtimeMs,
    () => 0,
  );
}
