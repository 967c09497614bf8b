import { reasonOf } from '../errors.ts';
import { chooseTier, type Tier } from '../protocol/files/host-file.ts';
import type { DeadLetter } from '../state/dead-letters.ts';
import { Batches, lookedAt } from './batches.ts';
import { ChannelLinks } from '../bus/channel-links.ts';
import { Crossings } from '../bus/crossings.ts';
import type { DispatcherParts, Running } from './dispatcher-parts.ts';
import { FanIns, type FanIn } from './fan-ins.ts';
import { Lanes } from './lanes.ts';
import { inTime } from './last-push.ts';
import { endLeftovers } from './run/leftovers.ts';
import { Retries } from './retries.ts';
import type { Job } from './run/job.ts';
import { Troubles } from '../bus/troubles.ts';
import { work } from './run/work.ts';

/**
 * Starts runs for what is deliverable and records how they end. A job's life: taken from its
 * mailbox (or due in the dead letters) → a free place in its tier's lane → CLI run → outcome on
 * record → lane free → push → settled.
 */
export class Dispatcher {
  readonly #parts: DispatcherParts;
  readonly #lanes = new Lanes();
  readonly #batches: Batches;
  readonly #fanIns: FanIns;
  readonly #links: ChannelLinks;
  readonly #crossings: Crossings;
  readonly #jobs = new Map<string, { running: Running; done: Promise<void> }>();
  readonly #pushes = new Set<Promise<void>>();
  readonly #retries: Retries;
  readonly #stopRuns = new AbortController();
  #accepting = true;
  #pumping: Promise<void> = Promise.resolve();
  /** Runs whose outcome cannot be put on disk. */
  readonly unrecorded = new Troubles();
  /** Jobs that fail for no fault of their CLI. */
  readonly stalled = new Troubles();
  /** Called whenever a run ended: there may be room for the next. */
  onRoom: () => void = () => undefined;

  constructor(parts: DispatcherParts) {
    this.#parts = parts;
    this.#retries = new Retries(parts);
    this.#batches = new Batches(parts.archive);
    this.#fanIns = new FanIns(parts);
    this.#links = new ChannelLinks(parts.transport, parts.archive);
    this.#crossings = new Crossings(parts.transport, parts.archive);
  }

  /** When something is due by itself: a retry, or an agent CLI that refused to work. */
  async nextStart(): Promise<Date | undefined> {
    const times = [await this.#retries.next(), this.#parts.guards.nextTrial()];
    const due = times.filter((time) => time !== undefined && time.getTime() > Date.now());
    return due.sort((a, b) => Number(a) - Number(b))[0];
  }

  get running(): Running[] {
    return [...this.#jobs.values()].map(({ running }) => running);
  }

  /** Ends what the CLIs of a dispatcher that died left running: their mail is delivered again. */
  async endLeftovers(): Promise<void> {
    const { desks, log } = this.#parts;
    await endLeftovers(this.#parts, { ...desks, log });
  }

  /**
   * Starts every job that has a free lane; resolves when they are started, not when they end. One
   * call at a time: two that read the same due letters would start them twice.
   */
  pump(): Promise<void> {
    this.#pumping = this.#pumping.then(
      () => this.#startJobs(),
      () => this.#startJobs(),
    );
    return this.#pumping;
  }

  async #startJobs(): Promise<void> {
    const host = this.#parts.hosts.active;
    if (host === undefined || (await this.#parts.guards.paused())) return;
    await this.#parts.guards.look();
    const { mailboxes } = this.#parts.deliveries;
    const tiersOf = (actor: string): Tier[] => host.actors.get(actor) ?? [];
    for (const waiting of mailboxes.waiting()) {
      const { actor, channel } = waiting;
      const tiers = tiersOf(actor);
      if (!tiers.some((tier) => this.#lanes.isFree(actor, tier))) continue;
      const messages = await lookedAt(waiting.messages, tiers, async (tier) =>
        this.#lanes.isFree(actor, tier) ? this.#parts.guards.allows(actor, tier) : false,
      );
      const tip = mailboxes.scanned ?? '';
      for (const batch of await this.#batches.of(tip, { actor, channel, messages })) {
        const fanIn = this.#batches.fanInOf(batch);
        if (!(await this.#fanIns.mayBegin(fanIn, tip))) continue;
        const tier = chooseTier(
          tiers,
          batch.map(({ message }) => message.tier),
        );
        if (tier === undefined || !(await this.#mayStart(actor, tier))) continue;
        const relPaths = batch.map(({ relPath }) => relPath);
        const taken = mailboxes.take(actor, channel, relPaths);
        const messages = taken.map(({ relPath }) => relPath);
        const isRest = taken.every(({ rest }) => rest === true);
        const isDealt = taken.every(({ dealt }) => dealt === true);
        this.#start(host.alias, tier, { actor, channel, messages, fanIn, isRest, isDealt });
      }
    }
    for (const letter of await this.#retries.due()) {
      const { actor, id } = letter;
      const tier = chooseTier(tiersOf(actor), [letter.tier]);
      if (tier === undefined || !this.#lanes.isFree(actor, tier)) continue;
      const tip = mailboxes.scanned ?? '';
      const fanIn = await this.#batches.fanInOfLetter(tip, letter);
      if (!(await this.#fanIns.mayBegin(fanIn, tip))) continue;
      if (!(await this.#mayStart(actor, tier))) continue;
      this.#retries.begin(id);
      this.#start(host.alias, tier, { ...letter, fanIn }, letter);
    }
  }

  /** Takes a place in a tier's lane, unless it has none or its hour is used up. */
  async #mayStart(actor: string, tier: Tier): Promise<boolean> {
    if (!(await this.#parts.guards.allows(actor, tier))) return false;
    return this.#accepting && this.#lanes.enter(actor, tier);
  }

  /** Waits until nothing runs and nothing is being pushed, starting what finds room meanwhile. */
  async drain(): Promise<void> {
    for (;;) {
      if (this.#accepting) await this.pump();
      const under = [...this.#ended(), ...this.#pushes];
      if (under.length === 0) return;
      await Promise.race(under);
    }
  }

  /** Starts nothing more; lets runs finish for `grace` milliseconds, then ends them. */
  async stop(grace: number): Promise<void> {
    this.#accepting = false;
    await this.#pumping.catch(() => undefined);
    const timer = setTimeout(() => {
      this.#stopRuns.abort();
    }, grace);
    while (this.#jobs.size > 0) await Promise.race(this.#ended());
    clearTimeout(timer);
    await inTime(this.#parts.publisher, () => this.drain());
  }

  #ended(): Promise<void>[] {
    return [...this.#jobs.values()].map(({ done }) => done);
  }

  /** Ends the runs now: a second signal. */
  stopNow(): void {
    this.#accepting = false;
    this.#stopRuns.abort();
  }

  /** The batch is read at what is scanned by now, which holds all of it. */
  #start(
    host: string,
    tier: Tier,
    batch: Pick<Job, 'actor' | 'channel' | 'messages'> & {
      fanIn?: FanIn | undefined;
      isRest?: boolean;
      isDealt?: boolean;
    },
    letter?: DeadLetter,
  ): void {
    const { actor, channel, messages, fanIn, isRest = false, isDealt = false } = batch;
    const tip = this.#parts.deliveries.mailboxes.scanned ?? '';
    const released = letter !== undefined;
    const id = this.#parts.newId();
    const job: Job = {
      id,
      actor,
      host,
      channel,
      tier,
      tip,
      messages,
      released,
      isRest,
      isDealt,
    };
    const facts = { actor, channel, tier: tier.name, messages };
    this.#parts.log('dispatch_start', {
      id,
      ...facts,
      ...(letter && { dead_letter: letter.id, attempt: letter.attempts + 1 }),
    });
    const running = { ...facts, since: this.#parts.now().toISOString() };
    this.#parts.guards.begin(job);
    this.#fanIns.begin(fanIn);
    const parts = {
      ...this.#parts,
      links: this.#links,
      crossings: this.#crossings,
      dir: this.#parts.transport.dir,
      unrecorded: this.unrecorded,
      stalled: this.stalled,
      signal: this.#stopRuns.signal,
    };
    let answered: string[] | undefined;
    const working = work(parts, job, letter).then(({ push, answers }) => {
      if (push !== undefined) this.#track(push);
      answered = answers;
    });
    const done = working.finally(() => {
      this.#jobs.delete(job.id);
      this.#fanIns.end(fanIn, answered);
      this.#parts.guards.end(job);
      if (letter !== undefined) this.#retries.end(letter.id);
      this.#lanes.leave(actor, tier);
      this.onRoom();
    });
    this.#jobs.set(job.id, { running, done });
  }

  #track(push: Promise<void>): void {
    const tracked = push
      .catch((error: unknown) => {
        this.#parts.log('push_failed', { reason: reasonOf(error) });
      })
      .finally(() => this.#pushes.delete(tracked));
    this.#pushes.add(tracked);
  }
}
