import type { ActiveHost } from '../bus/approvals.ts';
import { Decisions } from '../bus/decisions.ts';
import type { Troubles } from '../bus/troubles.ts';
import { passed } from '../crash-points.ts';
import { reasonOf } from '../errors.ts';
import type { Tier } from '../protocol/files/host-file.ts';
import { outgoing } from '../protocol/outgoing.ts';
import { answerMessages, type Placed } from '../protocol/reply.ts';
import { MOST_IGNORED, type Gate } from '../state/gates.ts';
import type { DispatcherParts } from './dispatcher-parts.ts';
import type { DueSource, Startable } from './due.ts';
import { isOf } from './gates/gated.ts';
import type { Lanes } from './lanes.ts';
import { brief, type Briefing } from './run/briefing.ts';
import type { RunParts } from './run/job.ts';
import { announce } from './run/plan.ts';

export interface GatedMailParts extends DispatcherParts, Pick<RunParts, 'links' | 'crossings'> {
  lanes: Lanes;
  /** Gates of which nobody can say whether they were decided, and why. */
  undecidable: Troubles;
  /** Publishes an entry of the outbox, without waiting for it. */
  publish: (id: string) => void;
}

/**
 * The mail that waits for somebody to approve a plan (decision 46): what was decided is found out from the
 * record of the bus, each time. An approved batch is due as soon as there is room; a denied one is answered
 * with the note. A gate that its tier does not ask for any more, or whose mail is gone or was answered
 * otherwise, is removed.
 */
export class GatedMail implements DueSource {
  readonly #parts: GatedMailParts;
  readonly #decisions: Decisions;
  /** By gate, the commit at which its mail was looked at last. */
  readonly #looked = new Map<string, string>();

  constructor(parts: GatedMailParts) {
    this.#parts = parts;
    this.#decisions = new Decisions(parts);
  }

  /** Nothing of it is due by the clock: no time runs what nobody has approved. */
  next(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  async *due(host: ActiveHost): AsyncGenerator<Startable> {
    const { gated, deliveries, lanes, guards } = this.#parts;
    await gated.load();
    const tip = deliveries.mailboxes.scanned;
    if (tip === undefined) return;
    for (const found of gated.all) {
      const tiers = host.actors.get(found.actor);
      if (tiers === undefined) continue;
      const tier = tiers.find((one) => isOf(found, one));
      const gate = await this.#lookAt(host, tip, found, tier);
      if (gate?.decided?.decision !== 'approve' || tier === undefined) continue;
      const { actor, channel, messages } = gate;
      if (!this.#isPending(gate) || !lanes.isFree(actor, tier)) continue;
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

  /** @returns undefined if there is nothing to wait for any more, or nothing can be said now */
  async #lookAt(
    host: ActiveHost,
    tip: string,
    gate: Gate,
    tier: Tier | undefined,
  ): Promise<Gate | undefined> {
    const { gated, undecidable, log } = this.#parts;
    try {
      const why = await this.#whyMoot(host, tip, gate, tier);
      if (why !== undefined) {
        const { actor, channel, messages, proposal } = gate;
        log('gate_removed', { actor, channel, messages, proposal: proposal.relPath, reason: why });
        await gated.remove(gate.id);
        this.#looked.delete(gate.id);
        undecidable.over(gate.id);
        return undefined;
      }
      if (gate.announced !== true) {
        await announce(this.#parts, gate);
        this.#parts.publish(gate.entry.id);
      }
      const decided = gate.decided === undefined ? await this.#judged(tip, gate) : gate;
      undecidable.over(gate.id);
      if (decided.decided?.decision === 'deny') await this.#deny(host, tip, decided);
      return decided;
    } catch (error) {
      // Without `ssh-keygen`, or with a full disk: nothing runs, and it is looked at again.
      const reason = reasonOf(error);
      if (undecidable.of(gate.id)?.reason !== reason) log('internal_error', { error: reason });
      undecidable.note(gate.id, reason);
      return undefined;
    }
  }

  /** Why nothing is to be decided any more; the mail is settled then, or is planned anew. */
  async #whyMoot(
    host: ActiveHost,
    tip: string,
    gate: Gate,
    tier: Tier | undefined,
  ): Promise<string | undefined> {
    const { deliveries, deadLetters, transport } = this.#parts;
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
    const { mailboxes } = this.#parts.deliveries;
    const box = mailboxes.waiting().find((one) => one.actor === actor && one.channel === channel);
    const pending = new Set(box?.messages.map(({ relPath }) => relPath));
    return messages.every((message) => pending.has(message));
  }

  /** The gate with what was decided by now, and with what is ignored. */
  async #judged(tip: string, gate: Gate): Promise<Gate> {
    const { gated, reader, log } = this.#parts;
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

  /** Answers with the note of a denial. Crash order: the answer in the gate → in the outbox → no gate. */
  async #deny(host: ActiveHost, tip: string, gate: Gate): Promise<void> {
    const { gated, outbox, publisher, deliveries, deadLetters, publish } = this.#parts;
    const { actor, channel, messages } = gate;
    let { answer } = gate;
    if (answer === undefined) {
      const letters = await deadLetters.all();
      const letter = letters.find(
        (one) =>
          one.actor === actor &&
          one.channel === channel &&
          one.messages.includes(messages[0] ?? ''),
      );
      const answers = this.#denial(host, gate, await this.#brief(host, tip, gate));
      answer = {
        id: this.#parts.newId(),
        commits: answers.map(
          ({ message, channel: to }) =>
            outgoing(message, to, host.alias, this.#parts.suffix()).commit,
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
    if (answer.commits.length > 0) publish(answer.id);
  }

  #denial(host: ActiveHost, { actor, channel, decided }: Gate, briefing: Briefing): Placed[] {
    const { plans, batch } = briefing;
    const asked = plans.filter(({ answers }) => answers);
    const writer = { actor, host: host.alias, at: this.#parts.now() };
    const note = decided?.note ?? '';
    return answerMessages(asked, batch, note, writer, channel).map(({ channel: to, message }) => ({
      channel: to,
      message: { ...message, extra: { ...message.extra, denied: decided?.relPath } },
    }));
  }

  #brief(host: ActiveHost, tip: string, { actor, channel, messages }: Gate): Promise<Briefing> {
    return brief(this.#parts, { tip, channel, messages, actor, host: host.alias });
  }
}

function named({ relPath, ...facts }: { relPath: string; from: string; decision: string }): {
  message: string;
} {
  return { message: relPath, ...facts };
}
