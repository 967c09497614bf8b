import type { Spread } from './measure.ts';

/** One line of the table. Times in milliseconds. */
export interface Figure {
  figure: string;
  /** What it is compared to, measured in the same run. */
  floor?: { what: string } & Spread;
  measured?: Spread;
  /** For figures that are not a time: the value with its unit. */
  value?: string;
  ratio?: number;
  goal: string;
  met: boolean;
  /** For the plot of how cost grows: which line, and at how many messages. */
  at?: { line: string; messages: number };
  /** What else was seen. */
  note?: string;
}

/** A time against its floor. */
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

/** Adds up floors that happen one after another. */
export function together(what: string, ...parts: Spread[]): { what: string } & Spread {
  return {
    what,
    median: parts.reduce((sum, { median }) => sum + median, 0),
    p95: parts.reduce((sum, { p95 }) => sum + p95, 0),
    runs: Math.min(...parts.map(({ runs }) => runs)),
  };
}

/** How much is measured. */
export interface Scale {
  rounds: number;
  /** Messages in the transports that are compared, ascending. */
  sizes: readonly number[];
  /** Seconds that an idle dispatcher is watched. */
  idle: number;
  sends: number;
  /** Pages that look on at the same time, and for how many seconds. */
  streams: number;
  streaming: number;
}
