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
