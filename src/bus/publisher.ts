import type { Acquired } from '../state/lock.ts';
import type { Outbox, OutboxEntry } from '../state/outbox.ts';
import type { Commit, Published, Failure } from '../transport/transport.ts';
import { type Wait, wait } from '../wait.ts';
import type { FoundSecret } from '../protocol/text/secrets.ts';
import { Expected } from './expected.ts';
import { type LookForSecrets, notHeld, screened, secretFailure } from './screening.ts';
import { passed } from '../crash-points.ts';
import { Emitter } from '../emitter.ts';
import { reasonOf } from '../errors.ts';
import { PublishWaiters, type PublishOutcome } from './publish-waiters.ts';
import { committed } from './history.ts';
import { PushParts } from './push-parts.ts';
import { ErrorTracker, type TrackedError } from './stalled-jobs.ts';

/** The parts that a publisher uses. */
export interface PublisherOptions {
  outbox: Pick<Outbox, 'all' | 'get' | 'remove' | 'setAside' | 'hold'>;
  /** Searches entries for secrets before they are pushed; without it, every entry is published. */
  lookForSecrets?: LookForSecrets;
  /**
   * @param onTaken called with the commits that the remote has accepted, before anything is recorded on
   *   this machine
   * @param beside a commit that is made after the others, and never alone
   */
  publish: (
    entries: Commit[][],
    signal?: AbortSignal,
    onTaken?: (commits: readonly Commit[]) => void,
    beside?: Commit,
  ) => Promise<Published>;
  /** Returns a commit to be pushed with some entries, if any; it does not reject. */
  beside?: (entries: readonly OutboxEntry[]) => Promise<Commit | undefined>;
  /** Takes one push from the budget: returns 0, or the milliseconds until it may be possible. */
  mayPush?: () => Promise<number>;
  /** Takes the machine's writer lock, waiting at most until `signal` is aborted. */
  lock: (signal: AbortSignal) => Promise<Acquired>;
  now: () => Date;
  /** Waits by the machine's clock, unless another one is given. */
  wait?: Wait;
  /** Deliveries to settle that were known before the publisher existed. */
  expected?: Expected;
  /** Settles the delivery of an entry, before the entry leaves the outbox. */
  onPublished?: (entry: OutboxEntry) => Promise<void>;
}

/** The events of a publisher. */
export interface PublisherEvents {
  /** The remote has accepted these commits, which this machine has not recorded yet. */
  taken: [commits: readonly Commit[]];
  /** A push of some entries has succeeded or failed. */
  push: [result: Published, entries: readonly OutboxEntry[]];
  /** A push added messages, which may wake an actor of this machine. */
  news: [];
  /** An entry cannot be published in its present form, and is set aside. */
  setAside: [entry: OutboxEntry, reason: string];
  /** An entry seems to contain a secret, and is held here. */
  held: [entry: OutboxEntry, found: FoundSecret[]];
}

export type { PublishOutcome } from './publish-waiters.ts';

/** Milliseconds to wait for the push budget before a message is reported as queued (cli.md). */
const LONGEST_BUDGET_WAIT_MS = 10_000;
const ALL = '';

/**
 * A publisher that empties the outbox onto the remote, by group commit.
 *
 * An entry added in a quiet period is pushed immediately; during a push the rest collect and are pushed
 * together in the next. When the remote has a push budget, they collect for as long as the budget delays
 * the push. For each entry the order is: on disk in the outbox → pushed → out of the outbox, and its
 * delivery recorded as settled, in one step → out of its mailbox and the cursors saved (`onPublished`). A
 * crash between any two repeats the rest: files that are on the remote already are recognised there by
 * their path and not pushed again.
 *
 * An entry ends published, already there, or set aside with the reason: when a file that must be new is
 * there with other bytes, or the remote accepts no push as large as this one entry. Its delivery counts
 * as settled then, since its answer is on record and paid for. The same holds for an entry that seems to
 * contain a secret: it is held before any part of it is given to git or to another clone.
 */
export class Publisher {
  readonly #options: PublisherOptions;
  readonly #abandoned = new AbortController();
  #flushing: Promise<void> | undefined;
  #again = false;
  readonly #awaited = new PublishWaiters();
  /** Deliveries to settle on this machine, whichever process publishes them. */
  readonly expected: Expected;
  readonly events = new Emitter<PublisherEvents>();
  #noPushBefore = 0;
  /** Problems by entry; those without a single entry are stored under {@link ALL}. */
  readonly #failing: ErrorTracker;
  readonly #inParts = new PushParts();

  constructor(options: PublisherOptions) {
    this.#options = options;
    this.#failing = new ErrorTracker(options.now);
    this.expected = options.expected ?? new Expected();
  }

  /** The first failure since pushing fails; undefined once everything was pushed. */
  get failing(): TrackedError | undefined {
    return this.#failing.first;
  }

  /** Resolves once an entry of the outbox was pushed, or failed to be pushed. */
  publish(id: string): Promise<PublishOutcome> {
    return new Promise((resolve, reject) => {
      this.#awaited.add(id, resolve);
      if (this.#noPushBefore - this.#options.now().getTime() > LONGEST_BUDGET_WAIT_MS)
        this.#tellQueued();
      this.flush().catch(reject);
    });
  }

  /** Ends the current push and prevents later ones: the entries stay in the outbox. */
  abandon(): void {
    this.#abandoned.abort();
  }

  /** Pushes the content of the outbox; joins a current flush, which then runs once more. */
  async flush(): Promise<void> {
    if (this.#flushing !== undefined) {
      this.#again = true;
      return this.#flushing;
    }
    this.#flushing = this.#run(this.#abandoned.signal);
    return this.#flushing;
  }

  async #run(signal: AbortSignal): Promise<void> {
    try {
      do {
        this.#again = false;
        // Later callers may wait for an entry that is added while the outbox is being read.
        const asked = this.#awaited.ids;
        const expected = this.expected.all();
        let all = await this.#options.outbox.all();
        if (all.length > 0 && (await this.#awaitBudget(signal)))
          all = await this.#options.outbox.all();
        await this.#settleGone(new Set(all.map(({ id }) => id)), asked, expected);
        this.#failing.keep(new Set(all.length === 0 ? [] : [ALL, ...all.map(({ id }) => id)]));
        const { clean, held, unknown } = await screened(all, this.#options.lookForSecrets);
        for (const { entry, found } of held) {
          const why = await this.#hold(entry, found).then(() => undefined, reasonOf);
          if (why !== undefined) unknown.push(notHeld(entry, found, why));
        }
        for (const [at, some] of this.#inParts.of(clean).entries()) {
          if (at > 0) await this.#awaitBudget(signal);
          await this.#push(some, signal);
        }
        // This comes last, as a notified caller may end this process.
        for (const { entry, reason } of unknown) this.#fail([entry], { kind: 'other', reason });
      } while (this.#askedAgain());
    } catch (error) {
      this.#fail([], { kind: 'other', reason: reasonOf(error) });
      throw error;
    } finally {
      // Nothing may be awaited between the check of #again and this: nobody may join a flush that is over.
      this.#flushing = undefined;
    }
  }

  /** Waits until the budget allows a push; returns whether it waited, so that more entries may have arrived. */
  async #awaitBudget(signal: AbortSignal): Promise<boolean> {
    for (let waited = false; ; waited = true) {
      const hold = (await this.#options.mayPush?.()) ?? 0;
      if (hold === 0 || signal.aborted) {
        this.#noPushBefore = 0;
        return waited;
      }
      this.#noPushBefore = this.#options.now().getTime() + hold;
      if (hold > LONGEST_BUDGET_WAIT_MS) this.#tellQueued();
      await (this.#options.wait ?? wait)(hold, signal);
    }
  }

  #tellQueued(): void {
    const at = new Date(this.#noPushBefore).toISOString();
    const reason = `held by the push budget of the remote until ${at}; it leaves automatically then`;
    for (const id of this.#awaited.ids)
      this.#tell(id, { published: false, failure: { kind: 'held', reason } });
  }

  /** Whether a flush was requested during the current one. */
  #askedAgain(): boolean {
    return this.#again;
  }

  /** Settles entries that are no longer in the outbox, as another process has published them. */
  async #settleGone(
    left: ReadonlySet<string>,
    asked: readonly string[],
    expected: readonly OutboxEntry[],
  ): Promise<void> {
    for (const entry of expected) if (!left.has(entry.id)) await this.#settle(entry);
    for (const id of asked) if (!left.has(id)) this.#tell(id, { published: true });
  }

  async #push(entries: readonly OutboxEntry[], signal: AbortSignal): Promise<void> {
    let lock: Acquired;
    try {
      lock = await this.#options.lock(signal);
    } catch (error) {
      // The disk is full: the entries are in the outbox, and stay there.
      this.#fail(entries, { kind: 'other', reason: reasonOf(error) });
      return;
    }
    if (!lock.ok) {
      const reason = `process ${String(lock.holder.pid)} is publishing since ${lock.holder.since}`;
      this.#fail(entries, { kind: 'contention', reason });
      return;
    }
    try {
      // Since they were read, another process may have pushed some, and a person may have withdrawn some.
      const found = await Promise.all(entries.map(({ id }) => this.#options.outbox.get(id)));
      const left = found.filter((entry) => entry !== undefined);
      if (left.length < entries.length) this.#again = true;
      if (left.length > 0) await this.#pushTogether(left, signal);
    } finally {
      await lock.release();
    }
  }

  async #pushTogether(entries: readonly OutboxEntry[], signal: AbortSignal): Promise<void> {
    let isFirst = true;
    const push = async (part: readonly OutboxEntry[]): Promise<Published> => {
      if (!isFirst) await this.#awaitBudget(signal);
      isFirst = false;
      const commits = part.map((entry) => entry.commits.map(committed));
      const beside = await this.#options.beside?.(part);
      const onTaken = this.events.emit.bind(this.events, 'taken');
      const result = await this.#options.publish(commits, signal, onTaken, beside);
      this.events.emit('push', result, part);
      return result;
    };
    await this.#inParts.push(entries, push, {
      pushed: (part, result) => this.#pushed(part, result),
      tooLarge: (entry, reason) => this.#setAside(entry, reason),
      failed: (part, failure) => {
        this.#fail(part, failure);
      },
    });
  }

  async #pushed(
    entries: readonly OutboxEntry[],
    { tip, refused }: Published & { ok: true },
  ): Promise<void> {
    for (const { id } of [{ id: ALL }, ...entries]) this.#failing.over(id);
    const reasons = new Map(refused.map(({ entry, reason }) => [entry, reason]));
    for (const [index, entry] of entries.entries()) {
      const reason = reasons.get(index);
      if (reason === undefined) await this.#settle(entry, tip);
      else await this.#setAside(entry, reason);
    }
    this.events.emit('news');
  }

  async #setAside(entry: OutboxEntry, reason: string): Promise<void> {
    await this.#options.outbox.setAside(entry, reason, this.#options.now().toISOString());
    passed('outbox_removed');
    await this.#options.onPublished?.(entry);
    this.expected.remove(entry.id);
    this.events.emit('setAside', entry, reason);
    this.#tell(entry.id, { published: false, failure: { kind: 'set_aside', reason } });
  }

  /**
   * Holds an entry. A person decides about it, so its delivery counts as settled, as for one that is set
   * aside.
   */
  async #hold(entry: OutboxEntry, found: FoundSecret[]): Promise<void> {
    await this.#options.outbox.hold(entry, found, this.#options.now().toISOString());
    await this.#options.onPublished?.(entry);
    this.expected.remove(entry.id);
    this.events.emit('held', entry, found);
    this.#tell(entry.id, { published: false, failure: secretFailure(found) });
  }

  async #settle(entry: OutboxEntry, tip?: string): Promise<void> {
    await this.#options.outbox.remove(entry.id, tip);
    passed('outbox_removed');
    await this.#options.onPublished?.(entry);
    this.expected.remove(entry.id);
    this.#tell(entry.id, { published: true });
  }

  #fail(entries: readonly OutboxEntry[], failure: Failure): void {
    if (entries.length === 0) this.#failing.note(ALL, failure.reason);
    for (const { id } of entries) {
      this.#failing.note(id, failure.reason);
      this.#tell(id, { published: false, failure });
    }
  }

  #tell(id: string, outcome: PublishOutcome): void {
    this.#awaited.tell(id, outcome);
  }
}
