import type { Spread } from './measure.ts';

/** One line of the table. Times are in milliseconds. */
export interface Figure {
  figure: string;
  /** The lower limit to which it is compared, measured in the same run. */
  floor?: { what: string } & Spread;
  measured?: Spread;
  /** For figures that are not a time: the value with its unit. */
  value?: string;
  ratio?: number;
  goal: string;
  met: boolean;
  /** For the plot of how the cost grows: the line, and the number of messages. */
  at?: { line: string; messages: number };
  /** Further observations. */
  note?: string;
}

/** Compares a time to its lower limit. */
export function against(
  figure: string,
  floor: { what: string } & Spread,
  measured: Spread,
  limit: number,
  note?: string,
): Figure {
  const ratio = measured.median / floor.median;
  return {
    figure,
    floor,
    measured,
    ratio,
    goal: `≤ ${String(limit)}×`,
    met: ratio <= limit,
    ...(note !== undefined && { note }),
  };
}

/** Adds up lower limits of steps that happen one after another. */
export function together(what: string, ...parts: Spread[]): { what: string } & Spread {
  return {
    what,
    median: parts.reduce((sum, { median }) => sum + median, 0),
    p95: parts.reduce((sum, { p95 }) => sum + p95, 0),
    runs: Math.min(...parts.map(({ runs }) => runs)),
  };
}

/** The amount of work that is measured. */
export interface Scale {
  rounds: number;
  /** The numbers of messages in the transports that are compared, ascending. */
  sizes: readonly number[];
  /** Seconds for which an idle dispatcher is watched. */
  idle: number;
  sends: number;
  /** How many deliveries wait, or were settled, beside a tick. */
  deliveries: number;
  /** The number of hosts of which a bell names three. */
  hosts: number;
  /** How many messages an idle machine has to find by its polls. */
  polls: number;
  /** The number of pages that follow at the same time, and for how many seconds. */
  streams: number;
  streaming: number;
}
