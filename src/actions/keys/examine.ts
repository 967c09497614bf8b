import { realpath } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve, sep } from 'node:path';
import {
  armored,
  placeSigned,
  publicKeyIn,
  signedIn,
  signerOf,
  type PublicKey,
} from '../../protocol/signed.ts';
import { loadPins } from '../../state/keys/pins.ts';
import { CrosstalkError } from '../../errors.ts';
import { shown } from '../../protocol/text/result.ts';
import type { Context } from '../context.ts';
import { findFile, shownMessage } from '../reading/read.ts';
import { readPlainFile } from '../../plain-file.ts';
import { fingerprint, publicKeyOf } from '../../state/keys/ssh-keygen.ts';

/** The verification of a message's writer, with everything that somebody else needs to verify it. */
export interface Examined {
  channel: string;
  relPath: string;
  from: string;
  /** Null when no key of that name is pinned here, so that it cannot be verified. */
  verified: boolean | null;
  /** Fingerprint of the key with which the message claims to be signed; null when it carries no signature. */
  signed_by: string | null;
  /** For `ssh-keygen -Y verify`: the exact text that is signed, and the signature. */
  payload?: string;
  signature?: string;
}

/**
 * Examines the signature of one message.
 *
 * @throws CrosstalkError as {@link shownMessage} does
 */
export async function examine(context: Context, given: string): Promise<Examined> {
  const read = await shownMessage(context, given);
  const ref = `${read.channel.id}/${read.relPath}`;
  const { bytes } = await findFile(context, ref);
  const place = { channel: read.channel.id, relPath: read.relPath };
  const identity = await context.transport.identity();
  const taken = signedIn(placeSigned(identity, place), bytes.toString('utf8'));
  const { from } = read.message;
  return {
    channel: read.channel.id,
    relPath: read.relPath,
    from,
    verified: read.verified ?? null,
    signed_by: taken === undefined ? null : await signerIn(context, taken.sig),
    ...(taken && { payload: taken.payload, signature: armored(taken.sig) }),
  };
}

/** Returns the fingerprint of a signature's key; null for a signature without a key, or for another purpose. */
async function signerIn(context: Context, sig: string): Promise<string | null> {
  const signer = signerOf(sig);
  if (signer === undefined) return null;
  const known = (await loadPins(context.paths.pins)).find(
    ({ key }) => publicKeyIn(key)?.key === signer,
  );
  if (known !== undefined) return known.fingerprint;
  return keyIn(context, signer).then(
    (key) => key?.fingerprint ?? null,
    () => null,
  );
}

async function keyIn(context: Context, signer: string): Promise<KnownKey | undefined> {
  const key = publicKeyIn(`${typeOf(signer)} ${signer}`);
  return key && knownKey(context, key);
}

/**
 * Returns the key with which a message claims to be signed, which nobody has vouched for.
 *
 * @param name the required writer of the message
 * @returns undefined when no message is meant
 * @throws CrosstalkError `refused` for a message of somebody else, or one without a signature
 */
export async function keyOfMessage(
  context: Context,
  given: string,
  name: string,
): Promise<KnownKey | undefined> {
  const found = await examine(context, given).catch((error: unknown) => {
    if (error instanceof CrosstalkError && error.code !== 'refused') return undefined;
    throw error;
  });
  if (found === undefined) return undefined;
  if (found.from !== name)
    throw new CrosstalkError(
      'refused',
      `${found.relPath} is from ${shown(found.from)}, not from ${shown(name)}; name a message of theirs`,
    );
  const { signature = '' } = found;
  const sig = signature.replace(/-----(?:BEGIN|END) SSH SIGNATURE-----|\s/g, '');
  const signer = sig === '' ? undefined : signerOf(sig);
  const key = signer === undefined ? undefined : await keyIn(context, signer);
  if (key !== undefined) return key;
  throw new CrosstalkError(
    'refused',
    `${found.relPath} carries no signature with a key that can be read; ask ${shown(name)} for their public key: crosstalk key`,
  );
}

/** Returns the type of a key: the first string in it. */
function typeOf(key: string): string {
  const bytes = Buffer.from(key, 'base64');
  return bytes.length < 4 ? '' : bytes.subarray(4, 4 + bytes.readUInt32BE(0)).toString('latin1');
}

/** A public key with its fingerprint, as `ssh-keygen -l` prints it. */
export interface KnownKey extends PublicKey {
  fingerprint: string;
}

/** Maximum bytes of a file with a key. */
const MAX_FILE = 64 * 1024;
const PRIVATE = /^-----BEGIN [A-Z ]*PRIVATE KEY-----/;

/** Resolves a path as a person writes it: `~/` is the home folder. */
export function pathOf({ env, cwd }: Pick<Context, 'env' | 'cwd'>, given: string): string {
  return given.startsWith('~/')
    ? join(env['HOME'] ?? homedir(), given.slice(2))
    : resolve(cwd, given);
}

/**
 * Returns the public key that the user names: the key itself, a file that contains it, or the private key
 * next to it.
 *
 * @throws CrosstalkError `usage` when there is no key; `refused` for a file of the transport, which
 *   anyone who can push can change
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

/** Reads the public key from a file with a public or a private one; undefined when there is none. */
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

/**
 * Returns a key with its fingerprint.
 *
 * @throws CrosstalkError `refused` when `ssh-keygen` does not accept the key
 */
export async function knownKey({ env }: Pick<Context, 'env'>, key: PublicKey): Promise<KnownKey> {
  const found = await fingerprint(`${key.type} ${key.key}`, env);
  if (found.ok) return { ...key, fingerprint: found.value };
  throw new CrosstalkError('refused', `the key cannot be used: ${found.why}`);
}
