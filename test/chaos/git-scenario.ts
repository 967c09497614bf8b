import type { Ran } from '../support/command.ts';
import type { FaultyMachine } from './faulty-machine.ts';

/** A command that is tried with each of its git calls failing. */
export interface Scenario {
  name: string;
  /** Prepares the state; its result is passed to the other functions. */
  prepare: (machine: FaultyMachine) => Promise<string>;
  run: (machine: FaultyMachine, given: string) => Promise<Ran>;
  /** The problems afterwards, in addition to what may never be the case. */
  check: (machine: FaultyMachine, ran: Ran, given: string) => Promise<string[]>;
  /** Calls that may take an hour by design, so their hanging is not tested. */
  patient?: RegExp;
  /** The exit code when all calls succeed; 0 unless something else is wrong. */
  code?: number;
}

export const BODY = 'what is it';

/** The claims that do not hold. */
export function unless(claims: Record<string, boolean>): string[] {
  return Object.entries(claims).flatMap(([claim, holds]) => (holds ? [] : [claim]));
}

/** The question was sent as often as it was reported to be, and was answered as often. */
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
