import { access } from 'node:fs/promises';
import { dirname } from 'node:path';
import { CrosstalkError } from '../../errors.ts';
import { makeFolder } from '../../folder.ts';
import { makeKey, sign } from '../../state/keys/ssh-keygen.ts';
import type { Context } from '../context.ts';
import { resolveFrom } from '../lookup/resolve.ts';
import { signingKeyOf } from '../sending/signing.ts';
import { knownKey, pathOf, publicKeyAt, type KnownKey } from './key-file.ts';

/** The key with which this clone signs what its operator writes. */
export interface OwnKey {
  path: string;
  key: KnownKey;
}

/** Beside the other ssh keys, where sandboxes of agent CLIs hide it too. */
const USUAL = '~/.ssh/crosstalk_ed25519';

/**
 * The key of this clone; undefined where none is set.
 *
 * @throws CrosstalkError `refused` when its public key cannot be read
 */
export async function ownKey(context: Context): Promise<OwnKey | undefined> {
  if ((context.transport.defaults.signingKey ?? '') === '') return undefined;
  const path = signingKeyOf(context);
  return { path, key: await publicOf(context, path) };
}

/** Signs with the key at the usual place, if there is one that can sign without being asked. */
export async function useUsualKey(context: Context): Promise<OwnKey | undefined> {
  const path = pathOf(context, USUAL);
  const isThere = (await publicKeyAt(context, path).catch(() => undefined)) !== undefined;
  return isThere ? useKey(context, path) : undefined;
}

/**
 * Makes a key of type ed25519, without a passphrase, and signs with it from now on.
 *
 * @param given where; by default beside the other ssh keys
 * @throws CrosstalkError `refused` when the file exists, or cannot be written
 */
export async function createKey(context: Context, given: string, login: string): Promise<OwnKey> {
  const path = pathOf(context, given === '' ? USUAL : given);
  const isThere = await access(path).then(
    () => true,
    () => false,
  );
  if (isThere)
    throw new CrosstalkError(
      'refused',
      `${path} exists; sign with that key by: crosstalk key use ${path}`,
    );
  await makeFolder(dirname(path), 0o700);
  const name = resolveFrom(context, undefined, login);
  const made = await makeKey(path, `${name}@${context.hostname} (crosstalk)`, context.env);
  if (!made.ok) throw new CrosstalkError('refused', `no key was made in ${path}: ${made.why}`);
  return useKey(context, path);
}

/**
 * Signs with a key from now on, in this clone, once it has signed something on trial.
 *
 * @param given a private key, or a public one whose private key the agent has
 * @throws CrosstalkError `refused` when it cannot sign
 */
export async function useKey(context: Context, given: string): Promise<OwnKey> {
  const path = pathOf(context, given);
  const tried = await sign(path, 'crosstalk key use\n', context.env);
  if (!tried.ok)
    throw new CrosstalkError(
      'refused',
      `cannot sign with ${path}: ${tried.why}; give a key with a passphrase to your agent with: ssh-add ${path}`,
    );
  const own = { path, key: await publicOf(context, path) };
  await context.transport.configure('crosstalk.signingKey', path);
  return own;
}

async function publicOf(context: Context, path: string): Promise<KnownKey> {
  const key = await publicKeyAt(context, path);
  if (key !== undefined) return knownKey(context, key);
  throw new CrosstalkError(
    'refused',
    `the public key of ${path} cannot be read; put it beside it as ${path}.pub, or name another with: crosstalk key use <file>`,
  );
}
