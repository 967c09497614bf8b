import { usdOf } from '../../protocol/files/tier-budgets.ts';
import { commandLine } from '../command-line.ts';
import { plainCall } from './plain-call.ts';

/** No amount is less than this one, which the option of a CLI can still say. */
const LEAST_USD = 0.0001;

/** The option by which an agent CLI itself is told what it may use, or nothing. */
export function capOf(command: string, rest: number | undefined): string {
  const option = plainCall(command)?.format.cap;
  if (option === undefined || rest === undefined || command.includes(option)) return '';
  return ` ${option} ${Math.max(LEAST_USD, Math.floor(rest * 1e4 + 1e-6) / 1e4).toFixed(4)}`;
}

/** The US dollars that a command lets its CLI use at most; Infinity where it does not say so plainly and once. */
export function ownCapOf(command: string): number {
  const option = plainCall(command)?.format.cap;
  const args = commandLine(command).start?.args.map(({ value }) => value) ?? [];
  if (option === undefined || command.split(option).length !== 2) return Infinity;
  return usdOf(args[args.indexOf(option) + 1]) ?? Infinity;
}
