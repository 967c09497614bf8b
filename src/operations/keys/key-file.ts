import { realpath } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve, sep } from 'node:path';
import { CrosstalkError } from '../../errors.ts';
import { readPlainFile } from '../../plain-file.ts';
import { publicKeyIn, type PublicKey } from '../../protocol/signed.ts';
import { shown } from '../../protocol/text/result.ts';
import { fingerprint, publicKeyOf } from '../../state/keys/ssh-keygen.ts';
import type { Context } from '../context.ts';

/** A public key with its fingerprint, as `ssh-keygen -l` prints it. */
export interface KnownKey extends PublicKey {
  fingerprint: string;
}

/** Bytes of a file with a key. */
const MAX_FILE = 64 * 1024;
const PRIVATE = /^-----BEGIN [A-Z ]*PRIVATE KEY-----/;

/** A path as a person writes it: `~/` is the home folder. */
export function pathOf({ env, cwd }: Pick<Context, 'env' | 'cwd'>, given: string): string {
  return given.startsWith('~/')
    ? join(env['HOME'] ?? homedir(), given.slice(2))
    : resolve(cwd, given);
}

/**
 * The public key that somebody names: the key itself, or a file that has it, or the private key
 * beside which it lies.
 *
 * @throws CrosstalkError `usage` for what is none; `refused` for a file of the transport, which
 *   whoever can push can change
 */
export async function namedKey(context: Context, given: string): Promise<KnownKey> {
  const key = publicKeyIn(given);
  if (key !== undefined) return knownKey(context, key);
  const path = pathOf(context, given);
  const [real, dir] = await Promise.all(
    [path, context.transport.dir].map((one) => realpath(one).catch(() => one)),
  );
  if (dir !== undefined && real?.startsWith(`${dir}${sep}`) === true)
    throw new CrosstalkError(
      'refused',
      `${path} lies in the transport, where whoever can push can change it; get the key from its owner, and compare the fingerprint with them`,
    );
  const found = await publicKeyAt(context, path);
  if (found !== undefined) return knownKey(context, found);
  throw new CrosstalkError(
    'usage',
    `${shown(given)} is no ssh public key, and no file with one; expected a line such as: ssh-ed25519 AAAA... anna`,
  );
}

/** The public key of a file with a public or a private one; undefined where there is none. */
export async function publicKeyAt(
  { env }: Pick<Context, 'env'>,
  path: string,
): Promise<PublicKey | undefined> {
  const file = await readPlainFile(path, MAX_FILE);
  if (file.kind !== 'text') return undefined;
  if (!PRIVATE.test(file.text)) return publicKeyIn(file.text);
  const beside = await readPlainFile(`${path}.pub`, MAX_FILE);
  if (beside.kind === 'text') return publicKeyIn(beside.text);
  const made = await publicKeyOf(path, env);
  return made.ok ? publicKeyIn(made.value) : undefined;
}

/** @throws CrosstalkError `refused` when `ssh-keygen` does not take it for a key */
export async function knownKey({ env }: Pick<Context, 'env'>, key: PublicKey): Promise<KnownKey> {
  const found = await fingerprint(`${key.type} ${key.key}`, env);
  if (found.ok) return { ...key, fingerprint: found.value };
  throw new CrosstalkError('refused', `the key cannot be used: ${found.why}`);
}
