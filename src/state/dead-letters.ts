import { Rows } from '../store/rows.ts';
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
  | 'secret'
  | 'cancelled';

/** A failed delivery (protocol.md §8). Stored and shown under these names. */
export interface DeadLetter {
  /** A ULID. */
  id: string;
  /**
   * `parked`: a guard stopped it before it ran; only an operator releases it. `cancelled`: whoever
   * asked took it back; nothing tries it again.
   */
  state: 'retrying' | 'quarantined' | 'parked' | 'cancelled';
  actor: string;
  channel: string;
  messages: string[];
  /** In which it was tried last. */
  tier: string;
  /** The tier that was asked for, if its delivery went on to another one. */
  tier_asked?: string;
  /** Runs since the last release, by tier, where a tier has a fallback. */
  failures?: Record<string, number>;
  command: string;
  reason: FailureReason;
  /** The failure in one line. */
  detail: string;
  exit_code: number | null;
  signal: string | null;
  stderr_tail: string;
  /** All runs so far. */
  attempts: number;
  /** Runs since the last release by an operator: the tier's limit counts these. */
  attempts_since_release: number;
  /** That limit, as it was at the last failure; absent where none applies, and from 6.0.0. */
  attempts_allowed?: number;
  first_failed_at: string;
  last_failed_at: string;
  /** When the delivery is due again; absent once it is quarantined. */
  next_retry_at?: string;
}

/** The dead letters of this machine for one transport, and those of which askers are still to be told. */
export class DeadLetters extends Rows<DeadLetter> {
  readonly #store: Store;
  readonly #due: Rows<{ id: string }>;

  /** @param root the state directory */
  constructor(root: string) {
    super(root, 'dead-letter');
    this.#store = Store.at(root);
    this.#due = new Rows(root, 'notice');
  }

  /** Puts a letter of which those who wait are to be told. */
  putToTell(letter: DeadLetter): Promise<void> {
    return this.#store.write((database) => {
      this.in(database).put(letter);
      this.#due.in(database).put({ id: letter.id });
    });
  }
  /** The ids of the letters of which somebody is to be told. */
  dueNotices(): Promise<string[]> {
    return this.#due.ids();
  }
  /** Called once a notice is in the outbox, or is not needed. */
  told(id: string): Promise<void> {
    return this.#due.remove(id);
  }
}

/** No retry waits longer, jitter apart. */
export const MAX_DELAY_MS = 15 * 60_000;

/**
 * How long to wait before the next attempt: four times longer each time, up to 15 minutes, give
 * or take a quarter so that many failures do not come back at once.
 *
 * @param attempts runs so far, at least 1
 * @param base milliseconds before the first retry
 * @param random from 0 to 1
 */
export function retryDelay(attempts: number, base: number, random: number): number {
  return Math.min(MAX_DELAY_MS, base * 4 ** (attempts - 1)) * (0.75 + random / 2);
}
