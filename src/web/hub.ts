import { setTimeout as sleep } from 'node:timers/promises';
import { CANCELLED } from '../protocol/cancel.ts';
import { markOf } from '../protocol/owed.ts';
import { messageKey, type MessageRef } from '../protocol/layout.ts';
import { reasonOf } from '../errors.ts';
import { arrivals, type Arrival } from '../actions/lookup/arrivals.ts';
import { tipOf, type Context } from '../actions/context.ts';
import { webMessage } from '../actions/page/message-page.ts';
import { waitForNews } from '../actions/reading/news.ts';
import { verdict } from '../actions/page/overview.ts';
import { lettersOf, ownState, type OwnState } from '../actions/page/own-state.ts';
import { endedRuns } from '../actions/page/ended-runs.ts';
import { watchState } from '../actions/page/state-watch.ts';
import { status } from '../actions/health/status.ts';
import type { WebFact, WebRun } from '../api/api.ts';
import { EventRing } from './ring.ts';

/** Milliseconds between checks of the local tip, for a manual `git fetch`: other changes are notified. */
const LOOK_MS = 1000;
const AFTER_ERROR_MS = 1000;
/** Milliseconds in which changes are collected for one verdict. */
const VERDICT_MS = 250;
const VERDICT_PATIENCE_MS = 500;
const KEPT_RUNS = 1000;
/** Maximum number of messages that are remembered as having arrived. */
const KEPT_KEYS = 10_000;
/** Maximum number of items of each list in an event. */
const SHOWN = 100;

/** A hub that follows the bus and this machine's state once for all pages, and adds the events to the ring. */
export class Hub {
  readonly ring: EventRing;
  /** The open streams. */
  readonly streams = new Set<AbortController>();
  /** Runs that ended while the server observed them, oldest first. */
  readonly ended: WebRun[] = [];
  /** The number of runs that ended since the start, by outcome. */
  readonly outcomes = new Map<WebRun['outcome'], number>();
  tip = '';
  readonly #context: Context;
  readonly #arrived = new Set<string>();
  readonly #sending = new Set<string>();
  readonly #answered = new Set<string>();
  #own: OwnState | undefined;
  #patience = new AbortController();
  #verdict = '';
  readonly #waiting = new Set<() => void>();

  constructor(context: Context, epoch: string) {
    this.#context = context;
    this.ring = new EventRing(epoch);
  }

  /** Starts to follow; resolves once the current state is known. `done` resolves after the signal is aborted. */
  async start(signal: AbortSignal): Promise<{ done: Promise<void> }> {
    this.tip = await tipOf(this.#context);
    this.#own = await ownState(this.#context);
    const { paths } = this.#context;
    const work = [
      this.#followBus(signal),
      watchState(paths, () => this.#lookAtState(), { signal }),
      watchState(paths, () => this.#judge(), { signal, gather: VERDICT_MS }),
    ];
    const done = Promise.allSettled(work).then(() => {
      this.#tellAll();
    });
    return { done };
  }

  /** Resolves when there is an event after the given one, or when the signal is aborted. */
  more(after: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (this.ring.newest > after || signal.aborted) {
        resolve();
        return;
      }
      const done = (): void => {
        signal.removeEventListener('abort', done);
        this.#waiting.delete(done);
        resolve();
      };
      signal.addEventListener('abort', done);
      this.#waiting.add(done);
    });
  }

  /** Reports that a message was written here and is durable. */
  noteQueued(refs: readonly MessageRef[]): void {
    // A change of the state directory may have reported it already.
    const fresh = refs.filter((ref) => !this.#isKnown(messageKey(ref)));
    for (const ref of fresh) this.#sending.add(messageKey(ref));
    this.#tellOwn(fresh, 'queued');
  }

  /** Reports messages that were sent once more and are on the bus already. */
  noteSent(refs: readonly MessageRef[]): void {
    const unsaid = refs.filter((ref) => this.#sending.delete(messageKey(ref)));
    for (const ref of refs) this.#arrived.add(messageKey(ref));
    this.#tellOwn(unsaid, 'sent');
  }

  #tellOwn(refs: readonly MessageRef[], state: 'queued' | 'sent'): void {
    const at = this.#context.now().toISOString();
    this.#tellFacts(refs.map((ref) => ({ ...ref, at, state, actor: null, detail: null })));
  }

  async #followBus(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#takeNews(signal);
      } catch (error) {
        await this.#missNews(error, signal);
      }
    }
  }

  async #takeNews(signal: AbortSignal): Promise<void> {
    const tip = await this.#nextTip(signal);
    if (tip === undefined) return;
    const from = this.tip;
    this.tip = tip;
    for await (const some of arrivals(this.#context, from, tip)) await this.#arrive(some, tip);
    this.#push('tip', { tip });
  }

  /** Waits for the next tip; undefined when it should be looked up again immediately. */
  async #nextTip(signal: AbortSignal): Promise<string | undefined> {
    const patience = new AbortController();
    this.#patience = patience;
    const options = {
      signal: AbortSignal.any([signal, patience.signal]),
      timeout: Infinity,
      look: LOOK_MS,
    };
    try {
      return await waitForNews(this.#context, this.tip, options);
    } catch (error) {
      if (patience.signal.aborted) return undefined;
      throw error;
    }
  }

  async #missNews(error: unknown, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    this.#context.note(`could not follow the bus: ${reasonOf(error)}; trying again`);
    this.#push('reset', { reason: 'the bus could not be followed for a moment' });
    await sleep(AFTER_ERROR_MS, undefined, { signal }).catch(() => undefined);
  }

  async #arrive(some: readonly Arrival[], tip: string): Promise<void> {
    const channels = [...new Set(some.map(({ channel }) => channel))];
    for (const id of channels) {
      const channel = await this.#context.reader.channel(tip, id);
      const messages = some.filter((arrival) => arrival.channel === id);
      this.#push('messages', {
        tip,
        channel: id,
        channel_name: channel.name,
        messages: messages.map((located) => webMessage(located, channel, { queued: false })),
      });
    }
    for (const ref of some) this.#arrived.add(messageKey(ref));
    for (const { channel, message } of some)
      for (const relPath of [...message.re, ...message.cause])
        this.#answered.add(`${messageKey({ channel, relPath })} ${message.from}`);
    this.#tellFacts(factsOfArrivals(some, this.#sending, this.#context.now()));
    for (const ref of some) this.#sending.delete(messageKey(ref));
    for (const keys of [this.#arrived, this.#answered]) forget(keys, KEPT_KEYS);
  }

  async #lookAtState(): Promise<void> {
    const before = this.#own;
    const own = await ownState(this.#context);
    if (before === undefined) return;
    if ((await tipOf(this.#context)) !== this.tip) this.#patience.abort();
    const gone = await endedRuns(this.#context, goneRuns(before, own));
    this.#own = own;
    const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);
    const idsOf = (list: readonly { id: string }[]): string[] => list.map(({ id }) => id);
    if (!isSame(idsOf(own.outbox), idsOf(before.outbox)))
      this.#push('outbox', {
        at: this.#context.now().toISOString(),
        outbox: own.outbox.slice(0, SHOWN),
        outbox_total: own.outbox.length,
      });
    if (gone.length > 0 || !isSame(own.running, before.running)) {
      this.#noteEnded(gone);
      this.#push('runs', { running: own.running, ended: gone });
    }
    if (!isSame(own.dead_letters, before.dead_letters))
      this.#push('dead_letters', {
        dead_letters: lettersOf(own).slice(-SHOWN).reverse(),
        dead_letters_total: lettersOf(own).length,
      });
    const isKnown = (key: string): boolean => this.#isKnown(key);
    const facts = factsOfState({ before, own, gone }, isKnown, this.#context.now());
    for (const fact of facts) if (fact.state === 'queued') this.#sending.add(messageKey(fact));
    // An answer may arrive before the run was seen.
    const late = ({ state, actor, ...ref }: WebFact): boolean =>
      state === 'taken' && this.#answered.has(`${messageKey(ref)} ${actor ?? ''}`);
    this.#tellFacts(facts.filter((fact) => !late(fact)));
  }

  #isKnown(key: string): boolean {
    return this.#arrived.has(key) || this.#sending.has(key);
  }

  #noteEnded(gone: readonly WebRun[]): void {
    this.ended.push(...gone);
    this.ended.splice(0, Math.max(0, this.ended.length - KEPT_RUNS));
    for (const { outcome } of gone)
      this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1);
  }

  /** Sends the verdict when it, or the data it is based on, has changed. */
  async #judge(): Promise<void> {
    if (this.streams.size === 0) return;
    const facts = await status(this.#context, undefined, { patience: VERDICT_PATIENCE_MS });
    const now = verdict(facts);
    const { dispatcher } = now;
    const key = JSON.stringify([
      { ...now, dispatcher: dispatcher && { ...dispatcher, age_s: facts.dispatcher?.at } },
    ]);
    if (key === this.#verdict) return;
    this.#verdict = key;
    this.#push('status', { at: this.#context.now().toISOString(), ...now });
  }

  #tellFacts(facts: WebFact[]): void {
    if (facts.length > 0) this.#push('facts', { facts });
  }

  #push(...event: Parameters<EventRing['push']>): void {
    this.ring.push(...event);
    this.#tellAll();
  }

  #tellAll(): void {
    for (const tell of this.#waiting) tell();
  }
}

/** Deletes all but a number of the newest keys. */
function forget(keys: Set<string>, left: number): void {
  const tooMany = keys.size - left;
  if (tooMany > 0) for (const key of [...keys].slice(0, tooMany)) keys.delete(key);
}

/**
 * Returns the facts that follow from arrived messages: this machine's own messages are on the bus, and
 * messages named in `re` were answered, or failed or cancelled by the notice of a host. Neither an interim
 * message nor a cancellation is such a fact, as its force is not known from itself.
 *
 * @param sending keys of messages that were written on this machine
 */
export function factsOfArrivals(
  some: readonly Arrival[],
  sending: ReadonlySet<string>,
  now: Date,
): WebFact[] {
  const at = now.toISOString();
  return some.flatMap(({ channel, relPath, message }): WebFact[] => {
    const { failed, from, re } = message;
    const mark = markOf(message);
    const state: WebFact['state'] =
      failed === undefined ? 'answered' : failed.reason === CANCELLED ? 'cancelled' : 'failed';
    return [
      ...(sending.has(messageKey({ channel, relPath }))
        ? [{ channel, relPath, at, state: 'sent' as const, actor: null, detail: null }]
        : []),
      ...(mark === null || mark === 'failure' ? re : []).map((path) => ({
        ...{ channel, relPath: path, at, actor: from, detail: failed?.dead_letter ?? relPath },
        state,
      })),
    ];
  });
}

interface OwnStateChange {
  before: OwnState;
  own: OwnState;
  /** Runs that ended between the two states. */
  gone: readonly WebRun[];
}

/**
 * Returns the facts that follow from a change of this machine's state.
 *
 * @param isKnown whether it was already reported that a message is queued, or that it is on the bus
 */
function factsOfState(
  { before, own, gone }: OwnStateChange,
  isKnown: (key: string) => boolean,
  now: Date,
): WebFact[] {
  const at = now.toISOString();
  const known = new Set(before.outbox.map(({ id }) => id));
  const queued = own.outbox
    .filter(({ id }) => !known.has(id))
    .flatMap(({ messages }) => messages)
    .filter((ref) => !isKnown(messageKey(ref)))
    .map(({ channel, relPath }) => fact({ channel, relPath }, 'queued', null, null));
  const ran = new Set(before.running.map(({ id }) => id));
  const taken = own.running
    .filter(({ id }) => !ran.has(id))
    .flatMap((run) => about(run, 'taken', run.id));
  const silent = gone
    .filter(({ outcome }) => outcome === 'silent')
    .flatMap((run) => about(run, 'silent', run.id));
  const stopped = gone
    .filter(({ outcome }) => outcome === 'stopped')
    .flatMap((run) => about(run, 'waiting', run.id));
  const letters = new Map(before.dead_letters.map((letter) => [letter.id, letter]));
  const failed = own.dead_letters
    .filter(({ id, attempts, state }) => {
      const was = letters.get(id);
      return was?.attempts !== attempts || (was.state !== state && state !== 'retrying');
    })
    .flatMap((letter) => {
      const { state, id } = letter;
      return about(letter, state === 'parked' || state === 'cancelled' ? state : 'failed', id);
    });
  return [...queued, ...taken, ...silent, ...stopped, ...failed];

  function fact(
    { channel, relPath }: MessageRef,
    state: WebFact['state'],
    actor: string | null,
    detail: string | null,
  ): WebFact {
    return { channel, relPath, at, state, actor, detail };
  }
  function about(
    { actor, channel, messages }: { actor: string; channel: string; messages: string[] },
    state: WebFact['state'],
    detail: string,
  ): WebFact[] {
    return messages.map((relPath) => fact({ channel, relPath }, state, actor, detail));
  }
}

/** Returns the runs of the previous state that no longer exist. */
function goneRuns(before: OwnState, own: OwnState): WebRun[] {
  const still = new Set(own.running.map(({ id }) => id));
  return before.running.filter(({ id }) => !still.has(id));
}
