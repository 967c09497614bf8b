import { type Batches, lookedAt, steeredBy } from './batches.ts';
import type { Barriers } from './barriers.ts';
import type { Slots } from './slots.ts';
import type { Engine } from './run/engine.ts';
import type { ActiveHost } from '../bus/approvals.ts';
import type { DueSource, Startable } from './due.ts';
import type { Deliveries } from './intake/deliveries.ts';
import { isQuestion } from '../protocol/causality.ts';
import { isFirst } from '../protocol/thread.ts';
import type { Tier } from '../protocol/files/host-file.ts';
import type { Delivery } from '../protocol/mailbox.ts';
import { tiersFor } from './run/job.ts';

/**
 * Runs for the messages in the mailboxes. They are due as soon as there is room. They become due at
 * a certain time only when an agent CLI that refused to work is to be tried again, since its
 * messages wait in the mailboxes meanwhile. When answers that wait for others become due, {@link Barriers}
 * knows.
 */
export class WaitingMail implements DueSource {
  readonly #engine: Engine;
  readonly #lanes: Pick<Slots, 'isFree'>;
  readonly #batches: Batches;
  readonly #joins: Pick<Barriers, 'follow' | 'holds'>;

  constructor(
    engine: Engine,
    lanes: Pick<Slots, 'isFree'>,
    batches: Batches,
    joins: Pick<Barriers, 'follow' | 'holds'>,
  ) {
    this.#engine = engine;
    this.#lanes = lanes;
    this.#batches = batches;
    this.#joins = joins;
  }

  next(): Promise<Date | undefined> {
    return Promise.resolve(this.#engine.guards.nextTrial());
  }

  async *due(host: ActiveHost): AsyncGenerator<Startable> {
    const { deliveries, guards, stalled } = this.#engine;
    const { mailboxes } = deliveries;
    const every = mailboxes.waiting();
    this.#joins.follow(every);
    await guards.budgets.follow(host.actors, every);
    for (const waiting of withoutHeld(this.#engine, host, every))
      yield* stalled.mail.each(waiting.actor, this.#dueIn(host, waiting));
  }

  async *#dueIn(host: ActiveHost, waiting: MailboxMail): AsyncGenerator<Startable> {
    const { deliveries, guards, extras } = this.#engine;
    const { mailboxes } = deliveries;
    const { actor, channel } = waiting;
    const tiers = host.actors.get(actor) ?? [];
    if (!tiers.some((tier) => this.#lanes.isFree(actor, tier))) return;
    const looked = await lookedAt(waiting.messages, tiers, async (asked) => {
      for (const tier of tiersFor(tiers, [asked.name]))
        if (this.#lanes.isFree(actor, tier) && (await guards.allows(actor, tier))) return true;
      return false;
    });
    const tip = mailboxes.scanned ?? '';
    const messages = await extras.candidates(tip, looked);
    const found = await this.#batches.of(tip, { actor, channel, messages });
    for (const batch of found.flatMap((one) =>
      apart(one, tiers, (delivery) => extras.isAlone(delivery)),
    )) {
      const fanIn = this.#batches.fanInOf(batch);
      if (await this.#joins.holds(host.alias, tip, fanIn, batch)) continue;
      const order = tiersFor(
        tiers,
        batch.map(({ message }) => message.tier),
      );
      yield {
        ...{ actor, channel, messages: batch.map(({ relPath }) => relPath) },
        ...{ tiers: order, untried: order },
        fanIn,
        tip,
        begin: () => {
          const relPaths = batch.map(({ relPath }) => relPath);
          const taken = mailboxes.take(actor, channel, relPaths);
          return {
            actor,
            channel,
            messages: taken.map(({ relPath }) => relPath),
            released: false,
            isRest: taken.every(({ rest }) => rest === true),
            isDealt: taken.every(({ dealt }) => dealt === true),
          };
        },
      };
    }
  }
}

/**
 * Splits a batch for delivery: a message that one host takes is alone, as its claim is for it; where a tier has a gate each new task is planned for itself, so that nobody decides on
 * somebody else's task; and where one keeps sessions no two threads share one. As a batch is one conversation, its
 * questions are in one old thread, or each of them starts a thread.
 */
function apart(
  batch: Delivery[],
  tiers: readonly Tier[],
  isAlone: (delivery: Delivery) => boolean,
): Delivery[][] {
  const isGated = tiers.some(({ gate }) => gate !== undefined);
  const isWhole = !isGated && tiers.every(({ session }) => session === undefined);
  if (isWhole && !batch.some(isAlone)) return [batch];
  const tasks = batch.filter(({ message }) => isQuestion(message));
  const others = batch.filter((one) => !tasks.includes(one));
  const byPath = new Map(tasks.map((one) => [one.relPath, one]));
  const groups = new Map<string, Delivery[]>();
  for (const one of tasks) {
    const first = steeredBy(one, byPath);
    const isOwn = isGated || isAlone(first) || (!isWhole && isFirst(first));
    const name = isOwn ? first.relPath : 'together';
    groups.set(name, [...(groups.get(name) ?? []), one]);
  }
  return [...groups.values(), ...(others.length > 0 ? [others] : [])];
}

/** Returns the boxes without the mail that waits for budgets, or at a gate. */
function withoutHeld(
  { guards: { budgets }, gated }: Pick<Engine, 'guards' | 'gated'>,
  { actors }: ActiveHost,
  all: MailboxMail[],
): MailboxMail[] {
  if (budgets.isEmpty && gated.isEmpty) return all;
  return all.flatMap((box) => {
    const { actor, channel } = box;
    const tiers = actors.get(actor) ?? [];
    const messages = box.messages.filter(
      ({ relPath, message }) =>
        !gated.holds(actor, channel, relPath) &&
        !budgets.waits({ actor, channel, messages: [relPath] }, tiersFor(tiers, [message.tier])),
    );
    return messages.length === 0 ? [] : [{ ...box, messages }];
  });
}

type MailboxMail = ReturnType<Deliveries['mailboxes']['waiting']>[number];
