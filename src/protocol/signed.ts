import type { MessageRef } from './layout.ts';

/**
 * Signature of a message (docs/decisions/16-signatures.md): made and verified by `ssh-keygen -Y`, over the whole file but its own
 * line, together with the place of the file and the identity of its transport. So it covers recipients,
 * links, options and body exactly as they are in the file, and verifying requires no canonical form.
 */

/** Namespace of `ssh-keygen -Y`, which is the purpose of a signature; one made for another purpose does not count. */
export const NAMESPACE = 'crosstalk';

/** First line of the signed text: its last word is the version of this form. */
const FIRST_LINE = 'crosstalk signed message 2';
/** Most characters of a signature in a header; one of RSA with 16384 bits has some 5600. */
const MAX_SIG = 8192;
const SIG = /^[A-Za-z0-9+/]+={0,2}$/;
const SIG_KEY = 'sig: ';
/** The line that closes the header, with the line break before it; crosstalk signs no header with other line ends. */
const END = '\n---\n';

/** Whether a value can be the signature of a message: base64 on one line, of bounded length. */
export function isSignature(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_SIG && SIG.test(value);
}

/** A message's file, split into signed text and signature. */
export interface Signed {
  /** The text that is signed, for a file at its place. */
  payload: string;
  /** The signature in base64, without the lines that `ssh-keygen` puts around it. */
  sig: string;
}

/** Pattern of an identity: an id, and the place of the repository. */
const IDENTITY = /^([0-9A-Za-z]{16,64}) ([\x21-\x7e]{1,2000})\n?$/;

/** Parses the identity in a transport's file: an id, and the place of the repository; undefined for anything else. */
export function identityIn(text: string): { id: string; whole: string } | undefined {
  const [, id, place] = IDENTITY.exec(text) ?? [];
  return id === undefined ? undefined : { id, whole: `${id} ${place ?? ''}` };
}

/** Returns the place of a message: its transport's identity, and `<channel id>/<relPath>`, each on a line. */
export function placeSigned(identity: string, { channel, relPath }: MessageRef): string {
  return `${identity}\n${channel}/${relPath}`;
}

/**
 * Returns the text that is signed for a file without a signature.
 *
 * @param place as {@link placeSigned} returns it
 * @param text the whole file
 */
export function payloadOf(place: string, text: string): string {
  return `${FIRST_LINE}\n${place}\n${text}`;
}

/**
 * Splits the signature from a file. It counts only as the last line of the header: then there is one place for it, and
 * nobody can change the meaning of a header by moving it.
 *
 * @param place as for {@link payloadOf}
 * @returns undefined when the file has no signature
 */
export function signedIn(place: string, text: string): Signed | undefined {
  const end = text.indexOf(END);
  const start = text.lastIndexOf('\n', end - 1) + 1;
  if (end < 0 || start === 0 || !text.startsWith(SIG_KEY, start)) return undefined;
  const sig = text.slice(start + SIG_KEY.length, end);
  if (!isSignature(sig)) return undefined;
  return { payload: payloadOf(place, text.slice(0, start) + text.slice(end + 1)), sig };
}

/**
 * Returns the file with a signature over its {@link payloadOf}.
 *
 * @param text as `formatMessage` writes it
 */
export function withSignature(text: string, sig: string): string {
  const end = text.indexOf(END) + 1;
  return `${text.slice(0, end)}${SIG_KEY}${sig}\n${text.slice(end)}`;
}

const OPENS = '-----BEGIN SSH SIGNATURE-----';
const CLOSES = '-----END SSH SIGNATURE-----';

/** Extracts the signature from the output of `ssh-keygen -Y sign`; undefined if there is none. */
export function signatureIn(armored: string): string | undefined {
  const [, inner = ''] = armored.split(OPENS);
  const sig = (inner.split(CLOSES)[0] ?? '').replace(/\s/g, '');
  return isSignature(sig) ? sig : undefined;
}

/** Formats a signature for `ssh-keygen -Y verify`. */
export function armored(sig: string): string {
  return `${OPENS}\n${(sig.match(/.{1,70}/g) ?? []).join('\n')}\n${CLOSES}\n`;
}

/**
 * Returns the public key that a signature claims, in base64. Nothing is verified by this; it avoids verifying
 * signatures of keys that nobody pinned, and those made for another purpose.
 */
export function signerOf(sig: string): string | undefined {
  const bytes = Buffer.from(sig, 'base64');
  if (bytes.toString('latin1', 0, 6) !== 'SSHSIG') return undefined;
  // PROTOCOL.sshsig: a version, then strings, each after its length.
  const key = stringAt(bytes, 10);
  const namespace = key && stringAt(bytes, 14 + key.length);
  return namespace?.toString('latin1') === NAMESPACE ? key?.toString('base64') : undefined;
}

function stringAt(bytes: Buffer, at: number): Buffer | undefined {
  if (at + 4 > bytes.length) return undefined;
  const end = at + 4 + bytes.readUInt32BE(at);
  return end > bytes.length ? undefined : bytes.subarray(at + 4, end);
}

/** A line of an OpenSSH public key. */
export interface PublicKey {
  /** Such as `ssh-ed25519`. */
  type: string;
  /** The key in base64. */
  key: string;
  comment: string;
}

/** Most characters of a public key; one of RSA with 16384 bits has some 2800. */
const MAX_KEY = 8192;
const KEY_TYPE = /^(?:sk-)?(?:ssh|ecdsa)-[a-z0-9@.-]{1,60}$/;

/**
 * Parses an OpenSSH public key: one line, without options before it. Certificates are refused: their trust
 * depends on the signer, and not on the key.
 */
export function publicKeyIn(text: string): PublicKey | undefined {
  const line = text.trim();
  if (line.length > MAX_KEY || /[\r\n]/.test(line)) return undefined;
  const [type = '', base64 = '', ...comment] = line.split(/[ \t]+/);
  if (!KEY_TYPE.test(type) || type.includes('-cert-') || !SIG.test(base64)) return undefined;
  const bytes = Buffer.from(base64, 'base64');
  if (stringAt(bytes, 0)?.toString('latin1') !== type) return undefined;
  return { type, key: bytes.toString('base64'), comment: comment.join(' ') };
}
