import { Cell, Rows } from '../../store/rows.ts';

/** A message that waits because a budget is spent. Stored under these names; times are ISO 8601 UTC. */
export interface BudgetHold {
  actor: string;
  tier: string;
  channel: string;
  /** Its relPath. */
  message: string;
  /** Whether a day's budget is spent, which ends with the day, or that of a thread. */
  reason: 'budget' | 'thread_budget';
  /** Which budget, how much it is, and how much is spent, in words. */
  said: string;
  since: string;
  /** The budgets that were in force, in a form to compare. */
  budgets?: string;
  /** When the mail goes on without anybody's action. */
  until: string;
  /** The dead letter that is to be retried, if the message has one. */
  letter?: string;
}

/** What a machine remembers of spent budgets. */
export interface BudgetRecord {
  held: BudgetHold[];
  /** By actor and question, when the asker was told. */
  told: Record<string, string>;
  /** By actor and message, when an operator let it pass. */
  passed: Record<string, string>;
}

const KEPT_MS = 30 * 86_400_000;

/** The mail that waits for budgets, which only the dispatcher writes. */
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

/** Until when an operator lets an actor's mail pass whatever it costs. */
export class BudgetPasses {
  readonly #rows: Rows<{ id: string; until: string }>;

  /** @param root the state directory */
  constructor(root: string) {
    this.#rows = new Rows(root, 'budget-pass');
  }

  /** Actor → ISO 8601 UTC. */
  async load(): Promise<Map<string, string>> {
    return new Map((await this.#rows.all()).map(({ id, until }) => [id, until]));
  }

  /**
   * Lets the mail of an actor pass that waits for a budget now, also if the clock was set back since it waits.
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
