import { createHash } from 'node:crypto';
import { relPathAt } from '../../protocol/names.ts';
import type { TimeAndChance } from '../time-and-chance.ts';

/** What makes the outcome of a piece of work the same each time it is done. */
export interface Marks {
  /** Of the outbox entry; a ULID where it is made. */
  id: string;
  /** ISO 8601 UTC. */
  at: string;
  /** From a CSPRNG; the suffixes of its messages come from it. */
  seed: string;
}

/** Marks of work that begins now. */
export function newMarks({
  newId,
  now,
  secret,
}: Pick<TimeAndChance, 'newId' | 'now' | 'secret'>): Marks {
  return { id: newId(), at: now().toISOString(), seed: secret(16) };
}

/** The suffix of one of the messages of a `send`: as random as its seed, and the same each time. */
export function suffixOf(seed: string, serial: number): string {
  return createHash('sha256')
    .update(`${seed}/${String(serial)}`)
    .digest('hex')
    .slice(0, 12);
}

/** Where the first message of a `send` will stand in its channel. */
export function firstPath({ at, seed }: Marks): string {
  return relPathAt(new Date(at), suffixOf(seed, 0));
}
