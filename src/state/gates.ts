import type { CountedDecision, IgnoredDecision } from '../protocol/decision/judge.ts';
import { Rows } from '../store/rows.ts';
import type { OutboxEntry } from './outbox-entry.ts';

/** A valid decision, with its text. */
interface GateDecision extends CountedDecision {
  note: string;
}

/**
 * A batch that waits for a decision on its plan, or whose plan was decided on (docs/decisions/15-gates.md). Stored under
 * these names; times are ISO 8601 UTC.
 */
export interface Gate {
  /** A ULID. */
  id: string;
  actor: string;
  channel: string;
  /** relPaths of the batch. */
  messages: string[];
  tier: string;
  /** The gate of the tier when the plan was made. */
  gate: string;
  /** The actor who decides. */
  approver: string;
  /** The commit at which the plan read the batch and its thread, and at which its run reads them. */
  tip: string;
  /** The message with the plan: its channel, its relPath, and the digest that a decision is bound to. */
  proposal: { channel: string; relPath: string; digest: string };
  plan: string;
  /** The questions that were open when it was made: once all are answered, no decision is needed. */
  open: string[];
  since: string;
  /** The messages that announce the plan, as they go into the outbox. */
  entry: OutboxEntry;
  /** Whether they are in the outbox. */
  announced?: true;
  decided?: GateDecision;
  /** Decisions on it that are not valid. */
  ignored: IgnoredDecision[];
  /** The answer after a denial, as it goes into the outbox. */
  answer?: OutboxEntry;
}

/** Maximum number of ignored decisions that are kept for one gate, as anybody can push a thousand. */
export const MOST_IGNORED = 20;

/** The gates of one machine. */
export class Gates extends Rows<Gate> {
  /** @param root the state directory */
  constructor(root: string) {
    super(root, 'gate');
  }
}
