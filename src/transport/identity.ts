import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { redact } from './failure.ts';
import { withoutTrailing } from '../protocol/trailing.ts';

/**
 * The id of a transport, which names its folder of machine-local state (protocol.md §1): from
 * the origin's URL without credentials, or from the repository's path when there is no origin.
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

function plainUrl(url: string, dir: string): string {
  const plain = withoutTrailing(redact(url), /\//).replace(/\.git$/, '');
  return /^\w+:\/\//.test(plain) || /^[^/]+:/.test(plain) ? plain : join(resolve(dir, plain));
}

/**
 * The likely id of the transport at `dir`, without asking git: good enough to look for its
 * dispatcher, which says itself whether it is the right one. Git alone knows all the places where
 * an origin can be configured.
 */
export async function guessTransportId(dir: string): Promise<string> {
  const config = await readFile(join(dir, '.git', 'config'), 'utf8').catch(() => '');
  const section = /^\[remote "origin"\]\s*$([^[]*)/m.exec(config)?.[1] ?? '';
  const origin = /^[ \t]*url[ \t]*=(.*)$/m.exec(section)?.[1]?.trim();
  return transportId({ dir, ...(origin !== undefined && { origin }) });
}
