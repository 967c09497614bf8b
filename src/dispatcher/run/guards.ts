import type { DispatcherApp } from '../../bus/app.ts';
import { reasonOf } from '../../errors.ts';
import type { Tier } from '../../protocol/files/host-file.ts';
import { type Hold, Pauses, type Pause } from '../../state/holds.ts';
import { RunBudget } from '../../state/run-budget.ts';
import type { LogFields } from '../../log.ts';
import type { BudgetHold } from '../../state/bills/budget-holds.ts';
import type { BudgetMail, Mail } from './budget-mail.ts';
import type { Refusals } from './refusals.ts';
import type { Job, JobResult } from './job.ts';

/** Reason why messages wait although their actor could run. */
export interface Deferral {
  actor: string;
  tier: string;
  reason: 'max_runs_per_hour' | Hold['reason'] | 'no_sandbox' | BudgetHold['reason'];
  /** When it continues without anybody's action, or is tried again; as ISO 8601 in UTC. */
  until: string;
  /** Budget that is spent, with the amount; of an account, the message of its CLI. */
  said?: string;
  /** The tier that takes the mail meanwhile. */
  instead?: string;
}

/** Milliseconds for which a missing sandbox is still reported, after the machine was to be asked again. */
const SANDBOX_ROOM_MS = 60_000;

/**
 * The conditions that keep a run from starting, which no message can influence: a pause for the
 * whole machine, an agent CLI that refuses to work, and an hourly limit on the runs of each tier
 * against runaways. Messages stay in their mailbox meanwhile.
 */
export class Guards {
  readonly #app: Pick<DispatcherApp, 'sandboxes' | 'log' | 'now'>;
  readonly #pauses: Pauses;
  readonly #budget: RunBudget;
  /** Mail that waits for a budget of money or tokens. */
  readonly budgets: BudgetMail;
  readonly #refusals: Refusals;
  readonly #deferred = new Map<string, Deferral>();
  /** When each job under way was started, by the hourly limit. */
  readonly #starts = new Map<string, number>();
  #pause: Pause | undefined;

  constructor(
    app: Pick<DispatcherApp, 'paths' | 'sandboxes' | 'log' | 'now'>,
    budgets: BudgetMail,
    refusals: Refusals,
  ) {
    this.#app = app;
    this.#pauses = new Pauses(app.paths.root);
    this.#budget = new RunBudget(app.paths.root);
    this.budgets = budgets;
    this.#refusals = refusals;
  }

  /** The tiers whose hourly limit is reached, or whose CLI refuses to work. */
  get deferrals(): Deferral[] {
    const now = this.#app.now().toISOString();
    const deferred = [...this.#deferred.values()].filter(({ until }) => until > now);
    const instead = new Set(deferred.map((one) => (one.instead === undefined ? '' : nameOf(one))));
    const spent = this.budgets.waiting
      .map(({ actor, tier, reason, until, said }) => ({ actor, tier, reason, until, said }))
      .filter((one) => !instead.has(nameOf(one)));
    return [...deferred, ...spent];
  }

  async paused(): Promise<boolean> {
    const pause = await this.#pauses.get();
    if (pause !== undefined && this.#pause === undefined) {
      this.#app.log('parked', { reason: 'paused', since: pause.since, by: pause.by });
    }
    this.#pause = pause;
    return pause !== undefined;
  }

  /** Reads the holds on which {@link allows} is based. */
  async look(): Promise<void> {
    await this.#refusals.look();
    await this.budgets.look();
  }

  /**
   * Returns the first of some tiers in which a run may start; undefined if it has to wait. A tier is passed over
   * while its account is held or its budget spent; one whose hourly limit is reached is waited for.
   *
   * @param tiers in the order in which they are tried
   */
  async choose(tiers: readonly Tier[], mail: Mail): Promise<Tier | undefined> {
    const over: Deferral[] = [];
    for (const tier of tiers) {
      const { actor } = mail;
      const spent = this.budgets.holdOf(mail, tier);
      const hold = this.#refusals.inTheWay(tier.cli);
      if (spent === undefined && hold === undefined) {
        if (!(await this.allows(actor, tier))) return undefined;
        for (const one of over) this.#passOver({ ...one, instead: tier.name });
        return tier;
      }
      const { reason, until, said } = spent ?? hold ?? {};
      if (reason !== undefined && until !== undefined)
        over.push({ actor, tier: tier.name, reason, until, ...(said !== undefined && { said }) });
    }
    for (const tier of tiers) await this.allows(mail.actor, tier);
    return undefined;
  }

  /** Logs once that another tier takes mail, and records it for `status`. */
  #passOver(deferral: Deferral): void {
    const known = this.#deferred.get(nameOf(deferral));
    const { reason, until, instead } = deferral;
    const isKnown = known?.reason === reason && known.until === until && known.instead === instead;
    if (!isKnown) this.#app.log('fallback', { ...deferral });
    // The budget of a thread does not apply to other mail.
    if (reason !== 'thread_budget') this.#deferred.set(nameOf(deferral), deferral);
  }

  /**
   * Returns whether a run has the sandbox of its tier, without which none starts (work.md): the mail waits until
   * there can be one.
   */
  async #sandboxed(actor: string, tier: Tier): Promise<boolean> {
    const backend = tier.sandbox && (await this.#app.sandboxes.backend());
    if (backend === undefined || backend.ok) return true;
    const known = this.#deferred.get(nameOf({ actor, tier: tier.name }));
    const said = `${backend.problem}; ${backend.fix}`;
    const deferral = { actor, tier: tier.name, reason: 'no_sandbox' as const, said };
    const next = this.#app.sandboxes.next ?? this.#app.now();
    const until = new Date(next.getTime() + SANDBOX_ROOM_MS).toISOString();
    if (known?.said !== said) this.#app.log('parked', { ...deferral, until });
    this.#deferred.set(nameOf(deferral), { ...deferral, until });
    return false;
  }

  /** Whether the CLI of a tier refused to work at the last look. */
  isHeld({ cli }: Tier): boolean {
    return this.#refusals.inTheWay(cli) !== undefined;
  }

  async allows(actor: string, tier: Tier): Promise<boolean> {
    const key = nameOf({ actor, tier: tier.name });
    if (!(await this.#sandboxed(actor, tier))) return false;
    const hold = this.#refusals.inTheWay(tier.cli);
    if (hold !== undefined) {
      this.#defer(actor, tier, hold);
      return false;
    }
    const now = this.#app.now().getTime();
    const next = await this.#budget.nextStart(actor, tier.name, tier.maxRunsPerHour, now);
    if (next === undefined) {
      this.#deferred.delete(key);
      return true;
    }
    const deferral = {
      actor,
      tier: tier.name,
      reason: 'max_runs_per_hour' as const,
      until: next.toISOString(),
    };
    if (!this.#deferred.has(key))
      this.#app.log('parked', { ...deferral, limit: tier.maxRunsPerHour });
    this.#deferred.set(key, deferral);
    return false;
  }

  /** Called when a job starts. */
  begin(job: Job): void {
    this.#refusals.begin(job);
    const now = this.#app.now().getTime();
    this.#starts.set(job.id, now);
    void this.#budget.note(job.actor, job.tier.name, now).catch((error: unknown) => {
      this.#app.log('internal_error', { id: job.id, error: reasonOf(error) });
    });
  }

  /** Whether the agent of a job under way may receive a message, which may cost as much as another start. */
  mayTell({ actor, tier }: Job): Promise<boolean> {
    return this.allows(actor, tier);
  }

  /** Counts that it was, like a start. */
  async told({ actor, tier }: Job): Promise<void> {
    await this.#budget.note(actor, tier.name, this.#app.now().getTime());
  }

  /** Records the signs that an ended job shows about its CLI, durably on return. */
  async learn(job: Job, result: JobResult): Promise<void> {
    const started = this.#starts.get(job.id);
    // Else mail that another tier takes, or that waits, would use up the hourly limit of this one.
    const isUnused = result.kind === 'over_budget' || result.kind === 'taken';
    if (isUnused && started !== undefined)
      await this.#budget.takeBack(job.actor, job.tier.name, started);
    const hold = await this.#refusals.learn(job, result);
    if (hold === undefined || result.kind !== 'refused') return;
    const { id, actor, channel, messages, tier } = job;
    this.#defer(actor, tier, hold, {
      id,
      channel,
      messages,
      duration_ms: result.result.duration,
    });
  }

  /** Called when a job is over, so that another one may find out in its place. */
  end(job: Job): void {
    this.#starts.delete(job.id);
    this.#refusals.end(job);
    this.budgets.end(job.id);
  }

  /**
   * When a CLI that refused to work is tried again, mail goes on that waits for a budget, or a sandbox is
   * looked for again, without anybody's action.
   */
  nextTrial(): Date | undefined {
    const times = [this.#refusals.next(), this.budgets.next(), this.#app.sandboxes.next];
    return times
      .filter((time) => time !== undefined)
      .sort((a, b) => Number(a) - Number(b))
      .at(0);
  }

  /** Logs a hold once for each tier, and for each run that was refused. */
  #defer(actor: string, tier: Tier, hold: Hold, run?: LogFields): void {
    const { id: account, reason, until, said } = hold;
    const deferral = { actor, tier: tier.name, reason, until };
    const known = this.#deferred.get(nameOf({ actor, tier: tier.name }));
    if (run !== undefined || known?.reason !== reason || known.until !== until || known.instead)
      this.#app.log('parked', { ...run, ...deferral, cli: account, said });
    this.#deferred.set(nameOf({ actor, tier: tier.name }), deferral);
  }
}

function nameOf({ actor, tier }: Pick<Deferral, 'actor' | 'tier'>): string {
  return `${actor} ${tier}`;
}
