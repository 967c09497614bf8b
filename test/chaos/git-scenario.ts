import type { Ran } from '../support/command.ts';
import type { FaultyMachine } from './faulty-machine.ts';

/** A command that is tried with each of its git calls failing. */
export interface Scenario {
  name: string;
  /** What is so before; what it gives is handed to the others. */
  prepare: (machine: FaultyMachine) => Promise<string>;
  run: (machine: FaultyMachine, given: string) => Promise<Ran>;
  /** What is wrong afterwards, beside what may never be so. */
  check: (machine: FaultyMachine, ran: Ran, given: string) => Promise<string[]>;
  /** Calls that may take an hour by design: that they hang is not tried. */
  patient?: RegExp;
  /** What it ends with when all calls go well; 0 unless something is wrong beside. */
  code?: number;
}

export const BODY = 'what is it';

/** Each claim that is not so. */
export function unless(claims: Record<string, boolean>): string[] {
  return Object.entries(claims).flatMap(([claim, holds]) => (holds ? [] : [claim]));
}

/** The question was sent as often as it was said to be, and was answered as often. */
export async function deliveredOnce(machine: FaultyMachine, isSent = true): Promise<string[]> {
  const problems = await machine.settle();
  const wanted = isSent ? 1 : 0;
  const counts = [machine.count('operator', BODY), machine.count('worker', 'answered')];
  return [
    ...problems,
    ...unless({
      [`sent ${String(counts[0])} times, not ${String(wanted)}`]: counts[0] === wanted,
      [`answered ${String(counts[1])} times, not ${String(wanted)}`]: counts[1] === wanted,
      [`${String(machine.runs)} runs, not ${String(wanted)}`]: machine.runs === wanted,
    }),
  ];
}
