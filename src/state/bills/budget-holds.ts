import { isRecord, readJson, writeDurably } from '../files.ts';

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
}

const KEPT_MS = 30 * 86_400_000;

/** The mail that waits for budgets, in a file that only the dispatcher writes. */
export class BudgetHolds {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  /** A file that cannot be read holds nothing. */
  async load(): Promise<BudgetRecord> {
    const { value } = (await readJson(this.#path)) ?? {};
    const { held, told } = isRecord(value) ? value : {};
    return {
      held: Array.isArray(held) ? held.filter(isHold) : [],
      told: isRecord(told)
        ? Object.fromEntries(
            Object.entries(told).filter(
              (entry): entry is [string, string] => typeof entry[1] === 'string',
            ),
          )
        : {},
    };
  }

  async save({ held, told }: BudgetRecord, now: Date): Promise<void> {
    const recent = Object.entries(told).filter(
      ([, at]) => Date.parse(at) > now.getTime() - KEPT_MS,
    );
    const record = { version: 1, held, told: Object.fromEntries(recent) };
    await writeDurably(this.#path, `${JSON.stringify(record, undefined, 1)}\n`);
  }
}

/** Since when an operator lets an actor's mail pass whatever it costs: actor → ISO 8601 UTC. */
export async function loadPasses(path: string): Promise<Map<string, string>> {
  const { value } = (await readJson(path)) ?? {};
  const entries = isRecord(value) ? Object.entries(value) : [];
  return new Map(
    entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}

/** Lets the mail of an actor pass that waits for a budget now. */
export async function letPass(path: string, actor: string, now: Date): Promise<void> {
  const passes = await loadPasses(path);
  passes.set(actor, now.toISOString());
  await writeDurably(path, `${JSON.stringify(Object.fromEntries(passes))}\n`);
}

function isHold(value: unknown): value is BudgetHold {
  return (
    isRecord(value) &&
    (value['reason'] === 'budget' || value['reason'] === 'thread_budget') &&
    ['actor', 'tier', 'channel', 'message', 'said', 'since', 'until'].every(
      (name) => typeof value[name] === 'string',
    )
  );
}
