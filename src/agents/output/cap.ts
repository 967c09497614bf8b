import { usdOf } from '../../protocol/files/tier-budgets.ts';
import { commandLine } from '../command-line.ts';
import { plainCall } from './plain-call.ts';

/** Smallest amount that the option of a CLI can express, in US dollars. */
const LEAST_USD = 0.0001;

/** Returns the option that limits the cost of an agent CLI, or nothing. */
export function capOf(command: string, rest: number | undefined): string {
  const option = plainCall(command)?.format.cap;
  if (option === undefined || rest === undefined || command.includes(option)) return '';
  return ` ${option} ${Math.max(LEAST_USD, Math.floor(rest * 1e4 + 1e-6) / 1e4).toFixed(4)}`;
}

/** Returns the US dollars to which a command limits its CLI; Infinity unless it states one limit plainly. */
export function ownCapOf(command: string): number {
  const option = plainCall(command)?.format.cap;
  const args = commandLine(command).start?.args.map(({ value }) => value) ?? [];
  if (option === undefined || command.split(option).length !== 2) return Infinity;
  return usdOf(args[args.indexOf(option) + 1]) ?? Infinity;
}
