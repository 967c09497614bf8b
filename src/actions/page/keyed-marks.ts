import { createHash } from 'node:crypto';
import { decodeTime, encodeTime } from 'ulid';
import { CrosstalkError } from '../../errors.ts';
import { shown } from '../../protocol/text/result.ts';
import type { WebSendRequest } from '../../api/api.ts';
import { newIdempotencyKey, type IdempotencyKey } from '../sending/handed.ts';
import type { Clock } from '../../clock.ts';

/** Milliseconds for which a request may be repeated; after that its message may have left the bus. */
const LONGEST_MS = 86_400_000;
/** Milliseconds by which the clock of a sender may be ahead. */
const AHEAD_MS = 60_000;
const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/i;
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/**
 * Returns the idempotency key of a message that is sent by a request. That of a request with a key follows from the
 * key, from its sender and from its content, so a repeated request makes the same message at the same path, which is recognised there,
 * and nothing has to be remembered. Another request with the same key is another message.
 *
 * @param key a ULID
 * @param from the sender: two people may give the same key
 * @throws CrosstalkError `usage` for any other key, `refused` for one from another day
 */
export function marksOf(
  context: Pick<Clock, 'newId' | 'now' | 'secret'>,
  key: string | undefined,
  from: string,
  request: WebSendRequest,
): IdempotencyKey {
  if (key === undefined || key === '') return newIdempotencyKey(context);
  if (!ULID.test(key))
    throw new CrosstalkError(
      'usage',
      `the Idempotency-Key is ${shown(key)}, expected a ULID, such as ${context.newId()}`,
    );
  const upper = key.toUpperCase();
  const time = decodeTime(upper);
  const age = context.now().getTime() - time;
  if (age > LONGEST_MS || age < -AHEAD_MS)
    throw new CrosstalkError(
      'refused',
      `the Idempotency-Key is of ${new Date(time).toISOString()}, and a request is known again for a day: look for the message, and send it with a new key if it is not there`,
    );
  const said = Object.entries(request).sort(([a], [b]) => (a < b ? -1 : 1));
  const digest = createHash('sha256')
    .update(JSON.stringify(['crosstalk web send', upper, from, said]))
    .digest();
  const chance = [...digest.subarray(16)].map((byte) => ALPHABET.charAt(byte % 32));
  return {
    id: encodeTime(time, 10) + chance.join(''),
    at: new Date(time).toISOString(),
    seed: digest.subarray(0, 16).toString('hex'),
  };
}
