import type { WebSendRequest } from '../../api/api.ts';
import type { Shelf } from './drafts.ts';

const DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

const shelfKey = (channel: string): string => `crosstalk-sending-${channel}`;

/**
 * The key of a request that sends: the same one for as long as it is not known what became of the
 * request, also after the page was loaded again, and a new one for any other request.
 *
 * @param now in milliseconds, by the server's clock
 */
export function keyFor(
  shelf: Shelf,
  channel: string,
  request: WebSendRequest,
  now: number,
): string {
  const said = JSON.stringify(request);
  const kept = load(shelf, channel);
  if (kept?.said === said) return kept.key;
  const key = newKey(now);
  try {
    shelf.setItem(shelfKey(channel), JSON.stringify({ key, said }));
  } catch {
    // Without storage the key lasts as long as the page.
  }
  return key;
}

/** Forgets a key, when it is known what became of its request. */
export function dropKey(shelf: Shelf, channel: string, key: string): void {
  if (load(shelf, channel)?.key === key) shelf.removeItem(shelfKey(channel));
}

function load(shelf: Shelf, channel: string): { key: string; said: string } | undefined {
  try {
    const kept: unknown = JSON.parse(shelf.getItem(shelfKey(channel)) ?? 'null');
    if (typeof kept !== 'object' || kept === null) return undefined;
    const { key, said } = kept as Partial<Record<string, unknown>>;
    return typeof key === 'string' && typeof said === 'string' ? { key, said } : undefined;
  } catch {
    return undefined;
  }
}

/** A ULID: the time, and 80 bits that nobody guesses. */
function newKey(now: number): string {
  const time = Array.from({ length: 10 }, (_, at) => Math.floor(now / 32 ** (9 - at)) % 32);
  const random = [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte % 32);
  return [...time, ...random].map((digit) => DIGITS.charAt(digit)).join('');
}
