import { accountOf } from '../agents.ts';
import { commandLine } from '../command-line.ts';
import { OUTPUT_FORMATS, type OutputFormat } from './formats.ts';
import { usdOf } from '../../protocol/files/tier-options.ts';

/** A plain call of a known agent CLI whose usage can be read (trust.md §2). */
export interface PlainCall {
  agent: string;
  format: OutputFormat;
  /** The command that is run: the approved one, and the format's flags. */
  command: string;
}

/**
 * Recognizes a command line that starts a known agent CLI, once and without a terminal, and does not choose the form of
 * its output. Nothing is known of any other line, and nothing is added to it.
 *
 * @param command as the operator approved it
 */
export function plainCall(command: string): PlainCall | undefined {
  const { whole, start } = commandLine(command);
  if (!whole || start?.program.value === undefined || command.trimEnd().endsWith('\\'))
    return undefined;
  const format = Object.hasOwn(OUTPUT_FORMATS, start.name) ? OUTPUT_FORMATS[start.name] : undefined;
  if (format === undefined) return undefined;
  const words = start.args.map(({ text }) => text);
  const { headless, chosen, flags } = format;
  if (headless !== undefined && !words.some((word) => headless.test(word))) return undefined;
  if (words.some((word) => word === '--' || chosen.test(word))) return undefined;
  return { agent: start.name, format, command: `${command.trimEnd()} ${flags}` };
}

/** An explanation for an operator whether a command's usage is read (trust.md §2). */
export type OutputNote =
  | {
      /** The flags that are added when the command is run. */
      adds: string;
    }
  | {
      /** Reason why nothing is added, and what is therefore not known. */
      off: string;
    };

/**
 * Returns the explanation for a command.
 *
 * @returns undefined for a command of which nothing could be known anyway
 */
export function outputNote(command: string): OutputNote | undefined {
  const call = plainCall(command);
  if (call !== undefined) return { adds: call.format.flags };
  const name = accountOf(command)?.agent.name ?? '';
  return Object.hasOwn(OUTPUT_FORMATS, name)
    ? {
        off: `what its runs use is not known: this is no plain call of ${name} that leaves the form of its output open`,
      }
    : undefined;
}

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
