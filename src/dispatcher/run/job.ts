import type { Outcome } from '../../runner/outcome.ts';
import type { InvocationResult } from '../../runner/invoke.ts';
import type { Tier } from '../../protocol/files/host-file.ts';
import type { Refusal } from '../../agents/refusal.ts';
import type { Placed } from '../../protocol/reply.ts';
import type { Runs } from '../../state/runs.ts';
import type { Transport } from '../../transport/transport.ts';
import type { Archive } from '../../bus/archive.ts';
import type { ChannelLinks } from '../../bus/channel-links.ts';
import type { Crossings } from '../../bus/crossings.ts';
import type { DeskParts } from './desk.ts';
import type { WorkplaceParts } from './workplace.ts';

/** One activation: a batch of messages for one run of one actor's CLI. */
export interface Job {
  /** The dispatch id, a ULID. */
  id: string;
  actor: string;
  host: string;
  channel: string;
  tier: Tier;
  /** The commit the batch is read at. */
  tip: string;
  messages: string[];
  /** An operator released it: the depth guard has spoken already. */
  released: boolean;
  /** All of it was dealt with, and may complete a goal now: nothing runs while somebody owes the rest. */
  isRest: boolean;
  /** All of it was dealt with while its question was gone: nothing runs when that is answered by now. */
  isDealt: boolean;
}

/**
 * How a job ended; `answers` are complete messages, one per asker, and where they go; `lacking` are
 * paths of messages that it had to do without; `absent` those of the batch that were not there at its tip.
 */
export type JobResult =
  | {
      kind: 'answered';
      answers: Placed[];
      result: InvocationResult;
      lacking: string[];
      absent?: string[];
    }
  | { kind: 'silent'; result: InvocationResult; lacking: string[]; absent?: string[] }
  | { kind: 'stopped' }
  | { kind: 'gone'; absent?: string[] }
  /** Content is missing from this clone, of messages of the batch or of what they answer: nothing ran. */
  | { kind: 'unread'; messages: string[] }
  | { kind: 'parked'; detail: string }
  /** The CLI may not work just now: no failure. */
  | { kind: 'refused'; refusal: Refusal; result: InvocationResult }
  | { kind: 'failed'; failure: Outcome & { kind: 'failed' }; result: InvocationResult };

export interface RunParts extends WorkplaceParts {
  transport: Transport;
  archive: Archive;
  links: ChannelLinks;
  crossings: Crossings;
  runs: Runs;
  desks: Omit<DeskParts, 'log'>;
  /** Holds a `crosstalk` executable; comes first on the CLI's PATH. */
  binDir: string;
  signal: AbortSignal;
  /** The IANA time zone of this machine. */
  zone: string;
  /** So many bytes that nobody can guess, in hex digits. */
  secret: (bytes: number) => string;
}
