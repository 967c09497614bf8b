import type { Prompt, Reached, Words } from '../runner.ts';
import type { Connection } from './connection.ts';

/** Milliseconds in which an agent has to accept text, or to end a turn; otherwise its process is ended. */
const PATIENCE_MS = 10_000;

/**
 * A turn in progress in a process, from its prompt to the answer, and the text that is added to it in the meantime.
 *
 * An agent that offers it accepts text during the turn. Any other is asked to end the turn, and once it confirms that,
 * it receives the prompt that starts again: for the caller who awaits the answer it is the same turn. If the agent has
 * finished the turn in the meantime, it says so, and the text is late.
 */
export class Turn {
  readonly hear: (bytes: Buffer) => void;
  readonly #permit: Prompt['permit'];
  readonly #stuck: () => void;
  #connection: Connection | undefined;
  #sent: () => void = () => undefined;
  readonly #isSent = new Promise<void>((resolve) => (this.#sent = resolve));
  #isOver = false;
  #again: { text: string; tell: (reached: Reached) => void } | undefined;
  /** Aborted when the agent is asked to end its work. */
  #gone = new AbortController();

  /**
   * @param hear receives the output
   * @param stuck ends the process, because it has not ended the turn
   */
  constructor(hear: (bytes: Buffer) => void, permit: Prompt['permit'], stuck: () => void) {
    this.hear = hear;
    this.#permit = permit;
    this.#stuck = stuck;
  }

  /**
   * Runs the turn.
   *
   * @throws AgentFailed with the agent's reason
   */
  async run(connection: Connection, input: string): Promise<void> {
    this.#connection = connection;
    try {
      for (let text = input; ;) {
        const answered = connection.prompt(text);
        this.#sent();
        const why = await answered;
        const again = this.#again;
        this.#again = undefined;
        if (again === undefined) return;
        // opencode 1.3 reports `end_turn` for a turn that was cancelled.
        if (why !== 'cancelled' && (why !== 'end_turn' || connection.hasSpoken)) {
          again.tell('late');
          return;
        }
        this.#gone = new AbortController();
        text = again.text;
        again.tell('again');
      }
    } finally {
      this.#isOver = true;
    }
  }

  /** Whether a tool may be used. */
  async permit(call: unknown, gone: AbortSignal): Promise<boolean | 'cancelled'> {
    const { signal } = this.#gone;
    const isAllowed = await this.#permit?.(call, AbortSignal.any([gone, signal]));
    return signal.aborted ? 'cancelled' : isAllowed === true;
  }

  /**
   * Adds text to the turn; see {@link RunningCli.steer}. One call at a time. It may never resolve if the process ends.
   */
  async steer({ into, again }: Words): Promise<Reached> {
    await this.#isSent;
    const connection = this.#connection;
    if (connection === undefined || this.#isOver) return 'late';
    if (connection.steers) {
      const reached = await inTime(connection.steer(into).catch(() => undefined));
      if (reached !== undefined) return reached;
      // It may have accepted the text or not: the restarted turn contains it in any case.
      if (this.#hasEnded()) return 'late';
    }
    return this.#beginAgain(connection, again);
  }

  async #beginAgain(connection: Connection, text: string): Promise<Reached> {
    const told = new Promise<Reached>((tell) => (this.#again = { text, tell }));
    const timer = setTimeout(this.#stuck, PATIENCE_MS);
    this.#gone.abort();
    await connection.cancel().catch(() => undefined);
    return told.finally(() => {
      clearTimeout(timer);
    });
  }

  #hasEnded(): boolean {
    return this.#isOver;
  }
}

async function inTime<T>(given: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => {
      resolve(undefined);
    }, PATIENCE_MS);
  });
  return Promise.race([given, late]).finally(() => {
    clearTimeout(timer);
  });
}
