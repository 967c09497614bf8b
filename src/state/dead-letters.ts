import { Rows } from '../store/rows.ts';
import type { Requirement } from '../protocol/outgoing.ts';
import { Store } from '../store/store.ts';

type FailureReason =
  | 'not_started'
  | 'exit_code'
  | 'signal'
  | 'timed_out'
  | 'too_much_output'
  | 'empty_answer'
  | 'bad_output'
  | 'bad_workdir'
  | 'before_failed'
  | 'misconfigured'
  | 'misfit'
  | 'bad_schema'
  | 'not_accepted'
  | 'prompt_too_long'
  | 'interrupted'
  | 'too_deep'
  | 'no_planning'
  | 'missing_secret'
  | 'no_sandbox'
  | 'host_gone'
  | 'secret'
  | 'cancelled';

/** A failed delivery (protocol.md §8). Stored and shown under these names. */
export interface DeadLetter {
  /** A ULID. */
  id: string;
  /**
   * `parked`: a guard stopped it before it ran; only an operator releases it. `cancelled`: the asker
   * withdrew it; it is not retried.
   */
  state: 'retrying' | 'quarantined' | 'parked' | 'cancelled';
  actor: string;
  channel: string;
  messages: string[];
  /** The tier of the last try. */
  tier: string;
  /** The requested tier, if the delivery went on to another one. */
  tier_asked?: string;
  /** Number of runs since the last release, by tier, when a tier has a fallback. */
  failures?: Record<string, number>;
  command: string;
  reason: FailureReason;
  /** The failure in one line. */
  detail: string;
  exit_code: number | null;
  signal: string | null;
  stderr_tail: string;
  /** Number of all runs so far. */
  attempts: number;
  /** Number of runs since the last release by an operator, to which the tier's limit applies. */
  attempts_since_release: number;
  /** That limit at the last failure; absent when none applies, and from 6.0.0. */
  attempts_allowed?: number;
  first_failed_at: string;
  last_failed_at: string;
  /** Time of the next retry; absent once it is quarantined. */
  next_retry_at?: string;
}

/** Conditions and files of claims with which a notice is published, where one of several hosts has its mail. */
export interface ClaimStep {
  requires: readonly Requirement[];
  files: readonly { path: string; content: string }[];
}

/** A notice about a letter that is due. */
interface DueNotice {
  /** Id of the letter. */
  id: string;
  claim?: ClaimStep;
}

/** The dead letters of this machine for one transport, with the notices about them that are still due. */
export class DeadLetters extends Rows<DeadLetter> {
  readonly #store: Store;
  readonly #due: Rows<DueNotice>;

  /** @param root the state directory */
  constructor(root: string) {
    super(root, 'dead-letter');
    this.#store = Store.at(root);
    this.#due = new Rows(root, 'notice');
  }

  /** Stores a letter about which the waiting askers are to be notified. */
  putToTell(letter: DeadLetter, claim?: ClaimStep): Promise<void> {
    return this.#store.write((database) => {
      this.in(database).put(letter);
      this.#due.in(database).put({ id: letter.id, ...(claim && { claim }) });
    });
  }
  /** Lists the ids of the letters with a due notice. */
  dueNotices(): Promise<string[]> {
    return this.#due.ids();
  }
  /** Returns what the notice of a letter adds for claims. */
  async claimOf(id: string): Promise<ClaimStep | undefined> {
    return (await this.#due.get(id))?.claim;
  }
  /** Removes a due notice once it is in the outbox, or is not needed. */
  told(id: string): Promise<void> {
    return this.#due.remove(id);
  }
}

/** Maximum milliseconds until a retry, apart from jitter. */
export const MAX_DELAY_MS = 15 * 60_000;

/**
 * Computes the milliseconds until the next attempt: four times longer each time, up to 15 minutes, plus
 * or minus a quarter so that many failures are not retried at once.
 *
 * @param attempts number of runs so far, at least 1
 * @param base milliseconds before the first retry
 * @param random from 0 to 1
 */
export function retryDelay(attempts: number, base: number, random: number): number {
  return Math.min(MAX_DELAY_MS, base * 4 ** (attempts - 1)) * (0.75 + random / 2);
}
