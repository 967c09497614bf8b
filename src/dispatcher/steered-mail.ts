import type { Engine } from './run/engine.ts';
import { whyNotSteering } from '../protocol/steer.ts';
import type { Delivery } from '../protocol/mailbox.ts';
import type { Jobs } from './jobs.ts';
import type { Job } from './run/job.ts';
import { RunSteering } from './steering/run-steering.ts';

/**
 * Passes messages for work under way to the run that does it (warm.md, "Steering"). A message that cannot go there is
 * an ordinary one, and stays in its mailbox.
 */
export class SteeredMail {
  readonly #engine: Engine;
  /** Those that were looked at, and were none or came too late: each is judged once. */
  readonly #ordinary = new WeakSet<Delivery>();
  readonly #judged = new WeakSet<Delivery>();

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Returns the steering of a job's run. */
  steeringOf(job: Job): RunSteering {
    const { mailboxes } = this.#engine.deliveries;
    const { actor, channel } = job;
    return new RunSteering(this.#engine, job, (message) => {
      mailboxes.giveBack(actor, channel, [message]);
      for (const box of mailboxes.waiting())
        for (const one of box.messages)
          if (one.actor === actor && one.channel === channel && one.relPath === message)
            this.#ordinary.add(one);
    });
  }

  /** Passes on the messages that wait for a run that is under way. */
  async look(jobs: Jobs): Promise<void> {
    const { deliveries, stalled } = this.#engine;
    const { mailboxes } = deliveries;
    const tip = mailboxes.scanned;
    if (tip === undefined) return;
    const waiting = mailboxes.waiting().flatMap(({ messages }) => messages);
    for (const delivery of waiting) {
      const { steers } = delivery.message;
      if (steers === undefined || this.#ordinary.has(delivery)) continue;
      const { actor, channel, relPath } = delivery;
      const isOne = stalled.mail.try(relPath, () => this.#isOne(delivery, tip, steers));
      if ((await isOne) !== true) continue;
      // Nothing is awaited from here on: a run that ends meanwhile takes nothing.
      const job = jobs.steerable(actor, { channel, relPath: steers });
      if (job?.steering === undefined || !mayTake(job, delivery)) continue;
      if (mailboxes.take(actor, channel, [relPath]).length === 1) job.steering.take(relPath, tip);
    }
  }

  async #isOne(delivery: Delivery, tip: string, steers: string): Promise<boolean> {
    if (this.#judged.has(delivery)) return true;
    const { actor, channel, relPath, message } = delivery;
    const target = await this.#engine.reader.message(tip, channel, steers);
    const reason = whyNotSteering(message, target, actor);
    if (reason === undefined) this.#judged.add(delivery);
    else {
      this.#ordinary.add(delivery);
      this.#engine.log('steering_ignored', { actor, channel, message: relPath, steers, reason });
    }
    return reason === undefined;
  }
}

/**
 * Whether a job may take a message: a plan is decided on by its own mail, and another tier may have other
 * permissions.
 */
function mayTake({ tier, plans, approval }: Job, { message }: Delivery): boolean {
  const isOfTier = message.tier === undefined || message.tier === tier.name;
  return plans !== true && approval === undefined && tier.gate === undefined && isOfTier;
}
