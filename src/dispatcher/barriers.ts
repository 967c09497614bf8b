import type { Engine } from './run/engine.ts';
import { formatAddress } from '../protocol/address.ts';
import { JOIN_TIMEOUT, joinOf, type Join } from '../protocol/join.ts';
import type { Delivery } from '../protocol/mailbox.ts';
import { profileInForce } from '../bus/profiles.ts';
import type { Joining } from '../state/heartbeat.ts';
import type { QuestionSet } from './question-locks.ts';
import { brief } from './run/briefing.ts';
import { isCancelled, questionsOf } from './run/conclude.ts';

/** Facts about the waiting answers of one conversation. */
interface Known {
  actor: string;
  channel: string;
  questions: string[];
  /** When this process first saw each message: milliseconds. */
  seen: Map<string, number>;
  /** Answers found at `tip` for `messages`. */
  tip?: string;
  messages: string[];
  join?: Join | undefined;
}

/** The mailboxes, as `Mailboxes.waiting` returns them. */
type Waiting = readonly { actor: string; channel: string; messages: readonly Delivery[] }[];

/**
 * Holds back the answers of peers for actors whose profile has `wake: all`, until all have answered or the first one
 * has waited long enough (bills.md, "Waiting for all"). Whom they wait for is looked up once for each commit and only
 * when such answers wait, so nothing is read when nothing new has come; the time at which they become due is known
 * without looking. All of it follows from the record, so nothing is stored.
 */
export class Barriers {
  readonly #engine: Engine;
  readonly #known = new Map<string, Known>();

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Forgets batches that no longer wait. */
  follow(waiting: Waiting): void {
    if (this.#known.size === 0) return;
    const there = new Set(
      waiting.flatMap(({ actor, channel, messages }) =>
        messages.map(({ relPath }) => `${actor} ${channel}/${relPath}`),
      ),
    );
    for (const [key, { actor, channel, seen, messages }] of this.#known) {
      for (const relPath of seen.keys())
        if (!there.has(`${actor} ${channel}/${relPath}`)) seen.delete(relPath);
      if (!messages.some((relPath) => seen.has(relPath))) this.#known.delete(key);
    }
  }

  /**
   * Whether a batch waits for other answers to its questions.
   *
   * @param tip the commit at which it is looked up
   * @param fanIn of the batch; a batch without questions does not wait
   */
  async holds(
    host: string,
    tip: string,
    fanIn: QuestionSet | undefined,
    batch: readonly Delivery[],
  ): Promise<boolean> {
    const [first] = batch;
    if (fanIn === undefined || first === undefined) return false;
    const { channel } = first;
    const { actor, questions } = fanIn;
    const key = `${actor} ${channel} ${questions.join()}`;
    const before = this.#known.get(key);
    const known = before ?? { actor, channel, questions, seen: new Map<string, number>() };
    const messages = batch.map(({ relPath }) => relPath);
    const now = this.#engine.now().getTime();
    const seen = messages.map((relPath) => known.seen.get(relPath) ?? now);
    // After the clock was set back, a batch seen at a later time starts to wait at this one.
    const isSetBack = seen.some((time) => time > now);
    messages.forEach((relPath, at) => known.seen.set(relPath, Math.min(seen[at] ?? now, now)));
    const isSame = before?.tip === tip && before.messages.join() === messages.join() && !isSetBack;
    const join = isSame ? before.join : await this.#joinAt(host, tip, { ...known, messages });
    this.#known.set(key, { ...known, messages, tip, join });
    const waits = join !== undefined && join.until > now;
    if (waits && before?.join === undefined)
      this.#engine.log('joining', { ...joiningOf({ ...known, messages }, join) });
    return waits;
  }

  async #joinAt(host: string, tip: string, known: Known): Promise<Join | undefined> {
    const { actor, channel, messages, seen } = known;
    const { profile } = await profileInForce(this.#engine, tip, actor);
    if (profile?.wake !== 'all') return undefined;
    const briefing = await brief(this.#engine, { tip, channel, messages, actor, host });
    // A message that can't be read, or was taken back, is left to the run that finds it out.
    if (briefing.unread.length > 0 || isCancelled(actor, briefing)) return undefined;
    const now = this.#engine.now().getTime();
    return joinOf(
      { ...briefing, actor, questions: questionsOf(actor, briefing) },
      (relPath) => seen.get(relPath) ?? now,
      profile.joinTimeout ?? JOIN_TIMEOUT,
    );
  }

  /** The answers that wait at the moment. */
  get waiting(): Joining[] {
    const now = this.#engine.now().getTime();
    return [...this.#known.values()].flatMap((known) =>
      known.join === undefined || known.join.until <= now ? [] : [joiningOf(known, known.join)],
    );
  }

  /** When the first of them become due, if nothing comes before. */
  next(): Promise<Date | undefined> {
    const times = this.waiting.map(({ until }) => until).sort();
    return Promise.resolve(times[0] === undefined ? undefined : new Date(times[0]));
  }
}

function joiningOf(known: Omit<Known, 'seen'>, { waitsFor, until }: Join): Joining {
  const { actor, channel, messages, questions } = known;
  const waits_for = [...new Set(waitsFor.map(({ of }) => formatAddress(of)))];
  return { actor, channel, messages, questions, waits_for, until: new Date(until).toISOString() };
}
