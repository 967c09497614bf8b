import { randomUUID } from 'node:crypto';
import { ulid } from 'ulid';
import type { Clock } from '../clock.ts';
import { randomOfSystem } from '../random.ts';

/** Characters of a ULID that are drawn, each by one number from 0 to 1. */
const ULID_CHARACTERS = 16;

/** The clock and the random numbers of this machine, which are made here and nowhere else. */
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

/** The clock of a command: what its surroundings give it, else that of this machine. */
export function clockOf({ clock = REAL }: { clock?: Clock }): Clock {
  return clock;
}
