import type { ActiveHost } from '../bus/approvals.ts';
import type { Batches } from './batches.ts';
import { lookedAt } from './batches.ts';
import type { DueSource, Startable } from './due.ts';
import type { Deliveries } from './intake/deliveries.ts';
import type { Joins } from './joins.ts';
import type { Lanes } from './lanes.ts';
import type { BudgetMail } from './run/budget-mail.ts';
import type { Guards } from './run/guards.ts';

export interface WaitingMailParts {
  deliveries: Deliveries;
  guards: Guards;
  lanes: Lanes;
  batches: Batches;
  joins: Pick<Joins, 'follow' | 'holds'>;
}

/**
 * Runs for the messages in the mailboxes. They are due as soon as there is room. They become due at
 * a certain time only when an agent CLI that refused to work is to be tried again, since its
 * messages wait in the mailboxes meanwhile. When answers that wait for others become due, {@link Joins}
 * knows.
 */
export class WaitingMail implements DueSource {
  readonly #parts: WaitingMailParts;

  constructor(parts: WaitingMailParts) {
    this.#parts = parts;
  }

  next(): Promise<Date | undefined> {
    return Promise.resolve(this.#parts.guards.nextTrial());
  }

  async *due(host: ActiveHost): AsyncGenerator<Startable> {
    const { deliveries, guards, lanes, batches, joins } = this.#parts;
    const { mailboxes } = deliveries;
    const every = mailboxes.waiting();
    joins.follow(every);
    await guards.budgets.follow(host.actors, every);
    for (const waiting of withoutHeld(guards.budgets, every)) {
      const { actor, channel } = waiting;
      const tiers = host.actors.get(actor) ?? [];
      if (!tiers.some((tier) => lanes.isFree(actor, tier))) continue;
      const messages = await lookedAt(waiting.messages, tiers, async (tier) =>
        lanes.isFree(actor, tier) ? guards.allows(actor, tier) : false,
      );
      const tip = mailboxes.scanned ?? '';
      for (const batch of await batches.of(tip, { actor, channel, messages })) {
        const fanIn = batches.fanInOf(batch);
        if (await joins.holds(host.alias, tip, fanIn, batch)) continue;
        yield {
          actor,
          tiers: batch.map(({ message }) => message.tier),
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
}

/** The boxes without the mail that waits for a budget. */
function withoutHeld<Box extends Waiting>(budgets: BudgetMail, all: Box[]): Box[] {
  if (budgets.isEmpty) return all;
  return all.flatMap((box) => {
    const messages = box.messages.filter(
      ({ relPath }) => !budgets.holds(box.actor, box.channel, relPath),
    );
    return messages.length === 0 ? [] : [{ ...box, messages }];
  });
}

interface Waiting {
  actor: string;
  channel: string;
  messages: { relPath: string }[];
}
