import { access } from 'node:fs/promises';
import { dirname } from 'node:path';
import { CrosstalkError } from '../../errors.ts';
import { EVERYONE } from '../../protocol/address.ts';
import { isName } from '../../protocol/layout.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { shown } from '../../protocol/text/result.ts';
import { changePins, loadPins, type Pin } from '../../state/keys/pins.ts';
import type { Context } from '../context.ts';
import { assertPerson } from '../person.ts';
import { knownActors } from '../setup/actors.ts';
import { keyOfMessage, namedKey, knownKey, pathOf, publicKeyAt, type KnownKey } from './examine.ts';
import { resolveFrom } from '../lookup/resolve.ts';
import { makeFolder } from '../../folder.ts';
import { makeKey, sign } from '../../state/keys/ssh-keygen.ts';
import { signingKeyOf } from '../sending/signing.ts';

/** A key that may be pinned, for the user to confirm. */
export interface Proposed {
  pin: Pin;
  /** Fingerprints that are already pinned for the name. */
  others: string[];
  /** Whether the key was taken from a message, which anyone who can push may have written. */
  isClaimed: boolean;
}

/** Whether a text may mean a message: its path, or the beginning of its id. */
function isReference(given: string): boolean {
  return /^[0-9a-f]{6,16}$/.test(given) || /^[\w/-]*\d{4}\/\d\d\/\d\d\/[\w-]+\.md$/.test(given);
}

/** Maximum number of keys on one machine. */
const MOST_PINS = 1000;
/** Maximum characters of a comment that are stored. */
const MAX_COMMENT = 100;

/** Returns the keys that are pinned on this machine, by name. */
export async function pinned({ paths }: Context): Promise<Pin[]> {
  return (await loadPins(paths.pins)).sort((a, b) => (a.name < b.name ? -1 : 1));
}

/**
 * Returns the key that would be pinned.
 *
 * @param given the public key, a file with it, or a message that the key has signed
 * @throws CrosstalkError `usage` for an invalid name or key, `refused` for a file of the transport
 */
export async function proposePin(context: Context, name: string, given: string): Promise<Proposed> {
  if (!isName(name) || name === EVERYONE)
    throw new CrosstalkError('usage', `${shown(name)} is not a name that somebody writes under`);
  const claimed = isReference(given) ? await keyOfMessage(context, given, name) : undefined;
  const { type, key, comment, fingerprint } = claimed ?? (await namedKey(context, given));
  const pins = await loadPins(context.paths.pins);
  const served = (await knownActors(context)).some(
    (actor) => actor.name === name && actor.hosts.length > 0,
  );
  if (served)
    context.note(
      `${name} is an actor: runs sign nothing, so that everything ${name} writes is shown as unverified`,
    );
  const said = escapeInvisible(comment).slice(0, MAX_COMMENT);
  const at = context.now().toISOString();
  return {
    pin: { name, key: `${type} ${key}`, fingerprint, comment: said, at },
    others: pins.filter((pin) => pin.name === name).map((pin) => pin.fingerprint),
    isClaimed: claimed !== undefined,
  };
}

/** Pins a key; a key that is already pinned stays unchanged. */
export async function pin(context: Context, added: Pin): Promise<void> {
  await assertPerson(context);
  await changePins(context.paths.pins, (pins) => {
    if (pins.length >= MOST_PINS)
      throw new CrosstalkError(
        'refused',
        `${String(pins.length)} keys are pinned, and more are not kept; remove some with: crosstalk key unpin <name>`,
      );
    const isThere = pins.some(({ name, key }) => name === added.name && key === added.key);
    return isThere ? pins : [...pins, added];
  });
}

/**
 * Signs with the operator's own key from now on, the one at the usual place if there is one, and pins it.
 *
 * @returns the name, and the key
 */
export async function signAndPin(
  context: Context,
  login: string,
): Promise<{ name: string; path: string; fingerprint: string }> {
  const { path } = (await useUsualKey(context)) ?? (await createKey(context, '', login));
  const name = resolveFrom(context, undefined, login);
  const { pin: own } = await proposePin(context, name, path);
  await pin(context, own);
  return { name, path, fingerprint: own.fingerprint };
}

/**
 * Removes the keys of a name, or one of them.
 *
 * @param fingerprint fingerprint of that one
 * @returns the keys that were removed
 * @throws CrosstalkError `not_found` when there is no such key
 */
export async function unpin(context: Context, name: string, fingerprint?: string): Promise<Pin[]> {
  let gone: Pin[] = [];
  await changePins(context.paths.pins, (pins) => {
    gone = pins.filter(
      (one) => one.name === name && (fingerprint ?? one.fingerprint) === one.fingerprint,
    );
    return pins.filter((one) => !gone.includes(one));
  });
  if (gone.length > 0) return gone;
  throw new CrosstalkError(
    'not_found',
    `no such key of ${shown(name)} is pinned here; see those that are with: crosstalk key list`,
  );
}

/** Returns the ids of the dead letters that were refused because no key of a name was pinned. */
export async function turnedAway({ deadLetters }: Context, name: string): Promise<string[]> {
  const all = await deadLetters.all();
  return all.flatMap(({ id, reason, detail }) =>
    reason === 'not_accepted' && detail.includes(`crosstalk key pin ${name} `) ? [id] : [],
  );
}

/** Key with which this clone signs its operator's messages. */
export interface OwnKey {
  path: string;
  key: KnownKey;
}

/** Next to the other ssh keys, where sandboxes of agent CLIs hide it too. */
export const USUAL_KEY = '~/.ssh/crosstalk_ed25519';

/**
 * Returns the key of this clone; undefined when none is set.
 *
 * @throws CrosstalkError `refused` when its public key cannot be read
 */
export async function ownKey(context: Context): Promise<OwnKey | undefined> {
  if ((context.transport.defaults.signingKey ?? '') === '') return undefined;
  const path = signingKeyOf(context);
  return { path, key: await publicOf(context, path) };
}

/** Signs with the key at the usual place, if there is one that can sign without a prompt. */
async function useUsualKey(context: Context): Promise<OwnKey | undefined> {
  const path = pathOf(context, USUAL_KEY);
  const isThere = (await publicKeyAt(context, path).catch(() => undefined)) !== undefined;
  return isThere ? useKey(context, path) : undefined;
}

/**
 * Creates a key of type ed25519, without a passphrase, and signs with it from now on.
 *
 * @param given path of the key; by default next to the other ssh keys
 * @throws CrosstalkError `refused` when the file exists, or cannot be written
 */
export async function createKey(context: Context, given: string, login: string): Promise<OwnKey> {
  const path = pathOf(context, given === '' ? USUAL_KEY : given);
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
 * Signs with a key from now on, in this clone, after a trial signature.
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
