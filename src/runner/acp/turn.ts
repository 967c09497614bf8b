import type { Prompt, Reached, Words } from '../runner.ts';
import type { Connection } from './connection.ts';

/** Milliseconds in which an agent has to take words, or to end a turn; otherwise its process is ended. */
const PATIENCE_MS = 10_000;

/**
 * A turn that is under way in a process, from its prompt to the answer, and what is told to it meanwhile.
 *
 * An agent that has offered it takes words into the turn. Any other is asked to end the turn, and once it says
 * that it has, it is given the prompt that begins again: it is the same turn to whoever waits for the answer. An
 * agent that has come to its end meanwhile says so, and the words are late.
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
  /** Aborted when the agent is asked to end what it does. */
  #gone = new AbortController();

  /**
   * @param hear hears what is printed
   * @param stuck ends the process, as it has not ended the turn
   */
  constructor(hear: (bytes: Buffer) => void, permit: Prompt['permit'], stuck: () => void) {
    this.hear = hear;
    this.#permit = permit;
    this.#stuck = stuck;
  }

  /** @throws AgentFailed what the agent said why it failed */
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
        // opencode 1.3 calls a turn that was cancelled the end of one.
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

  /** See {@link RunningCli.steer}; one at a time. It does not come to its end if the process does. */
  async steer({ into, again }: Words): Promise<Reached> {
    await this.#isSent;
    const connection = this.#connection;
    if (connection === undefined || this.#isOver) return 'late';
    if (connection.steers) {
      const reached = await inTime(connection.steer(into).catch(() => undefined));
      if (reached !== undefined) return reached;
      // It may have taken them or not: the turn that begins again has them in any case.
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
