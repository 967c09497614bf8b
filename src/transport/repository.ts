import { createHash } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { CrosstalkError } from '../errors.ts';
import { Git } from './git.ts';
import { redact } from './failure.ts';

/** What git's configuration says about a transport, read with one call. */
export interface Repository {
  git: Git;
  /** Absolute path of the work tree. */
  dir: string;
  gitDir: string;
  /** URL of `origin`; absent in solo mode. */
  origin?: string;
  /** `user.name` and `user.email`, or the stated default. */
  committer: { name: string; email: string };
  /** `crosstalk.from`, the default sender. */
  from?: string;
  /** `crosstalk.branch`, set by init and join. */
  branch?: string;
}

export const DEFAULT_COMMITTER = { name: 'crosstalk', email: 'crosstalk@crosstalk.local' };

/** Opens the git repository at `dir`; says so clearly when there is none. */
export async function openRepository(
  dir: string,
  environment: NodeJS.ProcessEnv,
): Promise<Repository> {
  const git = new Git(dir, environment);
  const [where, config] = await Promise.all([
    git.run(['rev-parse', '--absolute-git-dir']),
    git.run(['config', '--list', '-z']),
  ]);
  if (!where.ok) {
    const reason =
      where.failure.kind === 'not_started' ? where.failure.reason : 'not a git repository';
    throw new CrosstalkError(
      'not_found',
      `no transport at ${dir}: ${reason}; make one with: crosstalk init ${dir}`,
    );
  }
  const settings = parseConfig(config.ok ? config.stdout.toString('utf8') : '');
  git.useBatchSsh(settings.has('core.sshcommand'));
  const origin = settings.get('remote.origin.url');
  const from = settings.get('crosstalk.from');
  const branch = settings.get('crosstalk.branch');
  return {
    git,
    dir: await realpath(resolve(dir)),
    gitDir: where.stdout.toString('utf8').trim(),
    committer: committerOf(settings, environment),
    ...(origin === undefined ? {} : { origin }),
    ...(from === undefined ? {} : { from }),
    ...(branch === undefined ? {} : { branch }),
  };
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

/**
 * The id of a transport, which names its folder of machine-local state (protocol.md §1): from
 * the origin's URL without credentials, or from the repository's path when there is no origin.
 */
export function transportId(repository: { origin?: string; dir: string }): string {
  const source =
    repository.origin === undefined ? repository.dir : plainUrl(repository.origin, repository.dir);
  const stem =
    source
      .replace(/\/+$/, '')
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

function plainUrl(url: string, dir: string): string {
  const plain = redact(url)
    .replace(/\/+$/, '')
    .replace(/\.git$/, '');
  return /^\w+:\/\//.test(plain) || /^[^/]+:/.test(plain) ? plain : join(resolve(dir, plain));
}
