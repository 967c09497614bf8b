import type { Decision } from '../protocol/text/decision.ts';
import type { CountedDecision, IgnoredDecision } from '../protocol/decision/judge.ts';
import { isRecord, JsonFolder } from './files.ts';
import type { OutboxEntry } from './outbox-entry.ts';

/** A decision that counts, with its text. */
interface GateDecision extends CountedDecision {
  note: string;
}

/**
 * A batch that waits for somebody to decide on a plan, or whose plan was decided on (decision 46). Stored
 * under these names; times are ISO 8601 UTC.
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
  /** Who decides. */
  approver: string;
  /** The commit at which the plan read the batch and its thread, and at which its run reads them. */
  tip: string;
  /** The message with the plan: its channel, its relPath, and what a decision is bound to. */
  proposal: { channel: string; relPath: string; digest: string };
  plan: string;
  /** The questions that were open when it was made: once all are answered, nothing is to be decided. */
  open: string[];
  since: string;
  /** The messages that say so, as they go into the outbox. */
  entry: OutboxEntry;
  /** Whether they were put there. */
  announced?: true;
  decided?: GateDecision;
  /** What says that it decides, and counts for nothing. */
  ignored: IgnoredDecision[];
  /** The answer after a denial, as it goes into the outbox. */
  answer?: OutboxEntry;
}

/** The most ignored decisions that are kept of one gate: anybody can push a thousand. */
export const MOST_IGNORED = 20;

/** The gates of one machine: a JSON file for each, written durably. */
export class Gates {
  readonly #folder: JsonFolder<Gate>;

  constructor(folder: string) {
    this.#folder = new JsonFolder(folder, parseGate);
  }

  put(gate: Gate): Promise<void> {
    return this.#folder.put(gate);
  }
  all(): Promise<Gate[]> {
    return this.#folder.all();
  }
  remove(id: string): Promise<void> {
    return this.#folder.remove(id);
  }
}

function parseGate(value: unknown): Gate | undefined {
  if (!isRecord(value)) return undefined;
  const { proposal, entry, messages, ignored, decided, open } = value;
  const texts = ['id', 'actor', 'channel', 'tier', 'gate', 'approver', 'tip', 'plan', 'since'];
  const whole =
    texts.every((name) => typeof value[name] === 'string') &&
    Array.isArray(messages) &&
    messages.length > 0 &&
    messages.every((path) => typeof path === 'string') &&
    Array.isArray(ignored) &&
    Array.isArray(open) &&
    isRecord(proposal) &&
    ['channel', 'relPath', 'digest'].every((name) => typeof proposal[name] === 'string') &&
    isRecord(entry) &&
    typeof entry['id'] === 'string' &&
    Array.isArray(entry['commits']) &&
    (decided === undefined || (isRecord(decided) && isDecision(decided['decision'])));
  return whole ? (value as unknown as Gate) : undefined;
}

function isDecision(value: unknown): value is Decision {
  return value === 'approve' || value === 'deny';
}
