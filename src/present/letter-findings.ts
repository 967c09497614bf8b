import type { WebDeadLetter } from '../api/api.ts';
import { act, wait, type Finding } from './finding.ts';

type Letter = Pick<WebDeadLetter, 'state' | 'reason'>;

/** Findings about dead letters: their kinds, how they are counted, and the remedy. */
const LETTERS: {
  has: (letter: Letter) => boolean;
  says: string;
  see: string;
  command?: string;
  ends?: true;
}[] = [
  {
    has: ({ state }) => state === 'quarantined',
    says: 'quarantined deliveries',
    see: 'see them with: crosstalk dlq, try again with: crosstalk dlq --retry all',
    command: 'crosstalk dlq --retry all',
  },
  {
    has: isParkedFor('missing_secret'),
    says: 'parked deliveries whose tools lack a secret',
    see: 'see which with: crosstalk dlq, and once this machine keeps it, let them run with: crosstalk dlq --retry <id>',
  },
  {
    has: isParkedFor('no_planning'),
    says: 'parked deliveries whose tier has a gate, and no command that plans',
    see: 'see them with: crosstalk dlq',
  },
  {
    has: isParkedFor('no_sandbox'),
    says: 'parked deliveries whose sandbox cannot be made',
    see: 'see why with: crosstalk dlq, and then let them run with: crosstalk dlq --retry <id>',
  },
  {
    has: ({ state }) => state === 'parked',
    says: 'parked deliveries of threads that are too deep',
    see: 'look for a loop with: crosstalk dlq, let them run with: crosstalk dlq --retry <id>',
  },
  {
    has: ({ state }) => state === 'retrying',
    says: 'failed deliveries that are retried by themselves',
    see: 'see why with: crosstalk dlq',
    ends: true,
  },
];

function isParkedFor(wanted: Letter['reason']): (letter: Letter) => boolean {
  return ({ state, reason }) => state === 'parked' && reason === wanted;
}

/** Returns a finding for each kind of mail that could not be handled. */
export function letterFindings(letters: readonly Letter[]): Finding[] {
  const kinds = letters.map((letter) => LETTERS.find(({ has }) => has(letter)));
  return LETTERS.flatMap((kind) => {
    const count = kinds.filter((one) => one === kind).length;
    const problem = `${kind.says}: ${String(count)}; ${kind.see}`;
    return count === 0
      ? []
      : [(kind.ends === true ? wait : act)(problem, kind.command ?? 'crosstalk dlq')];
  });
}
