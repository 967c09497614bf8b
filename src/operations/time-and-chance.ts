import { randomUUID } from 'node:crypto';
import { ulid } from 'ulid';
import { randomOfSystem } from '../random.ts';

/** Time and chance: an argument of whatever needs them, so that a test or a simulation gives its own. */
export interface TimeAndChance {
  now: () => Date;
  /** From 0 to 1. */
  random: () => number;
  /** A ULID. */
  newId: () => string;
  /** The id of a channel. */
  uuid: () => string;
  /** Of the name of a message, in hex digits. */
  suffix: () => string;
  /** So many bytes that nobody can guess, in hex digits. */
  secret: (bytes: number) => string;
}

/** Characters of a ULID that are drawn, each by one number from 0 to 1. */
const ULID_CHARACTERS = 16;

/** Those of this machine, which are made here and nowhere else. */
const REAL: TimeAndChance = {
  now: () => new Date(),
  random: Math.random,
  newId: () => {
    const bytes = randomOfSystem(ULID_CHARACTERS).values();
    return ulid(undefined, () => (bytes.next().value ?? 0) / 256);
  },
  uuid: () => randomUUID(),
  suffix: () => randomOfSystem(6).toString('hex'),
  secret: (bytes) => randomOfSystem(bytes).toString('hex'),
};

/** What a command goes by: what its surroundings give it, else what this machine has. */
export function timeAndChanceOf({
  timeAndChance = REAL,
}: {
  timeAndChance?: TimeAndChance;
}): TimeAndChance {
  return timeAndChance;
}
