import { ownCapOf, plainCall } from '../../agents/output/plain-call.ts';
import type { Tier } from '../../protocol/files/host-file.ts';
import { A_USD, usdOf } from '../../protocol/files/tier-options.ts';
import type { MessageRef } from '../../protocol/layout.ts';
import { shown } from '../../protocol/text/result.ts';
import type { BudgetHold } from '../../state/bills/budget-holds.ts';
import type { Handed } from '../../protocol/usage.ts';
import type { LedgerLine } from '../../state/bills/ledger.ts';
import { sum, type Amount, type Spending, type Spent as Sum } from './spending.ts';

/** A spent budget; see {@link BudgetHold}. */
export type Spent = Pick<BudgetHold, 'reason' | 'said' | 'until'>;

/** Permission of a run to start, or the reason why not. */
export type Allowed =
  /** `handed`: the most that it may use; `rest`: the amount of money that is stated to its CLI. */
  | { kind: 'free'; handed?: Handed; rest?: number }
  /** The runs under way have the rest reserved; it is looked at again when one of them ends. */
  | { kind: 'later' }
  | ({ kind: 'spent' } & Spent);

/** Run to be started. */
export interface BudgetedRun {
  id: string;
  actor: string;
  tier: Tier;
}

/** Run under way, with its reservation. */
type Under = Pick<LedgerLine, 'id' | 'actor' | 'tier' | 'thread'> & { handed: Handed };

/** A budget that applies to a run. */
interface Budget {
  name: string;
  unit: 'usd' | 'tokens';
  limit: number;
  reason: Spent['reason'];
  spent: number;
  /** The part of that which was not stated. */
  presumed: number;
  /** Amount reserved for the runs under way. */
  reserved: number;
}

/** A time that never comes: the budget of a thread does not return. */
const NEVER = '9999-12-31T00:00:00.000Z';
const MACHINE = 'git config crosstalk.maxUsdPerDay';

/**
 * Budgets of runs (bills.md, "Budgets"), judged by the ledger before each run. A run receives the rest of a budget,
 * or the amount that its command states, and until it has stated its usage, that is reserved: so all runs together
 * never receive more than there is. No message and no model can influence it.
 */
export class Budgets {
  readonly #spending: Spending;
  readonly #machine: () => string | undefined;
  readonly #under = new Map<string, Under>();

  /** @param machine the value of `git config crosstalk.maxUsdPerDay` */
  constructor(spending: Spending, machine: () => string | undefined) {
    this.#spending = spending;
    this.#machine = machine;
  }

  /**
   * Whether a run may start; if so, it counts as under way until {@link end}.
   *
   * @param isPassed whether an operator releases it whatever it costs
   */
  async begin(
    { id, actor, tier }: BudgetedRun,
    thread: MessageRef,
    { isPassed }: { isPassed: boolean },
  ): Promise<Allowed> {
    const machine = this.#machine();
    if (!isLimited(tier) && machine === undefined) return { kind: 'free' };
    await this.#spending.load();
    const before = [...this.#under.values()];
    const ofThread =
      tier.maxUsdPerThread === undefined ? undefined : await this.#spending.ofThread(thread);
    const wrong = isPassed ? undefined : unkept(tier, machine);
    if (wrong !== undefined)
      return { kind: 'spent', reason: 'thread_budget', said: wrong, until: NEVER };
    const budgets = [
      ...this.#ofTier(id, actor, tier),
      ...this.#ofMachine(id, machine),
      ...(ofThread === undefined
        ? []
        : [this.#ofThread({ id, actor, tier, thread }, ofThread, before)]),
    ];
    const spent = isPassed ? undefined : budgets.find((one) => one.spent >= one.limit);
    if (spent !== undefined) return this.#spent(spent);
    // Where an operator releases it whatever it costs, only the budget is known.
    const handed = handedOf(tier, budgets, isPassed ? ({ limit }) => limit : leftOf);
    if (Object.values(handed).some((amount) => amount <= 0)) return { kind: 'later' };
    this.#under.set(id, { id, actor, tier: tier.name, thread, handed });
    return freeWith(handed, isPassed ? undefined : handed.usd);
  }

  /** Whether runs are under way that count. */
  get isBusy(): boolean {
    return this.#under.size > 0;
  }

  /** Returns the budgets in force for a tier: mail that waits is looked at again when they change. */
  inForce({ maxUsdPerDay, maxTokensPerDay, maxUsdPerThread, cli }: Tier): string {
    const all = [maxUsdPerDay, maxTokensPerDay, maxUsdPerThread, cli, this.#machine()];
    return JSON.stringify(all.map((one) => one ?? null));
  }

  /** @returns whether a run is over that counted as one under way */
  end(id: string): boolean {
    return this.#under.delete(id);
  }

  /** Returns the amount reserved for other runs under way. */
  #reserved(id: string, isMeant: (run: Under) => boolean, before: readonly Under[] = []): Amount {
    const all = new Map([...before, ...this.#under.values()].map((run) => [run.id, run]));
    all.delete(id);
    const meant = [...all.values()].filter(isMeant);
    return sum(meant.map(({ handed: { usd = 0, tokens = 0 } }) => ({ usd, tokens })));
  }

  #ofTier(
    id: string,
    actor: string,
    { name, maxUsdPerDay: usd, maxTokensPerDay: tokens }: Tier,
  ): Budget[] {
    const isOwn = (one: { actor: string; tier: string }): boolean =>
      one.actor === actor && one.tier === name;
    const [spent, reserved] = [this.#spending.today(isOwn), this.#reserved(id, isOwn)];
    const of = (option: string, unit: Budget['unit'], limit: number): Budget => ({
      ...{ name: `${option} of ${actor}.${name}`, unit, limit, reason: 'budget' },
      ...amountsIn(unit, spent, reserved),
    });
    return [
      ...(usd === undefined ? [] : [of('max_usd_per_day', 'usd', usd)]),
      ...(tokens === undefined ? [] : [of('max_tokens_per_day', 'tokens', tokens)]),
    ];
  }

  #ofMachine(id: string, machine: string | undefined): Budget[] {
    const limit = usdOf(machine);
    if (limit === undefined) return [];
    const all = (): boolean => true;
    const amounts = amountsIn('usd', this.#spending.today(all), this.#reserved(id, all));
    return [{ name: MACHINE, unit: 'usd', limit, reason: 'budget', ...amounts }];
  }

  #ofThread(
    { id, actor, tier, thread }: { id: string; actor: string; tier: Tier; thread: MessageRef },
    spent: Sum & { ids: ReadonlySet<string> },
    before: readonly Under[],
  ): Budget {
    const { name, maxUsdPerThread: limit = 0 } = tier;
    const isOwn = (one: Under): boolean =>
      one.thread.relPath === thread.relPath &&
      one.thread.channel === thread.channel &&
      !spent.ids.has(one.id);
    return {
      ...{ name: `max_usd_per_thread of ${actor}.${name}`, unit: 'usd', limit },
      ...{ reason: 'thread_budget', ...amountsIn('usd', spent, this.#reserved(id, isOwn, before)) },
    };
  }

  #spent({ name, unit, limit, reason, spent, presumed }: Budget): Allowed {
    const text = (amount: number): string =>
      unit === 'usd' ? `$${String(amount)}` : `${String(amount)} tokens`;
    const until = reason === 'budget' ? nextDay(this.#spending.day) : NEVER;
    const unsaid =
      presumed === 0
        ? ''
        : ` (${text(presumed)} of it is what runs were handed that ended before they stated what they used)`;
    return {
      ...{ kind: 'spent', reason, until },
      said: `${name} is ${text(limit)}, and ${text(spent)} are spent${unsaid}`,
    };
  }
}

function freeWith(handed: Handed, rest?: number): Allowed {
  if (Object.keys(handed).length === 0) return { kind: 'free' };
  return { kind: 'free', handed, ...(rest !== undefined && { rest }) };
}

function amountsIn(
  unit: Budget['unit'],
  spent: Sum,
  reserved: Amount,
): Pick<Budget, 'spent' | 'presumed' | 'reserved'> {
  return { spent: spent[unit], presumed: spent.presumed[unit], reserved: reserved[unit] };
}

function leftOf({ limit, spent, reserved }: Budget): number {
  return Math.round((limit - spent - reserved) * 1e6) / 1e6;
}

/**
 * Returns the amount that a run receives of each unit that its command states: the least of some budgets, or of its
 * own cap.
 */
function handedOf(
  { cli, session }: Tier,
  budgets: readonly Budget[],
  amountOf: (budget: Budget) => number,
): Handed {
  const format = plainCall(cli)?.format;
  const least = (unit: Budget['unit']): number =>
    Math.min(...budgets.filter((one) => one.unit === unit).map(amountOf));
  // A pooled process is not started with these words.
  const own = session === 'warm' ? Infinity : ownCapOf(cli);
  const [usd, tokens] = [Math.min(least('usd'), own), least('tokens')];
  return {
    ...(usd < Infinity && format?.money === true && { usd }),
    ...(tokens < Infinity && format !== undefined && { tokens }),
  };
}

function isLimited({ maxUsdPerDay, maxTokensPerDay, maxUsdPerThread }: Tier): boolean {
  return [maxUsdPerDay, maxTokensPerDay, maxUsdPerThread].some((limit) => limit !== undefined);
}

/**
 * Returns the reason why a budget cannot be enforced, so that nothing runs: the usage of a command has to be known,
 * and money where money is limited.
 */
export function unkept(
  { cli, maxUsdPerDay, maxTokensPerDay, maxUsdPerThread }: Tier,
  machine?: string,
): string | undefined {
  if (machine !== undefined && usdOf(machine) === undefined)
    return `${MACHINE} is ${shown(machine)}, expected ${A_USD}`;
  const call = plainCall(cli);
  if (call?.format.money !== true && (maxUsdPerDay ?? maxUsdPerThread) !== undefined)
    return call === undefined
      ? 'a budget cannot be kept, as what the command uses is not known: it is no plain call of an agent CLI whose usage is read'
      : `a budget of money cannot be kept, as ${call.agent} states no money; set max_tokens_per_day instead`;
  if (call === undefined && maxTokensPerDay !== undefined)
    return 'a budget cannot be kept, as what the command uses is not known: it is no plain call of an agent CLI whose usage is read';
  return undefined;
}

function nextDay(day: string): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + 86_400_000).toISOString();
}
