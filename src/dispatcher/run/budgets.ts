import { plainCall } from '../../agents/output/plain-call.ts';
import type { Tier } from '../../protocol/files/host-file.ts';
import { A_USD, usdOf } from '../../protocol/files/tier-budgets.ts';
import type { MessageRef } from '../../protocol/message-ref.ts';
import { shown } from '../../protocol/text/result.ts';
import type { BudgetHold } from '../../state/bills/budget-holds.ts';
import { sum, type Amount, type Spending } from './spending.ts';

/** A spent budget; see {@link BudgetHold}. */
export type Spent = Pick<BudgetHold, 'reason' | 'said' | 'until'>;

/** Whether a run may begin. */
export type Allowed =
  /** `rest`: how much money it may use at most. */
  | { kind: 'free'; rest?: number }
  /** The runs under way are likely to use the rest; it is looked at again when one of them ends. */
  | { kind: 'later' }
  | ({ kind: 'spent' } & Spent);

/** A run to be begun. */
export interface BudgetedRun {
  id: string;
  actor: string;
  tier: Tier;
  /** Set where it is under way, and its agent is to be told something. */
  isTold?: true;
}

/** A run under way, with what it is likely to cost. */
interface Under extends Amount {
  id: string;
  /** How often it has begun: once, and each time that its agent was told something. */
  times: number;
  actor: string;
  tier: string;
  thread: MessageRef;
}

/** A budget that applies to a run. */
interface Budget {
  name: string;
  unit: 'usd' | 'tokens';
  limit: number;
  reason: Spent['reason'];
  spent: number;
  likely: number;
}

/** A time that never comes: the budget of a thread does not return. */
const NEVER = '9999-12-31T00:00:00.000Z';
/** Less than this is no amount to begin a run with. */
const LEAST_USD = 0.0001;
const MACHINE = 'git config crosstalk.maxUsdPerDay';

/**
 * What runs may use (bills.md, "Budgets"), judged by the ledger before each run, together with what
 * the runs under way are likely to use. No message and no model can influence it.
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
   * Whether a run may begin, or its agent be told something; if so, it counts as under way until {@link end}.
   *
   * @param isPassed whether an operator lets it pass whatever it costs
   */
  async begin(
    { id, actor, tier, isTold }: BudgetedRun,
    thread: MessageRef,
    { isPassed }: { isPassed: boolean },
  ): Promise<Allowed> {
    const machine = this.#machine();
    if (!isLimited(tier) && machine === undefined) return { kind: 'free' };
    await this.#spending.load();
    const before = [...this.#under.values()];
    const ofThread =
      tier.maxUsdPerThread === undefined ? undefined : await this.#spending.ofThread(thread);
    const once = this.#spending.likely(actor, plainCall(tier.cli)?.agent);
    const { times: begun = 0 } = this.#under.get(id) ?? {};
    const times = Math.max(1, isTold === true ? begun + 1 : begun);
    const likely = { usd: once.usd * times, tokens: once.tokens * times };
    const run: Under = { id, times, actor, tier: tier.name, thread, ...likely };
    if (isPassed) {
      this.#under.set(id, run);
      return { kind: 'free' };
    }
    const wrong = unkept(tier, machine);
    if (wrong !== undefined)
      return { kind: 'spent', reason: 'thread_budget', said: wrong, until: NEVER };
    const budgets = [
      ...this.#ofTier(actor, tier),
      ...this.#ofMachine(machine),
      ...(ofThread === undefined ? [] : [this.#ofThread(run, tier, ofThread, before)]),
    ];
    const spent = budgets.find((one) => one.spent >= one.limit);
    if (spent !== undefined) return this.#spent(spent);
    if (budgets.some((one) => one.likely > 0 && one.spent + one.likely >= one.limit))
      return { kind: 'later' };
    this.#under.set(id, run);
    const rests = budgets
      .filter(({ unit }) => unit === 'usd')
      .map(({ limit, spent: used, likely }) => limit - used - likely);
    return { kind: 'free', ...(rests.length > 0 && { rest: Math.min(...rests) }) };
  }

  /** Whether runs are under way that count. */
  get isBusy(): boolean {
    return this.#under.size > 0;
  }

  /** What is in force of all budgets for a tier: mail that waits is looked at again when it changes. */
  inForce({ maxUsdPerDay, maxTokensPerDay, maxUsdPerThread, cli }: Tier): string {
    const all = [maxUsdPerDay, maxTokensPerDay, maxUsdPerThread, cli, this.#machine()];
    return JSON.stringify(all.map((one) => one ?? null));
  }

  /** @returns whether a run is over that counted as one under way */
  end(id: string): boolean {
    return this.#under.delete(id);
  }

  #likely(isMeant: (run: Under) => boolean, before: readonly Under[] = []): Amount {
    const all = new Map([...before, ...this.#under.values()].map((run) => [run.id, run]));
    return sum([...all.values()].filter(isMeant));
  }

  #ofTier(actor: string, { name, maxUsdPerDay: usd, maxTokensPerDay: tokens }: Tier): Budget[] {
    const isOwn = (one: { actor: string; tier: string }): boolean =>
      one.actor === actor && one.tier === name;
    const [spent, likely] = [this.#spending.today(isOwn), this.#likely(isOwn)];
    const of = (option: string, unit: Budget['unit'], limit: number): Budget => ({
      ...{ name: `${option} of ${actor}.${name}`, unit, limit, reason: 'budget' },
      ...{ spent: spent[unit], likely: likely[unit] },
    });
    return [
      ...(usd === undefined ? [] : [of('max_usd_per_day', 'usd', usd)]),
      ...(tokens === undefined ? [] : [of('max_tokens_per_day', 'tokens', tokens)]),
    ];
  }

  #ofMachine(machine: string | undefined): Budget[] {
    const limit = usdOf(machine);
    if (limit === undefined) return [];
    const all = (): boolean => true;
    const [spent, likely] = [this.#spending.today(all).usd, this.#likely(all).usd];
    return [{ name: MACHINE, unit: 'usd', limit, reason: 'budget', spent, likely }];
  }

  #ofThread(
    { actor, tier: name, thread }: Under,
    { maxUsdPerThread: limit = 0 }: Tier,
    spent: Amount & { ids: ReadonlySet<string> },
    before: readonly Under[],
  ): Budget {
    const isOwn = (one: Under): boolean =>
      one.thread.relPath === thread.relPath &&
      one.thread.channel === thread.channel &&
      !spent.ids.has(one.id);
    return {
      ...{ name: `max_usd_per_thread of ${actor}.${name}`, unit: 'usd', limit },
      ...{ reason: 'thread_budget', spent: spent.usd, likely: this.#likely(isOwn, before).usd },
    };
  }

  #spent({ name, unit, limit, reason, spent }: Budget): Allowed {
    const text = (amount: number): string =>
      unit === 'usd' ? `$${String(amount)}` : `${String(amount)} tokens`;
    const until = reason === 'budget' ? nextDay(this.#spending.day) : NEVER;
    return {
      ...{ kind: 'spent', reason, until },
      said: `${name} is ${text(limit)}, and ${text(spent)} are spent`,
    };
  }
}

function isLimited({ maxUsdPerDay, maxTokensPerDay, maxUsdPerThread }: Tier): boolean {
  return [maxUsdPerDay, maxTokensPerDay, maxUsdPerThread].some((limit) => limit !== undefined);
}

/**
 * Why a budget cannot be kept, so that nothing runs: what a command uses has to be known, and money
 * where money is limited.
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

/** The option by which an agent CLI itself is told what it may use, or nothing. */
export function capOf(command: string, rest: number | undefined): string {
  const option = plainCall(command)?.format.cap;
  if (option === undefined || rest === undefined || command.includes(option)) return '';
  return ` ${option} ${Math.max(LEAST_USD, Math.floor(rest * 1e4 + 1e-6) / 1e4).toFixed(4)}`;
}
