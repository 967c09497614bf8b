import type { Engine } from './run/engine.ts';
import { Emitter } from '../emitter.ts';
import { reasonOf, isSystemError } from '../errors.ts';
import type { Tier } from '../protocol/files/host-file.ts';
import type { ActiveHost } from '../bus/approvals.ts';
import { isPool } from '../bus/claims.ts';
import { Batches } from './batches.ts';
import { Cancellations } from './cancellations.ts';
import { type Running, Jobs } from './jobs.ts';
import { firstDue, type DueSource, type Startable } from './due.ts';
import { QuestionLocks } from './question-locks.ts';
import { Barriers } from './barriers.ts';
import { Slots, mostRuns } from './slots.ts';
import { inTime } from './last-push.ts';
import { endStaleRuns } from './run/stale-runs.ts';
import { Retries } from './retries.ts';
import { GatedMail } from './gated-mail.ts';
import { startFacts, type Job, tiersFor, untriedTiers } from './run/job.ts';
import { atTheGate } from './run/plan.ts';
import { SteeredMail } from './steered-mail.ts';
import { Notifications } from './notifications.ts';
import { WaitingMail } from './waiting-mail.ts';
import { work } from './run/work.ts';
import type { DeadLetter } from '../state/dead-letters.ts';
import type { OutboxEntry } from '../state/outbox.ts';

/**
 * Starts runs for messages that can be delivered and records how the runs end. The life of a job: taken from its
 * mailbox (or due in the dead letters) → a free slot of its tier → CLI run → outcome recorded → slot free → push →
 * settled.
 */
export class Dispatcher {
  readonly #engine: Engine;
  readonly #lanes = new Slots(mostRuns());
  /** The sources of runs, in the order in which they are asked. */
  readonly #sources: readonly DueSource[];
  readonly #fanIns: QuestionLocks;
  readonly joins: Barriers;
  readonly #tidings: Notifications;
  readonly #steered: SteeredMail;
  readonly #cancellations: Cancellations;
  readonly #foreseen: ForeseenCancels;
  readonly #jobs = new Jobs();
  readonly #pushes = new Set<Promise<void>>();
  #accepting = true;
  #pumping: Promise<void> = Promise.resolve();
  readonly events: Emitter<{
    /** A run has ended, so there may be room for the next one. */ room: [];
  }>;

  constructor(engine: Engine) {
    this.#engine = engine;
    this.events = new Emitter((error) => {
      engine.log('internal_error', { error: reasonOf(error) });
    });
    this.joins = new Barriers(engine);
    const batches = new Batches(engine.reader);
    const publish = (id: string): void => {
      this.#track(engine.publisher.publish(id).then(() => undefined));
    };
    this.#sources = [
      // First, as it knows which mail the others leave alone.
      new GatedMail(engine, this.#lanes, publish),
      new WaitingMail(engine, this.#lanes, batches, this.joins),
      new DueRetries(engine, this.#lanes, batches),
    ];
    this.#fanIns = new QuestionLocks(engine);
    this.#steered = new SteeredMail(engine);
    this.#tidings = new Notifications(engine);
    this.#cancellations = new Cancellations(engine, this.#jobs, publish);
    this.#foreseen = new ForeseenCancels(engine, this.#cancellations);
  }

  /**
   * Carries out the cancellations in scanned messages, and ends the runs of actors that this host does not serve any
   * more; called before the cursors are saved.
   */
  async cancel(): Promise<void> {
    await this.#foreseen.again();
    const { hosts, deliveries, log } = this.#engine;
    if (hosts.active !== undefined) this.#jobs.endUnserved(hosts.active, log);
    const tip = deliveries.mailboxes.scanned;
    if (hosts.active !== undefined && tip !== undefined)
      await this.#cancellations.honour(hosts.active, tip);
    if (tip === undefined) return;
    await this.#engine.permissions.begin(tip);
    // A decision may take processes to verify, and nothing waits for that but its run.
    void this.#engine.permissions.look(tip);
  }

  /**
   * Returns the time at which a run becomes due without news: a retry, a trial of an agent CLI that refused to work,
   * answers that have waited long enough for others, or work of an extra.
   */
  nextStart(): Promise<Date | undefined> {
    const now = this.#engine.now();
    const extras = { next: () => Promise.resolve(this.#engine.extras.next(now)) };
    return firstDue([...this.#sources, this.joins, extras], now);
  }

  get running(): Running[] {
    return this.#jobs.running;
  }

  /**
   * Ends the processes that the CLIs of a dead dispatcher left running; their messages are
   * delivered again.
   */
  async endLeftovers(): Promise<void> {
    await endStaleRuns(this.#engine);
  }

  /**
   * Starts every job that has a free slot; resolves when they have started, not when they have ended. Calls run one
   * after another, because two calls that read the same due letters would start them twice.
   */
  pump(): Promise<void> {
    const start = (): Promise<void> => this.#startJobs();
    this.#pumping = this.#pumping.then(start, start);
    return this.#pumping;
  }

  async #startJobs(): Promise<void> {
    const host = this.#engine.hosts.active;
    if (host === undefined) return;
    const tip = this.#engine.deliveries.mailboxes.scanned;
    const told = tip === undefined ? [] : await this.#tidings.write(host.alias, tip);
    for (const push of told) this.#track(push);
    if (await this.#engine.guards.paused()) return;
    await this.#engine.guards.look();
    await this.#engine.extras.look();
    await this.#steered.look(this.#jobs);
    const { mail } = this.#engine.stalled;
    for (const source of this.#sources)
      for await (const one of source.due(host))
        await mail.try(one.actor, () => this.#startIfRoom(host, one));
    mail.endRound();
  }

  async #startIfRoom(host: ActiveHost, startable: Startable): Promise<void> {
    const { actor, untried, fanIn, tip } = startable;
    if (this.#engine.stalled.isGivenUp(startable)) return;
    if (!(await this.#fanIns.mayBegin(fanIn, tip))) return;
    const isRead = await this.#fanIns.hasRead(fanIn, startable);
    const tier = await this.#engine.guards.choose(untried, startable);
    // Its tier has to have a free slot.
    if (tier === undefined) return;
    await this.#engine.extras.require(neededBy(this.#engine, startable, tier));
    if (!this.#accepting || !this.#lanes.enter(actor, tier)) return;
    this.#start(host.alias, tier, startable, isRead);
  }

  /**
   * Waits until no run and no push is under way, and meanwhile starts runs for which there is room.
   */
  async drain(): Promise<void> {
    for (let wasQuiet = false; ;) {
      if (this.#accepting) await this.pump();
      const under = [...this.#jobs.ends, ...this.#pushes];
      // Runs that ended during the look may have left something to report.
      if (under.length === 0 && (wasQuiet || !this.#accepting)) return;
      wasQuiet = under.length === 0;
      if (!wasQuiet) await Promise.race(under);
    }
  }

  /** Starts no more runs; lets current runs finish for `grace` milliseconds, then ends them. */
  async stop(grace: number): Promise<void> {
    this.#accepting = false;
    await this.#pumping.catch(() => undefined);
    const timer = setTimeout(() => {
      this.#engine.stop.abort();
    }, grace);
    while (!this.#jobs.isEmpty) await Promise.race(this.#jobs.ends);
    clearTimeout(timer);
    await this.#engine.extras.stop();
    await inTime(this.#engine.publisher, () => this.drain());
  }

  /** Ends the runs immediately, after a second signal. */
  stopNow(): void {
    this.#accepting = false;
    this.#engine.stop.abort();
  }

  /**
   * Starts a run. Its batch is read at the tip scanned last, which contains all of its messages.
   * @param isRead whether a run has read it and given an answer; nothing runs if that was a final one
   */
  #start(host: string, tier: Tier, startable: Startable, isRead: boolean): void {
    const { fanIn, tiers } = startable;
    const { letter, ...taken } = startable.begin();
    const batch = { ...taken, isDealt: taken.isDealt || isRead };
    const { actor, channel, messages } = batch;
    const tip = this.#engine.deliveries.mailboxes.scanned ?? '';
    const id = this.#engine.newId();
    const cancel = new AbortController();
    const usual: Job = {
      ...batch,
      ...{ id, host, tier, tiers, tip, cancel: cancel.signal },
      ...(fanIn !== undefined && { questions: fanIn.questions }),
      abandon: () => {
        cancel.abort();
      },
    };
    const job = atTheGate(this.#engine.gated, usual);
    if (tier.session === 'warm') job.steering = this.#steered.steeringOf(job);
    const facts = { actor, channel, tier: tier.name, messages };
    this.#engine.log('dispatch_start', startFacts(job, letter));
    const running = { ...facts, since: this.#engine.now().toISOString() };
    this.#engine.guards.begin(job);
    this.#fanIns.begin(fanIn, tip);
    let answered: string[] | undefined;
    const working = work(this.#engine, job, letter, this.#jobs.running.length).then(
      ({ push, answers }) => {
        if (push !== undefined) this.#track(push);
        answered = answers;
      },
    );
    const done = working.finally(() => {
      this.#jobs.delete(job.id);
      this.#fanIns.end(fanIn, answered);
      this.#engine.guards.end(job);
      startable.end?.();
      this.#lanes.leave(actor, tier);
      this.events.emit('room');
    });
    this.#jobs.add(job.id, { running, fanIn, job, cancel, done });
  }

  #track(push: Promise<void>): void {
    const tracked = push
      .catch((error: unknown) => {
        this.#engine.log('push_failed', { reason: reasonOf(error) });
      })
      .finally(() => this.#pushes.delete(tracked));
    this.#pushes.add(tracked);
  }
}

/** Returns the extras that mail may need, each with whether it does. */
function neededBy(
  { transport, reader }: Engine,
  { actor, channel, messages, tip }: Startable,
  tier: Tier,
): Parameters<Engine['extras']['require']>[0] {
  return {
    sessions: () => tier.session !== undefined,
    pools: async () => {
      if (await isPool(transport, tip, actor)) return true;
      const found = await reader.messages(tip, channel, messages);
      return found.some(({ message }) => message.one === true);
    },
  };
}

/** Runs for dead letters that are to be retried, each one at its time. */
class DueRetries implements DueSource {
  readonly #engine: Engine;
  readonly #lanes: Pick<Slots, 'isFree'>;
  readonly #batches: Batches;
  readonly #retries: Retries;

  constructor(engine: Engine, lanes: Pick<Slots, 'isFree'>, batches: Batches) {
    this.#engine = engine;
    this.#lanes = lanes;
    this.#batches = batches;
    this.#retries = new Retries(engine);
  }

  next(): Promise<Date | undefined> {
    return this.#retries.next();
  }

  async *due(host: ActiveHost): AsyncGenerator<Startable> {
    for (const letter of await this.#retries.due())
      yield* this.#engine.stalled.mail.each(`dead letter ${letter.id}`, this.#dueFor(host, letter));
  }

  async *#dueFor(host: ActiveHost, letter: DeadLetter): AsyncGenerator<Startable> {
    const { deliveries, guards, gated } = this.#engine;
    const { id, actor, channel, messages } = letter;
    const tiers = tiersFor(host.actors.get(actor) ?? [], [], letter);
    const untried = untriedTiers(tiers, letter);
    if (!untried.some((tier) => this.#lanes.isFree(actor, tier))) return;
    if (guards.budgets.waits({ actor, channel, messages }, untried)) return;
    if (gated.waits({ actor, channel, messages })) return;
    const tip = deliveries.mailboxes.scanned ?? '';
    yield {
      actor,
      ...{ channel, messages, tiers, untried },
      fanIn: await this.#batches.fanInOfLetter(tip, letter),
      tip,
      begin: () => {
        this.#retries.begin(id);
        const batch = { actor, channel, messages, released: true, isRest: false, isDealt: false };
        return { ...batch, letter };
      },
      end: () => {
        this.#retries.end(id);
      },
    };
  }
}

/**
 * Entries of this machine's outbox that cancel a message here, whose runs are ended before they are published. Where
 * the system refuses something, as on a full disk, the runs go on, and the entry is looked at again with each tick,
 * because the remote may be out of reach.
 */
class ForeseenCancels {
  readonly #engine: Engine;
  readonly #cancellations: Pick<Cancellations, 'foresee'>;
  readonly #left = new Set<OutboxEntry>();

  constructor(engine: Engine, cancellations: Pick<Cancellations, 'foresee'>) {
    this.#engine = engine;
    this.#cancellations = cancellations;
    engine.outbox.events.on('seen', (entry) => {
      void this.#look(entry);
    });
  }

  /** Looks again at the entries that could not be honoured. */
  async again(): Promise<void> {
    for (const entry of this.#left) await this.#look(entry);
  }

  async #look(entry: OutboxEntry): Promise<void> {
    const { hosts, deliveries, log } = this.#engine;
    const tip = deliveries.mailboxes.scanned;
    if (hosts.active === undefined || tip === undefined) return;
    try {
      await this.#cancellations.foresee(hosts.active, tip, entry);
      this.#left.delete(entry);
    } catch (error) {
      // Anything else is left to the scan, which finds the message once it is published.
      if (isSystemError(error)) this.#left.add(entry);
      else this.#left.delete(entry);
      log('internal_error', { error: reasonOf(error) });
    }
  }
}
