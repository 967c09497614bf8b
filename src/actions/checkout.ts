import { readlink, symlink } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { CrosstalkError, hasCode, reasonOf } from '../errors.ts';
import type { Context } from './context.ts';
import { projectsAround } from './locate.ts';

/**
 * Makes a symlink to the checkout of the bus, wherever that is.
 *
 * @throws CrosstalkError `refused` when the path exists, or a repository's git would see the link
 */
export async function linkCheckout(
  { transport, cwd, env, checkout }: Context,
  given: string,
): Promise<{ dir: string; clone: string }> {
  const dir = resolve(cwd, given);
  const { dir: clone } = transport;
  const [around] = projectsAround(env, dirname(dir));
  if (around !== undefined)
    throw new CrosstalkError(
      'refused',
      `${dir} lies in the repository ${around.top}, whose git would see it; name a folder outside: crosstalk checkout <dir>`,
    );
  const isThere = (await readlink(dir).catch(() => undefined)) === clone;
  try {
    if (!isThere) await symlink(clone, dir, 'dir');
  } catch (error) {
    const why = hasCode(error, 'EEXIST') ? 'something is there' : reasonOf(error);
    throw new CrosstalkError('refused', `cannot make ${dir}: ${why}; name another folder`);
  }
  await checkout.follow();
  return { dir, clone };
}
