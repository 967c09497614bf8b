import { armored, placeSigned, publicKeyIn, signedIn, signerOf } from '../../protocol/signed.ts';
import { loadPins } from '../../state/keys/pins.ts';
import { CrosstalkError } from '../../errors.ts';
import { shown } from '../../protocol/text/result.ts';
import type { Context } from '../context.ts';
import { findFile, shownMessage } from '../reading/read.ts';
import { knownKey, type KnownKey } from './key-file.ts';

/** What is known of who wrote a message, with all that somebody else needs to verify it. */
export interface Examined {
  channel: string;
  relPath: string;
  from: string;
  /** Null where no key of that name is pinned here, so that nobody can say. */
  verified: boolean | null;
  /** The fingerprint of the key by which it says it was signed; null where it carries no signature. */
  signed_by: string | null;
  /** For `ssh-keygen -Y verify`: the exact text that is signed, and the signature. */
  payload?: string;
  signature?: string;
}

/**
 * Looks at the signature of one message.
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

/** Null for a signature of no key, or for another purpose. */
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
 * The key that a message says it was signed with, which nobody has vouched for.
 *
 * @param name who must have written the message
 * @returns undefined where no message is meant
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

/** The type of a key is the first string in it. */
function typeOf(key: string): string {
  const bytes = Buffer.from(key, 'base64');
  return bytes.length < 4 ? '' : bytes.subarray(4, 4 + bytes.readUInt32BE(0)).toString('latin1');
}
