import { createHash } from 'node:crypto';
import { join, resolve } from 'node:path';
import { configStamp, type Clone } from './clone.ts';
import { redact } from '../git/failure.ts';
import { Git } from '../git/git.ts';
import { withoutTrailing } from '../../protocol/text/quoted.ts';

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
