import type { Engine } from './run/engine.ts';
import { withoutForgedCancels } from '../bus/verifier.ts';
import type { ActiveHost } from '../bus/approvals.ts';
import { passed } from '../crash-points.ts';
import { isSystemError, reasonOf } from '../errors.ts';
import { isQuestion } from '../protocol/causality.ts';
import { cancelMessage, isByOperator, isFor, mayCancel } from '../protocol/cancel.ts';
import { messageKey, type MessageRef, placeOfRef, placeOf } from '../protocol/layout.ts';
import { type Located, type Message, parseMessage } from '../protocol/message.ts';
import { outgoing } from '../protocol/outgoing.ts';
import { owedTasks, questionsBehind } from '../protocol/pending.ts';
import { steeringsOn } from '../protocol/steer.ts';
import type { OutboxEntry } from '../state/outbox.ts';
import type { Jobs } from './jobs.ts';
import type { Deliveries } from './intake/deliveries.ts';
import type { CancelFound } from './intake/scan-findings.ts';
import { brief, type Briefing } from './run/briefing.ts';
import { cancelledLetters } from './run/letters.ts';

/** Number of attempts at a cancellation that fails, unless the system refused something. */
const TRIES = 5;

/**
 * Carries out cancellations of messages by their writers (talk.md, "Cancelling"): waiting deliveries are settled,
 * runs are ended, and the tasks that an actor delegated for them are cancelled in its name.
 *
 * Crash order: a file that a notice is due → the dead letter → the delivery is settled → its run is ended → the
 * tasks. The message that cancels is on record, and no cursor is saved before all of this is done, so the next start
 * does the rest. Doing it twice changes nothing.
 */
export class Cancellations {
  readonly #engine: Engine;
  readonly #jobs: Pick<Jobs, 'count' | 'end'>;
  readonly #publish: (id: string) => void;
  readonly #early = new EarlyCancels();
  #tries = 0;

  /**
   * @param jobs the runs under way
   * @param publish publishes an entry of the outbox, without waiting for it
   */
  constructor(engine: Engine, jobs: Pick<Jobs, 'count' | 'end'>, publish: (id: string) => void) {
    this.#engine = engine;
    this.#jobs = jobs;
    this.#publish = publish;
  }

  /**
   * Honours the cancellations that scans have found, each kind once: anybody can push a thousand of the same content.
   *
   * @param tip the commit scanned last
   * @throws errors that should be tried again at the next tick, such as for a full disk
   */
  async honour(host: ActiveHost, tip: string): Promise<void> {
    const { cancels } = this.#engine.deliveries.reports;
    cancels.push(...this.#early.due(this.#engine.deliveries));
    const done = new Set<string>();
    for (let found = cancels[0]; found !== undefined; found = cancels[0]) {
      const { channel, message } = found;
      const { from, host: on, cancels: target, only, as_operator: asOperator } = message;
      const kind = JSON.stringify([channel, from, on, target, only, asOperator]);
      if (!done.has(kind)) await this.#honour(host, tip, found).catch(this.#orGiveUp(found));
      done.add(kind);
      this.#tries = 0;
      cancels.shift();
    }
  }

  /** Throws an error, but not for ever: one message must not stop all that is delivered here. */
  #orGiveUp({ relPath }: CancelFound): (error: unknown) => void {
    return (error) => {
      if (isSystemError(error) || ++this.#tries < TRIES) throw error;
      this.#engine.log('internal_error', { error: `cancelling by ${relPath}: ${reasonOf(error)}` });
    };
  }

  /** Ends at once the work that an entry of the outbox cancels here; the bus may be out of reach. */
  async foresee(host: ActiveHost, tip: string, entry: OutboxEntry): Promise<void> {
    for (const found of cancelsIn(entry)) {
      const target = await this.#targetOf(tip, found);
      if (target === undefined) continue;
      for (const actor of host.actors.keys())
        if (isFor(target.message, actor, host.alias))
          await this.#drop(actor, target, found.message);
    }
  }

  async #honour(host: ActiveHost, tip: string, found: CancelFound): Promise<void> {
    const target = await this.#targetOf(tip, found);
    if (target === undefined) return;
    const { channel, relPath } = found;
    const place = { tip, from: channel };
    const [believed] = await withoutForgedCancels(this.#engine.verifier, place, [found]);
    if (believed === undefined) {
      this.#ignore(found, target, 'its writer, whose key is pinned here, has not signed it');
      return;
    }
    // A scan keeps no text, and the reason is one.
    const cancel = (await this.#engine.reader.message(tip, channel, relPath)) ?? found.message;
    for (const actor of host.actors.keys()) {
      if (!isFor(target.message, actor, host.alias)) continue;
      if (!mayCancel(cancel, target.message) && found.unserved !== actor) continue;
      const batch = { actor, host: host.alias, channel, tip, messages: [relPath] };
      const briefing = await brief(this.#engine, batch);
      await this.#drop(actor, target, cancel, briefing);
      for (const more of steeringsOn(target, actor, briefing.channel))
        await this.#drop(actor, { ...more, channel }, cancel, briefing);
      if (found.message.only !== true) await this.#cancelTasks(actor, host.alias, target, briefing);
    }
  }

  /**
   * Returns the message that a message cancels, if it may: only its writer can, and only a message that is served
   * here.
   */
  async #targetOf(tip: string, found: CancelFound): Promise<CancelFound | undefined> {
    const { channel, message, unserved } = found;
    const place = targetOf(found);
    if (place.channel !== channel) return undefined;
    const target = await this.#engine.reader.message(tip, channel, place.relPath);
    if (target === undefined) {
      this.#early.keep(found);
      return undefined;
    }
    const isOperators = unserved !== undefined && isByOperator(message, target);
    if (mayCancel(message, target) || isOperators) return { ...place, message: target };
    const reason = 'somebody else wrote the message that it cancels, or that takes one back itself';
    this.#ignore(found, place, reason);
    return undefined;
  }

  #ignore({ relPath }: CancelFound, target: MessageRef, reason: string): void {
    this.#engine.log('cancel_ignored', { message: relPath, cancels: target.relPath, reason });
  }

  /**
   * Ends and settles the deliveries of an actor.
   * @param briefing the related messages on the bus; without it, only what waits or runs here counts
   */
  async #drop(
    actor: string,
    target: CancelFound,
    cancel: Message,
    briefing?: Briefing,
  ): Promise<void> {
    const { deliveries, deadLetters, log, pools } = this.#engine;
    const { channel, relPath } = target;
    const claim = await pools.cancelling({ ...target, actor });
    if (claim === 'elsewhere') return;
    const ended = this.#jobs.count(actor, target);
    const isOpen = ended > 0 || isWaiting(deliveries, actor, target);
    const letters = await deadLetters.all();
    const about = letters.filter(
      (one) => one.actor === actor && one.channel === channel && one.messages.includes(relPath),
    );
    // Its run may have failed while it was taken back: then that letter must not be tried again.
    const known = about.find(({ state }) => state !== 'cancelled') ?? about[0];
    const isDue = briefing === undefined ? isOpen : isUnsaid(actor, relPath, briefing);
    if (known === undefined ? isDue : known.state !== 'cancelled') {
      const delivery = { actor, channel, messages: [relPath] };
      const { letter, rest } = cancelledLetters(this.#engine, delivery, cancel, known);
      // First: after a crash in between, the message has no letter, and receives one.
      if (rest !== undefined) await deadLetters.put(rest);
      // A reply that is cancelled leaves its question open, so there is nothing to report.
      if (!isQuestion(target.message)) await deadLetters.put(letter);
      else {
        await deadLetters.putToTell(letter, claim);
        await pools.cancelled({ channel, relPath, actor });
      }
      passed('letter_written');
      log('cancelled', { id: letter.id, actor, channel, messages: letter.messages, ended });
    }
    if (isOpen) await deliveries.settle(actor, channel, [relPath]);
    // Not sooner: it has been paid for, and without the letter it would be run again.
    this.#jobs.end(actor, target);
  }

  /** Takes back, in an actor's name, the tasks for a question to which others still owe an answer. */
  async #cancelTasks(
    actor: string,
    host: string,
    { channel, relPath }: MessageRef,
    { channel: thread, lookup, cancelled }: Briefing,
  ): Promise<void> {
    const { outbox, now, newId, suffix } = this.#engine;
    const owed = owedTasks(actor, [relPath], thread, lookup);
    if (owed.length === 0) return;
    const queued = await this.#queuedCancels();
    const known = new Map(thread.map((one) => [one.relPath, one.message]));
    const commits = owed.flatMap((ref) => {
      const place = placeOfRef(channel, ref);
      const task = known.get(ref);
      if (task?.host !== host || queued.has(messageKey(place))) return [];
      // It may be for a question, too, that nobody took back.
      const unread = task.cause.filter((origin) => lookup(origin) === undefined);
      const behind = questionsBehind({ relPath: ref, message: task }, actor, lookup);
      const others = [...behind, ...unread].filter((open) => open !== relPath);
      if (others.some((open) => !cancelled.has(open))) return [];
      const target: Located = { relPath: place.relPath, message: task };
      const message = cancelMessage(target, BECAUSE, { actor, host, at: now() }, { only: false });
      return [outgoing(message, place.channel, host, suffix()).commit];
    });
    if (commits.length === 0) return;
    const entry = { id: newId(), commits };
    await outbox.put(entry);
    this.#publish(entry.id);
  }

  /** Returns the messages that entries of the outbox cancel already. */
  async #queuedCancels(): Promise<Set<string>> {
    const entries = await this.#engine.outbox.all();
    return new Set(entries.flatMap(cancelsIn).map((one) => messageKey(targetOf(one))));
  }
}

const BECAUSE = 'Cancelled, because the question that it was for was cancelled.\n';

function isWaiting({ mailboxes }: Deliveries, actor: string, message: MessageRef): boolean {
  const key = messageKey(message);
  const waiting = mailboxes.waiting().flatMap(({ messages }) => messages);
  return [...waiting, ...mailboxes.awaitingContent()].some(
    (one) => one.actor === actor && messageKey(one) === key,
  );
}

/** Whether an actor has neither answered a message nor stated that there will be no answer. */
function isUnsaid(actor: string, relPath: string, { answered, channel }: Briefing): boolean {
  if (answered.has(relPath)) return false;
  return !channel.some(
    ({ message }) =>
      message.from === actor && message.failed !== undefined && message.re.includes(relPath),
  );
}

/** The most cancellations that wait for their message; anybody can push any number of them. */
const MAX_KEPT = 1000;

/**
 * Cancellations that came before the messages which they take back, or whose messages cannot be read
 * yet: two pushes need not arrive in their order, and a clone may lack content.
 */
class EarlyCancels {
  readonly #kept = new Map<string, CancelFound>();

  keep(found: CancelFound): void {
    const { channel, message } = found;
    this.#kept.set(JSON.stringify([channel, message.from, message.host, message.cancels]), found);
    const [oldest] = this.#kept.keys();
    if (oldest !== undefined && this.#kept.size > MAX_KEPT) this.#kept.delete(oldest);
  }

  /** Takes out those whose message waits to be delivered by now. */
  due({ mailboxes }: Deliveries): CancelFound[] {
    if (this.#kept.size === 0) return [];
    const waiting = new Set(
      mailboxes.waiting().flatMap(({ messages }) => messages.map((one) => messageKey(one))),
    );
    const due: CancelFound[] = [];
    for (const [key, found] of this.#kept) {
      if (!waiting.has(messageKey(targetOf(found)))) continue;
      this.#kept.delete(key);
      due.push(found);
    }
    return due;
  }
}

/** Returns the message that a cancellation takes back. */
function targetOf({ channel, message }: CancelFound): MessageRef {
  return placeOfRef(channel, message.cancels ?? '');
}

/** Returns the messages that an entry of the outbox cancels. */
function cancelsIn({ commits }: OutboxEntry): CancelFound[] {
  return commits
    .flatMap(({ files }) => files)
    .flatMap(({ path, content }) => {
      const place = placeOf(path);
      if (place.kind !== 'message' || !content.includes('\ncancels:')) return [];
      const parsed = parseMessage(Buffer.from(content));
      if (!parsed.ok || parsed.value.cancels === undefined) return [];
      return [{ channel: place.channel, relPath: place.relPath, message: parsed.value }];
    });
}
