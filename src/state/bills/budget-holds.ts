import { Cell, Rows } from '../../store/rows.ts';

/** A message that waits because a budget is spent. Stored under these names; times are ISO 8601 UTC. */
export interface BudgetHold {
  actor: string;
  tier: string;
  channel: string;
  /** Its relPath. */
  message: string;
  /** Whether the budget of a day, which is renewed with the day, or that of a thread is spent. */
  reason: 'budget' | 'thread_budget';
  /** Text that names the budget, its amount and its spent part. */
  said: string;
  since: string;
  /** The budgets that were in force, in a form for comparison. */
  budgets?: string;
  /** Time when the mail continues automatically. */
  until: string;
  /** The dead letter to be retried, if the message has one. */
  letter?: string;
}

/** This machine's record of spent budgets. */
export interface BudgetRecord {
  held: BudgetHold[];
  /** Times when the asker was notified, by actor and question. */
  told: Record<string, string>;
  /** Times when an operator released a message, by actor and message. */
  passed: Record<string, string>;
}

const KEPT_MS = 30 * 86_400_000;

/** The mail that waits for budgets; only the dispatcher writes it. */
export class BudgetHolds {
  readonly #record: Cell<BudgetRecord>;

  /** @param root the state directory */
  constructor(root: string) {
    this.#record = new Cell(root, 'budget-holds');
  }

  async load(): Promise<BudgetRecord> {
    return (await this.#record.get()) ?? { held: [], told: {}, passed: {} };
  }

  async save({ held, told, passed }: BudgetRecord, now: Date): Promise<void> {
    const recent = (times: Record<string, string>): Record<string, string> =>
      Object.fromEntries(
        Object.entries(times).filter(([, at]) => Date.parse(at) > now.getTime() - KEPT_MS),
      );
    await this.#record.set({ held, told: recent(told), passed: recent(passed) });
  }
}

/** Times until which an operator has released an actor's mail regardless of its cost. */
export class BudgetPasses {
  readonly #rows: Rows<{ id: string; until: string }>;

  /** @param root the state directory */
  constructor(root: string) {
    this.#rows = new Rows(root, 'budget-pass');
  }

  /** Loads the times (ISO 8601 UTC) by actor. */
  async load(): Promise<Map<string, string>> {
    return new Map((await this.#rows.all()).map(({ id, until }) => [id, until]));
  }

  /**
   * Releases the mail of an actor that waits for a budget now, also if the clock was set back since it
   * waits.
   *
   * @param waiting that mail
   */
  async let(
    actor: string,
    waiting: readonly Pick<BudgetHold, 'since'>[],
    now: Date,
  ): Promise<void> {
    const [until = ''] = [...waiting.map(({ since }) => since), now.toISOString()].sort().slice(-1);
    await this.#rows.put({ id: actor, until });
  }
}
