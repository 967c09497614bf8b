import { CrosstalkError } from '../../errors.ts';
import { isName } from '../../protocol/layout.ts';
import { didYouMean } from '../../protocol/text/nearest.ts';
import { shown } from '../../protocol/text/result.ts';
import { MOST_SECRET, Secrets } from '../../state/automation/secrets.ts';
import type { Context } from '../context.ts';

export function secretsOf({ paths }: Context): Secrets {
  return new Secrets(paths.root);
}

/**
 * Stores a secret on this machine, replacing one of the same name.
 *
 * @param value as it was typed or piped in; one line break at its end is not part of it
 * @throws CrosstalkError `usage`, without the value
 */
export async function setSecret(context: Context, name: string, value: string): Promise<void> {
  assertName(name);
  const secret = value.replace(/\r?\n$/, '');
  const size = Buffer.byteLength(secret);
  if (size === 0)
    throw new CrosstalkError('usage', `the value of ${name} is empty; pipe it in, or type it`);
  if (secret.includes('\0'))
    throw new CrosstalkError(
      'usage',
      `the value of ${name} holds a NUL, which no variable and no header can hold; pipe in text`,
    );
  if (size > MOST_SECRET)
    throw new CrosstalkError(
      'usage',
      `the value of ${name} has ${String(size)} bytes, expected at most ${String(MOST_SECRET)}`,
    );
  await secretsOf(context).set(name, secret);
}

/** Adds the secrets of this machine to the screen, so that no message can contain them. */
export async function knowSecrets(context: Context): Promise<void> {
  const store = secretsOf(context);
  for (const name of await store.names()) {
    const value = await store.get(name);
    if (value !== undefined) context.screen.known.add(name, value);
  }
}

/** @throws CrosstalkError `not_found` */
export async function removeSecret(context: Context, name: string): Promise<void> {
  assertName(name);
  const store = secretsOf(context);
  if (await store.remove(name)) return;
  const near = didYouMean(name, await store.names());
  throw new CrosstalkError(
    'not_found',
    `no secret ${shown(name)} on this machine${near === '' ? '; see: crosstalk secret list' : near}`,
  );
}

function assertName(name: string): void {
  if (!isName(name))
    throw new CrosstalkError(
      'usage',
      `${shown(name)} is no name for a secret: use letters, digits and . _ -, at most 64`,
    );
}
