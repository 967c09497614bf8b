import type { HostReport } from '../protocol/files/host-report.ts';

/** Another machine, as the bell tells of it; anybody who reaches the bell may say it in its place. */
export interface WebMachine {
  alias: string;
  /** Whether it was heard as lately as a machine at work is. */
  live: boolean;
  /** Seconds since it was heard; null when it never was. */
  heard_s: number | null;
  version: string | null;
  /** The actors at work there, one for each run. */
  running: string[];
  /** How many tiers there hold their mail back. */
  held: number;
}

/** A host of the transport, by its own word. */
export interface WebHostWord {
  alias: string;
  this_machine: boolean;
  /** Seconds since its last word, of any kind; null when none of the recent ones is its. */
  heard_s: number | null;
  /** Seconds since it said how it is; null when it has not. */
  said_s: number | null;
  said: HostReport | null;
}
