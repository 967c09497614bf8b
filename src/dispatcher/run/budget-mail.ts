import type { Tier } from '../../protocol/files/host-file.ts';
import type { MessageRef } from '../../protocol/layout.ts';
import { endsByItself } from '../../protocol/text/words.ts';
import { BudgetHolds, BudgetPasses, type BudgetHold } from '../../state/bills/budget-holds.ts';
import type { App } from '../../bus/app.ts';
import type { Allowed, BudgetedRun, Budgets, Spent } from './budgets.ts';

/** The messages of a run. */
export interface Mail {
  actor: string;
  channel: string;
  messages: readonly string[];
}

/**
 * Mail that waits for a budget. Each message is looked at once, by the run it would start; from then on it stays in
 * its mailbox until its day is over, an operator releases it, or, where the runs under way are likely to use the
 * rest, one of them ends.
 */
export class BudgetMail {
  readonly #app: Pick<App, 'deadLetters' | 'now'>;
  readonly #budgets: Budgets;
  readonly #holds: BudgetHolds;
  /** Releases of mail by an operator. */
  readonly #passes: BudgetPasses;
  readonly #held = new Map<string, BudgetHold>();
  #told: Record<string, string> = {};
  /** Mail that an operator released, with the time: its run may start after a restart only. */
  #passed: Record<string, string> = {};
  /** Until when an operator let the mail of each actor pass, at the last look. */
  #passing: ReadonlyMap<string, string> = new Map();
  #isLoaded = false;
  #saving: Promise<void> = Promise.resolve();
  /** Mail that waits for the end of a run. */
  readonly #later = new Set<string>();

  constructor(app: Pick<App, 'paths' | 'deadLetters' | 'now'>, budgets: Budgets) {
    this.#app = app;
    this.#budgets = budgets;
    this.#holds = new BudgetHolds(app.paths.root);
    this.#passes = new BudgetPasses(app.paths.root);
  }

  /** Releases mail that need not wait any more; called before runs are started. */
  async look(): Promise<void> {
    const passes = this.#passes;
    if (!this.#isLoaded) {
      const { held, told, passed } = await this.#holds.load();
      for (const hold of held) this.#held.set(heldKey(hold, hold.message, hold.tier), hold);
      this.#told = { ...told, ...this.#told };
      this.#passed = { ...passed, ...this.#passed };
      this.#passing = await passes.load();
      this.#isLoaded = true;
    }
    if (this.#held.size === 0) return;
    this.#passing = await passes.load();
    const at = this.#app.now().toISOString();
    const over: string[] = [];
    for (const [key, hold] of this.#held) {
      const { actor, since, until } = hold;
      const isPassed = (this.#passing.get(actor) ?? '') >= since;
      if (isPassed) this.#passed[keyOf(hold, hold.message)] = at;
      if (isPassed || until <= at) over.push(key);
    }
    for (const key of over) this.#held.delete(key);
    if (over.length > 0) await this.#save();
  }

  /** Whether a run may start; if so, it counts as one under way until {@link end}. */
  async begin(run: BudgetedRun & Mail, thread: MessageRef): Promise<Allowed> {
    const keys = run.messages.map((message) => keyOf(run, message));
    const isPassed = keys.some((key) => Object.hasOwn(this.#passed, key));
    const allowed = await this.#budgets.begin(run, thread, { isPassed });
    // Now, as the run that it waits for may end before this one is given back.
    if (allowed.kind === 'later' && this.#budgets.isBusy)
      for (const key of keys) this.#later.add(key);
    return allowed;
  }

  /** Whether nothing waits. */
  get isEmpty(): boolean {
    return this.#held.size + this.#later.size === 0;
  }

  /** Which budget keeps messages from a tier. */
  holdOf({ actor, channel, messages }: Mail, { name }: Pick<Tier, 'name'>): BudgetHold | undefined {
    if (this.#held.size === 0) return undefined;
    for (const message of messages) {
      const hold = this.#held.get(heldKey({ actor, channel }, message, name));
      if (hold !== undefined) return hold;
    }
    return undefined;
  }

  /** Whether one of some messages waits in each of the tiers that may handle it. */
  waits(mail: Mail, tiers: readonly Pick<Tier, 'name'>[]): boolean {
    if (this.isEmpty) return false;
    const isLater = mail.messages.some((message) => this.#later.has(keyOf(mail, message)));
    return isLater || tiers.every((tier) => this.holdOf(mail, tier) !== undefined);
  }

  /**
   * Holds the mail of a run that may not start; this is durable on return.
   *
   * @param how `told`: keys of askers that are notified now; `letter`: the dead letter that was retried
   */
  async hold(
    { actor, channel, messages, tier }: Mail & { tier: Tier },
    spent: Spent,
    { told, letter }: { told: readonly string[]; letter: string | undefined },
  ): Promise<void> {
    const now = this.#app.now().toISOString();
    const since = [now, after(this.#passing.get(actor))].sort().at(-1) ?? now;
    for (const message of messages) {
      const hold = {
        ...{ actor, tier: tier.name, channel, message, ...spent, since },
        budgets: this.#budgets.inForce(tier),
        ...(letter !== undefined && { letter }),
      };
      this.#held.set(heldKey(hold, message, tier.name), hold);
    }
    for (const key of told) this.#told[key] = now;
    await this.#save();
  }

  /** Whether an asker was notified before that its mail waits. */
  isTold(key: string): boolean {
    return Object.hasOwn(this.#told, key);
  }

  /** Records that a job is over: mail that waits for a run to end is looked at again. */
  end(id: string): void {
    if (this.#budgets.end(id)) this.#later.clear();
  }

  /**
   * Forgets mail that is in no mailbox any more, and no retry, such as cancelled mail, and mail that waits for a
   * budget that was changed since.
   *
   * @param waiting the mail of all mailboxes
   */
  async follow(
    tiersOf: ReadonlyMap<string, readonly Tier[]>,
    waiting: readonly {
      actor: string;
      channel: string;
      messages: readonly { relPath: string }[];
    }[],
  ): Promise<void> {
    if (this.#held.size === 0) return;
    const there = new Set(
      waiting.flatMap((box) => box.messages.map(({ relPath }) => keyOf(box, relPath))),
    );
    const over: string[] = [];
    // As they were when the mailboxes were looked at.
    for (const [key, hold] of [...this.#held]) {
      const { actor, tier: name, letter, budgets } = hold;
      const tier = tiersOf.get(actor)?.find((one) => one.name === name);
      const isSame = tier !== undefined && this.#budgets.inForce(tier) === budgets;
      const isThere =
        letter === undefined
          ? there.has(keyOf(hold, hold.message))
          : (await this.#app.deadLetters.get(letter))?.state === 'retrying';
      if (!isSame || !isThere) over.push(key);
    }
    for (const key of over) this.#held.delete(key);
    if (over.length > 0) await this.#save();
  }

  /** Waiting mail, once for each tier and budget. */
  get waiting(): BudgetHold[] {
    const found = new Map<string, BudgetHold>();
    for (const hold of this.#held.values()) {
      const key = `${hold.actor} ${hold.tier} ${hold.said}`;
      if (!found.has(key)) found.set(key, hold);
    }
    return [...found.values()];
  }

  /** Returns the time when the first of it goes on automatically. */
  next(): Date | undefined {
    const ending = [...this.#held.values()].filter(({ reason }) => endsByItself(reason));
    const [first] = ending.map(({ until }) => until).sort();
    return first === undefined ? undefined : new Date(first);
  }

  /** Saves the records one after another, each as known by then: an older record must not replace a newer one. */
  #save(): Promise<void> {
    const save = (): Promise<void> => {
      const record = { held: [...this.#held.values()], told: this.#told, passed: this.#passed };
      return this.#holds.save(record, this.#app.now());
    };
    const saved = this.#saving.then(save);
    this.#saving = saved.catch(() => undefined);
    return saved;
  }
}

function keyOf({ actor, channel }: { actor: string; channel: string }, message: string): string {
  return `${actor} ${channel} ${message}`;
}

/** With a clock that was set back, mail that waits now would be earlier than the mail that an operator released. */
function after(pass: string | undefined): string {
  return pass === undefined ? '' : new Date(Date.parse(pass) + 1).toISOString();
}

function heldKey(mail: { actor: string; channel: string }, message: string, tier: string): string {
  return `${keyOf(mail, message)} ${tier}`;
}
