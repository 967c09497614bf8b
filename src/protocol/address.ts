import { isName, isSender } from './layout.ts';
import { parsed, shown, unreadable, type Parsed } from './text/result.ts';

/**
 * An addressee: a name or a sender’s name, or everybody (`all`), either one optionally limited to
 * one host (protocol.md §7).
 */
export interface Address {
  name: string;
  host?: string;
}

export const EVERYONE = 'all';

/** Parses `name` or `name@host`. */
export function parseAddress(text: string): Parsed<Address> {
  const [name = '', host, ...rest] = text.split('@');
  if (!isSender(name) || rest.length > 0 || (host !== undefined && !isName(host))) {
    return unreadable(addressProblem(text));
  }
  return parsed(host === undefined ? { name } : { name, host });
}

function addressProblem(text: string): string {
  return `${shown(text)} is not an address: expected name or name@host`;
}

/** Formats an address as `name` or `name@host`. */
export function formatAddress(address: Address): string {
  return address.host === undefined ? address.name : `${address.name}@${address.host}`;
}

/** Effect of a list of addressees for one actor on one host. */
export type Reach = 'addressed' | 'other_host' | 'not_addressed';

/**
 * Determines whether `to` reaches `actor` on `host` (protocol.md §7). `other_host` means that only an `@host`
 * for another machine kept it away, which the dispatcher logs.
 */
export function reach(to: readonly Address[], from: string, actor: string, host: string): Reach {
  let result: Reach = 'not_addressed';
  for (const address of to) {
    const named = address.name === actor || (address.name === EVERYONE && actor !== from);
    if (!named) continue;
    if (address.host === undefined || address.host === host) return 'addressed';
    result = 'other_host';
  }
  return result;
}

/**
 * Parses a comma-separated list of addressees; duplicates count once.
 *
 * @param inAnswer whether the sender of an answered message may be named as in its header, which
 *   need not be a valid name
 */
export function parseRecipients(
  text: string,
  inAnswer = false,
): { to: Address[]; problems: string[] } {
  const to: Address[] = [];
  const problems: string[] = [];
  for (const part of new Set(text.split(',').map((item) => item.trim()))) {
    const address = parseAddress(part);
    if (address.ok && (inAnswer || isName(address.value.name))) to.push(address.value);
    else problems.push(addressProblem(part));
  }
  return { to, problems };
}
