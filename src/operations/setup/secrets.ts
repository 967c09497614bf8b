import { CrosstalkError } from '../../errors.ts';
import { isName } from '../../protocol/names.ts';
import { didYouMean } from '../../protocol/text/nearest.ts';
import { shown } from '../../protocol/text/result.ts';
import { Secrets } from '../../state/automation/secrets.ts';
import type { Context } from '../context.ts';

/** Bytes of a secret: a key of any kind has room. */
const MOST = 64 * 1024;

export function secretsOf({ paths }: Context): Secrets {
  return new Secrets(paths.root);
}

/**
 * Keeps a secret on this machine; one of that name is replaced.
 *
 * @param value as it was typed or piped in; one line break at its end is no part of it
 * @throws CrosstalkError `usage`, without the value
 */
export async function setSecret(context: Context, name: string, value: string): Promise<void> {
  assertName(name);
  const secret = value.replace(/\r?\n$/, '');
  const size = Buffer.byteLength(secret);
  if (size === 0)
    throw new CrosstalkError('usage', `the value of ${name} is empty; pipe it in, or type it`);
  if (size > MOST)
    throw new CrosstalkError(
      'usage',
      `the value of ${name} has ${String(size)} bytes, expected at most ${String(MOST)}`,
    );
  await secretsOf(context).set(name, secret);
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
