import type { ActiveHost } from '../bus/approvals.ts';
import type { ItemTroubles } from '../bus/stalls.ts';
import type { DeadLetter } from '../state/dead-letters.ts';
import type { Batches } from './batches.ts';
import type { DueSource, Startable } from './due.ts';
import type { Deliveries } from './intake/deliveries.ts';
import type { Gated } from './gates/gated.ts';
import type { Lanes } from './lanes.ts';
import type { Guards } from './run/guards.ts';
import { tiersFor, untriedTiers } from './run/tier-choice.ts';
import type { Retries } from './retries.ts';

export interface DueRetriesParts {
  retries: Retries;
  deliveries: Deliveries;
  lanes: Lanes;
  guards: Pick<Guards, 'budgets'>;
  batches: Batches;
  gated: Gated;
  troubles: ItemTroubles;
}

/** Runs for dead letters that are to be retried, each one at its time. */
export class DueRetries implements DueSource {
  readonly #parts: DueRetriesParts;

  constructor(parts: DueRetriesParts) {
    this.#parts = parts;
  }

  next(): Promise<Date | undefined> {
    return this.#parts.retries.next();
  }

  async *due(host: ActiveHost): AsyncGenerator<Startable> {
    const { retries, troubles } = this.#parts;
    for (const letter of await retries.due())
      yield* troubles.each(`dead letter ${letter.id}`, this.#dueFor(host, letter));
  }

  async *#dueFor(host: ActiveHost, letter: DeadLetter): AsyncGenerator<Startable> {
    const { retries, deliveries, lanes, batches, guards, gated } = this.#parts;
    const { id, actor, channel, messages } = letter;
    const tiers = tiersFor(host.actors.get(actor) ?? [], [], letter);
    const untried = untriedTiers(tiers, letter);
    if (!untried.some((tier) => lanes.isFree(actor, tier))) return;
    if (guards.budgets.waits({ actor, channel, messages }, untried)) return;
    if (gated.waits({ actor, channel, messages })) return;
    const tip = deliveries.mailboxes.scanned ?? '';
    yield {
      actor,
      ...{ channel, messages, tiers, untried },
      fanIn: await batches.fanInOfLetter(tip, letter),
      tip,
      begin: () => {
        retries.begin(id);
        const batch = { actor, channel, messages, released: true, isRest: false, isDealt: false };
        return { ...batch, letter };
      },
      end: () => {
        retries.end(id);
      },
    };
  }
}
