import { armored, placeSigned, publicKeyIn, signedIn, signerOf } from '../../protocol/signed.ts';
import { loadPins } from '../../state/keys/pins.ts';
import type { Context } from '../context.ts';
import { findFile, shownMessage } from '../reading/read.ts';
import { knownKey } from './key-file.ts';

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
  const key = publicKeyIn(`${typeOf(signer)} ${signer}`);
  if (key === undefined) return null;
  return knownKey(context, key).then(
    ({ fingerprint }) => fingerprint,
    () => null,
  );
}

/** The type of a key is the first string in it. */
function typeOf(key: string): string {
  const bytes = Buffer.from(key, 'base64');
  return bytes.length < 4 ? '' : bytes.subarray(4, 4 + bytes.readUInt32BE(0)).toString('latin1');
}
