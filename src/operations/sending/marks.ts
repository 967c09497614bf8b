import { createHash } from 'node:crypto';

/** The suffix of one of the messages of a `send`: as random as its seed, and the same each time. */
export function suffixOf(seed: string, serial: number): string {
  return createHash('sha256')
    .update(`${seed}/${String(serial)}`)
    .digest('hex')
    .slice(0, 12);
}
