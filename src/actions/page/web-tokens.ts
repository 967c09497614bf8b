import { createHash } from 'node:crypto';
import { CrosstalkError } from '../../errors.ts';
import { isName } from '../../protocol/layout.ts';
import { shown } from '../../protocol/text/result.ts';
import { RIGHTS, type Right, type WebToken, WebTokens } from '../../state/people/web-tokens.ts';
import type { Context } from '../context.ts';
import { servedBy } from '../lookup/people.ts';
import { assertPerson } from '../person.ts';

export { RIGHTS, type Right, type WebToken };

/** A token as it is listed, without anything that lets somebody in. */
export type ListedToken = Omit<WebToken, 'hash'> & { over: boolean };

const DAY_MS = 86_400_000;
const MOST_DAYS = 365;
/** Bytes of chance in a token, and of its id. */
const TOKEN_BYTES = 32;
const ID_BYTES = 4;

/**
 * Makes a token that lets one person into the page, under that name alone.
 *
 * @param input `rights`: separated by commas; `days`: whole days for which it counts
 * @returns the token, which is kept nowhere
 * @throws CrosstalkError `usage`, and `refused` for a run
 */
export async function addWebToken(
  context: Context,
  input: { name: string; rights: string; days: string },
): Promise<ListedToken & { token: string }> {
  await assertPerson(context);
  const { name } = input;
  if (!isName(name))
    throw new CrosstalkError(
      'usage',
      `--as is ${shown(name)}, expected a name: letters, digits, . _ -, at most 64`,
    );
  const { serving } = await servedBy(context);
  if (name === 'all' || serving.some(({ actors }) => actors.includes(name)))
    throw new CrosstalkError(
      'usage',
      `--as is ${shown(name)}, which is no person's name on this bus; choose one that no host serves`,
    );
  const rights = rightsIn(input.rights);
  const days = /^\d{1,3}$/.test(input.days) ? Number(input.days) : 0;
  if (days < 1 || days > MOST_DAYS)
    throw new CrosstalkError(
      'usage',
      `--days is ${shown(input.days)}, expected 1 to ${String(MOST_DAYS)}`,
    );
  const now = context.now();
  const id = context.secret(ID_BYTES);
  const token = `${id}.${context.secret(TOKEN_BYTES)}`;
  const until = new Date(now.getTime() + days * DAY_MS).toISOString();
  const hash = hashOf(cookieOf(token));
  const made = { id, name, rights, hash, made: now.toISOString(), until };
  await new WebTokens(context.paths.root).put(made);
  return { ...listed(made, now), token };
}

/** Lists the tokens of people, those that are over too. */
export async function listWebTokens(context: Context): Promise<ListedToken[]> {
  const now = context.now();
  const all = await new WebTokens(context.paths.root).all();
  return all.toSorted((a, b) => (a.made < b.made ? -1 : 1)).map((one) => listed(one, now));
}

/**
 * Revokes a token: pages that it let in are refused with their next request.
 *
 * @throws CrosstalkError `not_found`
 */
export async function removeWebToken(context: Context, id: string): Promise<ListedToken> {
  const tokens = new WebTokens(context.paths.root);
  const found = await tokens.get(id);
  if (found === undefined)
    throw new CrosstalkError(
      'not_found',
      `this machine has no token ${shown(id)}; list them with: crosstalk web token list`,
    );
  await tokens.remove(id);
  return listed(found, context.now());
}

/**
 * Finds the token of a person that a request shows.
 *
 * @param given `token`: from an address or a header; `cookie`: `<id>.<value>`, as {@link cookieOf} makes it
 * @returns undefined for one that is unknown, revoked or over
 */
export async function webTokenOf(
  context: Context,
  given: { token: string } | { cookie: string },
): Promise<WebToken | undefined> {
  const [id = ''] = ('token' in given ? given.token : given.cookie).split('.', 1);
  if (!/^[0-9a-f]{8}$/.test(id)) return undefined;
  const found = await new WebTokens(context.paths.root).get(id);
  if (found === undefined || found.until <= context.now().toISOString()) return undefined;
  const cookie = 'token' in given ? cookieOf(given.token) : given.cookie.slice(id.length + 1);
  // Of two hashes nobody learns by the time which of their first digits are right.
  return hashOf(cookie) === found.hash ? found : undefined;
}

/** Whether a token that has let somebody in still does. */
export async function isWebTokenValid(context: Context, id: string): Promise<boolean> {
  const found = await new WebTokens(context.paths.root).get(id);
  return found !== undefined && found.until > context.now().toISOString();
}

/** Returns the value of a cookie for a token, which does not reveal the token. */
export function cookieOf(token: string): string {
  return createHash('sha256').update(`crosstalk web cookie ${token}`).digest('base64url');
}

function hashOf(cookie: string): string {
  return createHash('sha256').update(cookie).digest('hex');
}

function rightsIn(text: string): Right[] {
  const given = text.split(',').map((one) => one.trim());
  const wrong = given.find((one) => !RIGHTS.some((right) => right === one));
  if (wrong !== undefined)
    throw new CrosstalkError(
      'usage',
      `--rights has ${shown(wrong)}, expected some of: ${RIGHTS.join(',')}`,
    );
  // Nothing can be done on a page that shows nothing.
  return RIGHTS.filter((right) => right === 'read' || given.includes(right));
}

function listed({ id, name, rights, made, until }: WebToken, now: Date): ListedToken {
  return { id, name, rights, made, until, over: until <= now.toISOString() };
}
