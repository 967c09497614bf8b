import type { Slots } from './slots.ts';
import type { Engine } from './run/engine.ts';
import type { ActiveHost } from '../bus/approvals.ts';
import { Decisions } from '../bus/decisions.ts';
import { passed } from '../crash-points.ts';
import type { Tier } from '../protocol/files/host-file.ts';
import { MOST_IGNORED, type Gate } from '../state/gates.ts';
import type { DueSource, Startable } from './due.ts';
import { isOf } from './gates/gated.ts';
import { brief, type Briefing } from './run/briefing.ts';

import { proposedAnew, standingOf, takeBack } from './gates/proposal.ts';
import { announce } from './run/plan.ts';
import { outgoing } from '../protocol/outgoing.ts';
import { answerMessages, type Placed } from '../protocol/reply.ts';

/**
 * Mail that waits for somebody to approve a plan (docs/decisions/15-gates.md): the decision is read from the record
 * of the bus, each time. An approved batch is due as soon as there is room; a denied one is answered with the name of
 * the approver and their note. A gate that its tier does not ask for any more, or whose mail is gone or was answered
 * otherwise, is removed.
 */
export class GatedMail implements DueSource {
  readonly #engine: Engine;
  readonly #lanes: Pick<Slots, 'isFree'>;
  readonly #publish: (id: string) => void;
  readonly #decisions: Decisions;
  /** By gate, the commit at which its mail was looked at last. */
  readonly #looked = new Map<string, string>();

  /** @param publish publishes an entry of the outbox, without waiting for it */
  constructor(engine: Engine, lanes: Pick<Slots, 'isFree'>, publish: (id: string) => void) {
    this.#engine = engine;
    this.#lanes = lanes;
    this.#publish = publish;
    this.#decisions = new Decisions(engine);
  }

  /** Returns nothing, as none of it is due by the clock: no time runs a plan that nobody has approved. */
  next(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  async *due(host: ActiveHost): AsyncGenerator<Startable> {
    const { gated, deliveries, guards, stalled } = this.#engine;
    await gated.load();
    const tip = deliveries.mailboxes.scanned;
    if (tip === undefined) return;
    for (const found of gated.all) {
      const tiers = host.actors.get(found.actor);
      if (tiers === undefined) continue;
      const tier = tiers.find((one) => isOf(found, one));
      // Without `ssh-keygen`, or with a full disk: nothing runs, and it is looked at again.
      const looked = stalled.mail.try(`gate ${found.id}`, () =>
        this.#lookAt(host, tip, found, tier),
      );
      const gate = await looked;
      if (gate?.decided?.decision !== 'approve' || tier === undefined) continue;
      const { actor, channel, messages } = gate;
      if (!this.#isPending(gate) || !this.#lanes.isFree(actor, tier)) continue;
      if (guards.budgets.waits({ actor, channel, messages }, [tier])) continue;
      yield {
        ...{ actor, channel, messages, tiers: [tier], untried: [tier] },
        fanIn: undefined,
        tip,
        begin: () => {
          const taken = deliveries.mailboxes.take(actor, channel, messages);
          const batch = { actor, channel, messages: taken.map(({ relPath }) => relPath) };
          return { ...batch, released: false, isRest: false, isDealt: false };
        },
      };
    }
  }

  /** @returns undefined if there is nothing to wait for any more */
  async #lookAt(
    host: ActiveHost,
    tip: string,
    gate: Gate,
    tier: Tier | undefined,
  ): Promise<Gate | undefined> {
    const isNews = this.#looked.get(gate.id) !== tip;
    const why = await this.#whyMoot(host, tip, gate, tier);
    if (why !== undefined) {
      await this.#remove(host, tip, gate, why);
      return undefined;
    }
    if (gate.announced !== true) await this.#announce(gate);
    const decided = gate.decided === undefined ? await this.#judged(tip, gate) : gate;
    if (decided.decided?.decision === 'deny') {
      const read = (): Promise<Briefing> => this.#brief(host, tip, decided);
      const entry = await answerDenied(this.#engine, host.alias, decided, read);
      if (entry !== undefined) this.#publish(entry);
    }
    if (decided.decided === undefined && isNews) await this.#askAgain(host, tip, decided);
    return decided;
  }

  /** Crash order: the message that takes the proposal back in the outbox → no gate. */
  async #remove(host: ActiveHost, tip: string, gate: Gate, why: string): Promise<void> {
    const { gated, log } = this.#engine;
    const { id, actor, channel, messages, proposal, decided } = gate;
    const asked = { ...proposal, actor, host: host.alias, messages };
    const isOver = decided !== undefined || (await this.#decisions.isOver(tip, asked));
    const over = isOver ? undefined : await takeBack(this.#engine, host.alias, gate, why);
    log('gate_removed', { actor, channel, messages, proposal: proposal.relPath, reason: why });
    await gated.remove(id);
    this.#looked.delete(id);
    if (over !== undefined) this.#publish(over);
  }

  async #announce(gate: Gate): Promise<void> {
    await announce(this.#engine, gate);
    this.#publish(gate.entry.id);
  }

  /** Asks once more where the bus does not have the proposal as this machine has written it. */
  async #askAgain(host: ActiveHost, tip: string, gate: Gate): Promise<void> {
    const reason = await standingOf(this.#engine, tip, gate);
    if (reason === 'as_written' || reason === 'on_its_way') return;
    const again = reason === 'removed' ? gate : proposedAnew(this.#engine, host.alias, gate);
    if (again === undefined) return;
    const { actor, proposal } = gate;
    const anew = { proposal: proposal.relPath, message: again.proposal.relPath };
    this.#engine.log('proposed_again', { actor, ...anew, reason });
    // Until it is announced, the next start does so.
    if (again !== gate) await this.#engine.gated.put(again);
    await this.#announce(again);
  }

  /** Returns the reason why nothing is to be decided any more; the mail is settled then, or is planned anew. */
  async #whyMoot(
    host: ActiveHost,
    tip: string,
    gate: Gate,
    tier: Tier | undefined,
  ): Promise<string | undefined> {
    const { deliveries, deadLetters, transport } = this.#engine;
    const { actor, channel, messages, open } = gate;
    if (gate.answer !== undefined) return undefined;
    if (tier === undefined) return 'the gate of its tier has changed';
    const unsettled = new Set(deliveries.mailboxes.unsettled(channel, actor));
    const letters = (await deadLetters.all()).filter(
      (letter) =>
        letter.actor === actor && letter.channel === channel && letter.state !== 'cancelled',
    );
    const isThere = (message: string): boolean =>
      unsettled.has(message) || letters.some((letter) => letter.messages.includes(message));
    if (!messages.every(isThere)) return 'its mail is settled';
    if (this.#looked.get(gate.id) === tip) return undefined;
    if ((await transport.objects.ids([gate.tip]))[0] === undefined)
      return 'what its plan has read is not there any more';
    if (open.length > 0 && this.#isPending(gate)) {
      const { answered } = await this.#brief(host, tip, gate);
      if (open.every((question) => answered.has(question))) {
        await deliveries.settle(actor, channel, messages);
        return 'its questions are answered';
      }
    }
    this.#looked.set(gate.id, tip);
    return undefined;
  }

  /** Whether all of its mail is in the mailbox, and in no run. */
  #isPending({ actor, channel, messages }: Gate): boolean {
    const { mailboxes } = this.#engine.deliveries;
    const box = mailboxes.waiting().find((one) => one.actor === actor && one.channel === channel);
    const pending = new Set(box?.messages.map(({ relPath }) => relPath));
    return messages.every((message) => pending.has(message));
  }

  /** Returns the gate with the decisions so far, and with those that are ignored. */
  async #judged(tip: string, gate: Gate): Promise<Gate> {
    const { gated, reader, log } = this.#engine;
    const { proposal, approver, actor } = gate;
    const { decided, ignored } = await this.#decisions.judge(tip, { ...proposal, approver });
    const known = new Set(gate.ignored.map(({ relPath }) => relPath));
    const kept = ignored.slice(0, MOST_IGNORED);
    const fresh = kept.filter(({ relPath }) => !known.has(relPath));
    for (const one of fresh)
      log('decision_ignored', { actor, proposal: proposal.relPath, ...named(one) });
    if (decided === undefined && fresh.length === 0) return gate;
    const message = decided && (await reader.message(tip, proposal.channel, decided.relPath));
    const now: Gate = {
      ...gate,
      ignored: kept,
      ...(decided && { decided: { ...decided, note: message?.body ?? '' } }),
    };
    await gated.put(now);
    if (decided === undefined) return now;
    passed('decision_written');
    log('decided', { actor, proposal: proposal.relPath, ...named(decided), by: decided.by });
    return now;
  }

  #brief(host: ActiveHost, tip: string, { actor, channel, messages }: Gate): Promise<Briefing> {
    return brief(this.#engine, { tip, channel, messages, actor, host: host.alias });
  }
}

function named({ relPath, ...facts }: { relPath: string; from: string; decision: string }): {
  message: string;
} {
  return { message: relPath, ...facts };
}

/**
 * Answers with a denial and its note. Crash order: the answer in the gate → in the outbox → no gate.
 *
 * @param host the alias of this machine
 * @param brief reads the mail of the gate; called once at most
 * @returns the entry to publish, if there is one
 */
async function answerDenied(
  engine: Engine,
  host: string,
  gate: Gate,
  brief: () => Promise<Briefing>,
): Promise<string | undefined> {
  const { gated, outbox, publisher, deliveries, deadLetters } = engine;
  const { actor, channel, messages } = gate;
  let { answer } = gate;
  if (answer === undefined) {
    const letters = await deadLetters.all();
    const letter = letters.find(
      (one) =>
        one.actor === actor && one.channel === channel && one.messages.includes(messages[0] ?? ''),
    );
    const answers = denial(engine, host, gate, await brief());
    answer = {
      id: engine.newId(),
      commits: answers.map(
        ({ message, channel: to }) => outgoing(message, to, host, engine.suffix()).commit,
      ),
      delivery: { actor, channel, messages, ...(letter && { deadLetter: letter.id }) },
    };
    await gated.put({ ...gate, answer });
  }
  deliveries.mailboxes.take(actor, channel, messages);
  if (answer.commits.length === 0) {
    await deliveries.settle(actor, channel, messages);
    const { deadLetter } = answer.delivery ?? {};
    if (deadLetter !== undefined) await deadLetters.remove(deadLetter);
  } else {
    await outbox.put(answer);
    publisher.expected.add(answer);
    passed('denial_queued');
  }
  await gated.remove(gate.id);
  return answer.commits.length > 0 ? answer.id : undefined;
}

function denial(
  { now }: Engine,
  host: string,
  { actor, channel, approver, decided }: Gate,
  { plans, batch }: Briefing,
): Placed[] {
  const asked = plans.filter(({ answers }) => answers);
  const writer = { actor, host, at: now() };
  // The words of somebody else must not look like the actor's own.
  const note = (decided?.note ?? '').trim();
  const said = `${approver} denied the plan${note === '' ? '.' : `: ${note}`}\n`;
  return answerMessages(asked, batch, said, writer, channel).map(({ channel: to, message }) => ({
    channel: to,
    message: { ...message, extra: { ...message.extra, denied: decided?.relPath } },
  }));
}
