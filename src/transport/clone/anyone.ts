import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Git } from '../git/git.ts';
import { accessOf } from './access.ts';

/** Seconds that a remote has to answer somebody without a login. */
const PATIENCE = '20';

/** The answer of a remote to somebody without a login. */
export type ForAnyone =
  | { kind: 'answers'; address: string }
  | { kind: 'refuses' }
  /** The remote could not be asked, so the answer is not known. */
  | { kind: 'unknown'; reason: string };

/**
 * Asks a remote for its branches without any credentials: as https where it is reached by ssh, since that
 * is where a forge answers everybody who may read. No key, password, helper or setting of the user has
 * any effect.
 *
 * @param url after git's own rewriting
 */
export async function askAsAnyone(url: string, environment: NodeJS.ProcessEnv): Promise<ForAnyone> {
  const address = openAddress(url);
  if (address === undefined) return { kind: 'refuses' };
  const scratch = await mkdtemp(join(tmpdir(), 'crosstalk-anyone-'));
  try {
    const git = new Git(scratch, {
      ...environment,
      HOME: scratch,
      XDG_CONFIG_HOME: scratch,
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CONFIG_COUNT: '0',
      GIT_ASKPASS: '',
      SSH_ASKPASS: '',
      GIT_CEILING_DIRECTORIES: tmpdir(),
      CROSSTALK_NETWORK_TIMEOUT: environment['CROSSTALK_NETWORK_TIMEOUT'] ?? PATIENCE,
    });
    const asked = await git.run(['ls-remote', '--quiet', '--', address, 'HEAD'], { network: true });
    if (asked.ok) return { kind: 'answers', address };
    const { kind, reason } = asked.failure;
    const isNo = kind === 'auth' || /\b40[134]\b|not found/i.test(reason);
    return isNo ? { kind: 'refuses' } : { kind: 'unknown', reason };
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** Returns the address by which everybody would read a remote; undefined for a path of this machine. */
function openAddress(url: string): string | undefined {
  const plain = accessOf(url, '/').url;
  if (/^(?:https?|git):\/\//i.test(plain)) return plain;
  const [, server = '', path = ''] =
    /^ssh:\/\/(?:[^@/]*@)?([^:/]+)(?::\d+)?\/(.*)$/i.exec(plain) ??
    /^(?:[^@/:]*@)?([^:/]+):(?!\/\/)\/?(.*)$/.exec(plain) ??
    [];
  return server === '' ? undefined : `https://${server}/${path}`;
}
