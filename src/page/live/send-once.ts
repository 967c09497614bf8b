import type { WebSendRequest, WebSent } from '../../api/api.ts';
import { ApiError, post } from './api.ts';
import type { Shelf } from './drafts.ts';

/** Functions of the page that a send needs. */
export interface Ways {
  shelf: Shelf;
  /** Returns the time of the server, in milliseconds. */
  now: () => number;
  /** Connects anew, because there is reason to doubt the connection; resolves when it is open. */
  connected: () => Promise<void>;
}

/** Milliseconds before a request is repeated; doubled each time. */
const AGAIN_MS = 1000;
const LONGEST_AGAIN_MS = 15_000;

/**
 * Sends a message once, however often the request has to be repeated: until the server has stated the outcome, each
 * attempt has the same key, by which the server recognizes it. The key outlives this page, as the draft does.
 *
 * @param channel whose draft this is
 * @param options `unsure` receives once the reason why it is not known whether the message was sent, before the
 * request is repeated; after `stop` it is not repeated
 * @throws ApiError when the server refuses, or with status 0 after `stop`
 */
export async function sendOnce(
  ways: Ways,
  channel: string,
  request: WebSendRequest,
  { unsure, stop }: { unsure: (error: ApiError) => void; stop: AbortSignal },
): Promise<WebSent> {
  const key = keyFor(ways.shelf, channel, request, ways.now());
  for (let wait = 0; ; wait = Math.min(LONGEST_AGAIN_MS, 2 * wait || AGAIN_MS)) {
    try {
      const sent = await post<WebSent>('send', request, { 'idempotency-key': key });
      dropKey(ways.shelf, channel, key);
      return sent;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (isFinal(error)) dropKey(ways.shelf, channel, key);
      if (error.status !== 0) throw wait > 0 && !isFinal(error) ? error.unsure() : error;
      if (wait === 0) unsure(error);
      await new Promise((resolve) => setTimeout(resolve, wait));
      await ways.connected();
      if (stop.aborted) throw error;
    }
  }
}

/** Whether the server has refused this very request, so that it was not sent. */
function isFinal({ status }: ApiError): boolean {
  return [400, 404, 405, 409, 413, 415, 422].includes(status);
}

const DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

const shelfKey = (channel: string): string => `crosstalk-sending-${channel}`;

/**
 * Returns the key of a request that sends: the same one for as long as the outcome of the request is not known, also
 * after the page was loaded again, and a new one for any other request.
 *
 * @param now in milliseconds, by the server's clock
 */
function keyFor(shelf: Shelf, channel: string, request: WebSendRequest, now: number): string {
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

/** Forgets a key, when the outcome of its request is known. */
function dropKey(shelf: Shelf, channel: string, key: string): void {
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

/** Returns a ULID: the time, and 80 bits that nobody guesses. */
function newKey(now: number): string {
  const time = Array.from({ length: 10 }, (_, at) => Math.floor(now / 32 ** (9 - at)) % 32);
  const random = [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte % 32);
  return [...time, ...random].map((digit) => DIGITS.charAt(digit)).join('');
}
