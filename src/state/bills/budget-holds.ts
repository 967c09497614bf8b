import { isRecord, isTime, readSealed, writeSealed } from '../files.ts';

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
  /** By actor and message, when an operator let it pass; absent in what earlier versions have written. */
  passed: Record<string, string>;
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
    const { value } = (await readSealed(this.#path)) ?? {};
    const { held, told, passed } = isRecord(value) ? value : {};
    return {
      held: Array.isArray(held) ? held.filter(isHold) : [],
      told: timesIn(told),
      passed: timesIn(passed),
    };
  }

  async save({ held, told, passed }: BudgetRecord, now: Date): Promise<void> {
    const recent = (times: Record<string, string>): Record<string, string> =>
      Object.fromEntries(
        Object.entries(times).filter(([, at]) => Date.parse(at) > now.getTime() - KEPT_MS),
      );
    const record = { version: 1, held, told: recent(told), passed: recent(passed) };
    await writeSealed(this.#path, record);
  }
}

/** What is no time is left out. */
function timesIn(value: unknown): Record<string, string> {
  const entries = isRecord(value) ? Object.entries(value) : [];
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => isTime(entry[1])));
}

/** Until when an operator lets an actor's mail pass whatever it costs: actor → ISO 8601 UTC. */
export async function loadPasses(path: string): Promise<Map<string, string>> {
  const { value } = (await readSealed(path)) ?? {};
  return new Map(Object.entries(timesIn(isRecord(value) ? value['until'] : undefined)));
}

/**
 * Lets the mail of an actor pass that waits for a budget now, also if the clock was set back since it waits.
 *
 * @param waiting that mail
 */
export async function letPass(
  path: string,
  actor: string,
  waiting: readonly Pick<BudgetHold, 'since'>[],
  now: Date,
): Promise<void> {
  const passes = await loadPasses(path);
  const [last = ''] = [...waiting.map(({ since }) => since), now.toISOString()].sort().slice(-1);
  passes.set(actor, last);
  await writeSealed(path, { until: Object.fromEntries(passes) });
}

function isHold(value: unknown): value is BudgetHold {
  return (
    isRecord(value) &&
    (value['reason'] === 'budget' || value['reason'] === 'thread_budget') &&
    ['actor', 'tier', 'channel', 'message', 'said'].every(
      (name) => typeof value[name] === 'string',
    ) &&
    isTime(value['since']) &&
    isTime(value['until'])
  );
}
