import { createHash } from 'node:crypto';
import { relPathAt } from '../../protocol/names.ts';
import type { Clock } from '../../clock.ts';

/** The values that make the outcome of a piece of work reproducible. */
export interface Marks {
  /** Id of the outbox entry; a newly created one is a ULID. */
  id: string;
  /** Time, ISO 8601 in UTC. */
  at: string;
  /** Seed from a CSPRNG, from which the suffixes of the messages are derived. */
  seed: string;
}

/** Creates the values for work that starts now. */
export function newMarks({ newId, now, secret }: Pick<Clock, 'newId' | 'now' | 'secret'>): Marks {
  return { id: newId(), at: now().toISOString(), seed: secret(16) };
}

/** Derives the suffix of one message of a `send`: as random as the seed, and reproducible. */
export function suffixOf(seed: string, serial: number): string {
  return createHash('sha256')
    .update(`${seed}/${String(serial)}`)
    .digest('hex')
    .slice(0, 12);
}

/** Returns the relPath of the first message of a `send` in its channel. */
export function firstPath({ at, seed }: Marks): string {
  return relPathAt(new Date(at), suffixOf(seed, 0));
}
