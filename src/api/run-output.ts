import type { Time } from './time.ts';

/** Something that a run of this machine printed or did. */
export interface WebRunLine {
  /** Counted from 1; what is missing is missing there too. */
  n: number;
  at: Time;
  /**
   * `out`, `err`: a piece of what its command printed on stdout and stderr. Of CLIs that print JSON `says`:
   * what the model said; `tool`: what was called, in one line; `used`: what it has used so far; `fails`: why
   * something failed. `gap`: something is left out here. `end`: how it ended.
   */
  kind: 'out' | 'err' | 'says' | 'fails' | 'tool' | 'used' | 'gap' | 'end';
  /** Without control sequences. */
  text?: string;
  /** Tokens, and US dollars where the CLI states them. */
  usage?: { input: number; cached: number; output: number; usd?: number };
  /** How much is left out, if that is known. */
  bytes?: number;
  ended?: string;
  /** The code of a failure. */
  reason?: string;
}

/** `GET /api/runs/{id}/output`: what a run of this machine printed. */
export interface WebRunOutput {
  id: string;
  /** Whether it still goes on. */
  running: boolean;
  lines: WebRunLine[];
  /** The number of the last line; given as `after`, it leads to what comes then. */
  last: number;
}
