import { randomUUID } from 'node:crypto';
import { ulid } from 'ulid';
import type { Clock } from '../clock.ts';
import { randomOfSystem } from '../random.ts';

/** Number of random characters in a ULID, each from one number from 0 to 1. */
const ULID_CHARACTERS = 16;

/** The clock and the random numbers of this machine, which are created only here. */
const REAL: Clock = {
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

/** Returns the clock of a command: that of its surroundings, else that of this machine. */
export function clockOf({ clock = REAL }: { clock?: Clock }): Clock {
  return clock;
}
