import { createHash, randomBytes } from 'node:crypto';
import { ulid } from 'ulid';
import { relPathAt } from '../../protocol/names.ts';

/** The values that make the outcome of a piece of work reproducible. */
export interface Marks {
  /** Of the outbox entry; a newly created one is a ULID. */
  id: string;
  /** As ISO 8601 in UTC. */
  at: string;
  /** From a CSPRNG; the suffixes of the messages are derived from it. */
  seed: string;
}

/** Marks for work that begins now. */
export function newMarks(now = new Date()): Marks {
  return { id: ulid(), at: now.toISOString(), seed: randomBytes(16).toString('hex') };
}

/** The suffix of one message of a `send`: as random as the seed, and the same each time. */
export function suffixOf(seed: string, serial: number): string {
  return createHash('sha256')
    .update(`${seed}/${String(serial)}`)
    .digest('hex')
    .slice(0, 12);
}

/** The relPath of the first message of a `send` in its channel. */
export function firstPath({ at, seed }: Marks): string {
  return relPathAt(new Date(at), suffixOf(seed, 0));
}
