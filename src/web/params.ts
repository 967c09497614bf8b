import { CrosstalkError } from '../errors.ts';
import { isRelPath, isSender } from '../protocol/names.ts';
import { shown } from '../protocol/text/result.ts';
import { parseSince } from '../protocol/text/since.ts';
import type { WebSendRequest } from '../api/api.ts';
import type { PageInput } from '../operations/page/message-page.ts';

type Query = (name: string) => string | undefined;

/** `{key: value}` of a parameter, if it was given. */
export function given<K extends string>(query: Query, ...names: K[]): Partial<Record<K, string>> {
  const found: Partial<Record<K, string>> = {};
  for (const name of names) {
    const value = query(name);
    if (value !== undefined && value !== '') found[name] = value;
  }
  return found;
}

/** @throws CrosstalkError `usage` if it is missing */
export function required(query: Query, name: string): string {
  const value = query(name) ?? '';
  if (value.trim() !== '') return value;
  throw new CrosstalkError('usage', `the parameter ${name} is missing; add ?${name}=…`);
}

/** A whole number. @throws CrosstalkError `usage` for anything else */
export function count(
  query: Query,
  name: string,
  { least, most, otherwise }: { least: number; most: number; otherwise: number },
): number {
  const text = query(name) ?? '';
  const value = text === '' ? otherwise : Number(text);
  if (Number.isInteger(value) && value >= least && value <= most && /^\d*$/.test(text))
    return value;
  throw new CrosstalkError(
    'usage',
    `${name} is ${shown(text)}, expected a number from ${String(least)} to ${String(most)}`,
  );
}

/** A time in the format that browsers write. */
export function time(query: Query, name: string, otherwise: Date): Date {
  const text = query(name) ?? '';
  if (text === '') return otherwise;
  const at = new Date(text);
  if (/^\d{4}-\d{2}-\d{2}T/.test(text) && !Number.isNaN(at.getTime())) return at;
  throw new CrosstalkError(
    'usage',
    `${name} is ${shown(text)}, expected a time as 2026-06-09T19:00:00Z`,
  );
}

/** A time in any form that `--since` accepts. */
export function since(query: Query, now: Date): { since?: Date } {
  const text = query('since') ?? '';
  if (text === '') return {};
  const at = parseSince(text, now);
  if (at !== undefined) return { since: at };
  throw new CrosstalkError(
    'usage',
    `since is ${shown(text)}, expected a date or so long ago: 2026-06-09, 2h, 3d, today`,
  );
}

/** A name, such as the one whose unread messages are counted. */
export function name(query: Query, parameter: string, otherwise: string): string {
  const text = query(parameter) ?? '';
  if (text === '') return otherwise;
  if (isSender(text)) return text;
  throw new CrosstalkError('usage', `${parameter} is ${shown(text)}, expected a name`);
}

const AT_MOST = 2 ** 31 - 1;

/** The position of a page in a channel. */
export function place(query: Query): Pick<PageInput, 'place'> {
  const said = Object.keys(given(query, 'before', 'after', 'around', 'at'));
  if (said.length > 1) throw new CrosstalkError('usage', `give only one of ${said.join(', ')}`);
  const [which] = said;
  if (which === undefined) return {};
  if (which === 'at')
    return { place: { at: count(query, 'at', { least: 0, most: AT_MOST, otherwise: 0 }) } };
  const path = query(which);
  if (!isRelPath(path))
    throw new CrosstalkError(
      'usage',
      `${which} is ${shown(path)}, expected the path of a message: YYYY/MM/DD/HHMMSSmmmZ-<hex>.md`,
    );
  if (which === 'before') return { place: { before: path } };
  return which === 'after' ? { place: { after: path } } : { place: { around: path } };
}

/** The body of a request that sends a message. @throws CrosstalkError `usage` for an invalid one */
export function sendRequest(value: unknown): WebSendRequest {
  const fields = Object.entries(typeof value === 'object' && value !== null ? value : {});
  const known = new Set(['to', 'body', 'channel', 'from', 'tier', 're']);
  for (const [key, field] of fields) {
    if (!known.has(key))
      throw new CrosstalkError('usage', `${shown(key)} is none of ${[...known].join(', ')}`);
    if (typeof field !== 'string')
      throw new CrosstalkError('usage', `${key} is ${shown(field)}, expected text`);
  }
  const request = Object.fromEntries(fields) as Partial<Record<string, string>>;
  const { to = '', body = '' } = request;
  const rest = fields.filter(([key, field]) => key !== 'to' && key !== 'body' && field !== '');
  return { ...Object.fromEntries(rest), to, body };
}
