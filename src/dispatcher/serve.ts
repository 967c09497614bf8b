import { CrosstalkError, reasonOf } from '../errors.ts';
import { saveHeartbeat } from '../state/heartbeat.ts';
import { Alarm, Rhythm } from './alarm.ts';
import { FarBell } from './bell/far-bell.ts';
import { Lag } from './intake/lag.ts';
import { eachInTurn, wait } from '../wait.ts';
import { lastPush } from './last-push.ts';
import { Answers, WakeUp, lookAtChanges } from './socket/answers.ts';
import { News } from './socket/news.ts';
import { Pace, pulse } from './pace.ts';
import type { ServeResult, ServeOptions } from './serve-options.ts';
import { expectsMore, problemOfPass, tick, type Dispatching, type Ticked } from './tick.ts';
import { ErrorTracker } from '../bus/stalled-jobs.ts';
import { listen } from './socket/wake.ts';
import type { Transport } from '../transport/transport.ts';
import { Checkout } from '../bus/checkout.ts';
import type { Log } from '../log.ts';

/**
 * Runs the dispatcher of one transport on this machine, until `stop` or for one pass; the caller ensures that there
 * is no other. An unsupported version ends only a single pass: otherwise anybody who can push could end every
 * dispatcher.
 *
 * @throws CrosstalkError in one pass `unsupported_version` for a transport of an unsupported version
 */
export function serve(app: Dispatching, options: ServeOptions): Promise<ServeResult> {
  return new Service(app, options).run();
}

/** Polls for which a remote may show an older state than before, until the branch counts as set back. */
const POLLS_BEHIND = 3;
/** Minimum milliseconds between the reports of a long scan. */
const PORTION_BEAT_MS = 5000;

class Service {
  readonly #app: Dispatching;
  readonly #lag: Lag;
  readonly #options: ServeOptions;
  readonly #bell = new WakeUp();
  readonly #alarm = new Alarm(this.#bell);
  readonly #news: News;
  readonly #startedAt: string;
  #fetchWanted = true;
  readonly #troubles: ErrorTracker;
  readonly #housekeeping: Housekeeping;
  readonly #version: VersionCheck;
  readonly #answers: Answers;
  readonly #far: FarBell;
  readonly #pace: Pace;
  #beatAt = 0;

  constructor(app: Dispatching, options: ServeOptions) {
    this.#app = app;
    this.#lag = new Lag(app, () => POLLS_BEHIND * this.#pace.interval.ms);
    this.#options = options;
    this.#startedAt = app.now().toISOString();
    this.#troubles = new ErrorTracker(app.now);
    this.#version = new VersionCheck(app.log);
    this.#housekeeping = new Housekeeping(app, options);
    this.#news = new News(() => app.transport.tip(), options);
    this.#answers = new Answers(app, options, { bell: this.#bell, news: this.#news });
    this.#far = new FarBell(app, this.#bell, this.#answers);
    this.#pace = new Pace(app, options, this.#far);
  }

  async run(): Promise<ServeResult> {
    const { dispatcher, deliveries, log, hosts, transport } = this.#app;
    const { stop, hurry, grace } = this.#options;
    const ear = await listen(this.#options.socket, (...asked) => this.#answers.to(...asked));
    stop.addEventListener('abort', () => {
      const waiting = dispatcher.running.map(({ actor, tier }) => ({ actor, tier }));
      if (waiting.length > 0)
        log('dispatcher_stopping', { running: waiting, grace_s: Math.round(grace / 1000) });
      void dispatcher.stop(grace).catch(this.#report);
    });
    hurry.addEventListener('abort', () => {
      dispatcher.stopNow();
    });
    const { events } = this.#app.publisher;
    // A process that waits for an answer need not wait until its push is noted, or its delivery settled.
    events.on('taken', this.#answers.replies.taken);
    events.on('push', (pushed, entries) => {
      if (!pushed.ok) return;
      void this.#news.look();
      this.#far.tell(pushed.tip, entries);
    });
    events.on('news', () => {
      this.#bell.ring('look');
    });
    // A person who waits for an answer that is held is notified by the next look.
    events.on('held', ({ delivery }) => {
      if (delivery !== undefined) this.#bell.ring('look');
    });
    // A first scan takes longer than a dispatcher may be silent.
    deliveries.events.on('portion', () => {
      if (this.#app.now().getTime() - this.#beatAt > PORTION_BEAT_MS)
        void this.#beat().catch(this.#report);
    });
    dispatcher.events.on('room', () => {
      void (this.#version.refused === undefined ? dispatcher.pump() : Promise.resolve())
        .then(() => this.#beat())
        .catch(this.#report);
    });
    log('dispatcher_started', {
      pid: process.pid,
      version: this.#options.version,
      transport: transport.dir,
      origin: transport.origin !== undefined,
      branch: transport.branch,
    });
    const over = new AbortController();
    try {
      await dispatcher.endLeftovers();
      if (!this.#options.once) void lookAtChanges(this.#options.isChanged, this.#bell, over.signal);
      return this.#options.once ? await this.#once() : await this.#loop();
    } finally {
      over.abort();
      const { outbox, publisher } = this.#app;
      const steps = [
        () => dispatcher.stop(grace),
        () => lastPush(outbox, publisher),
        () => this.#housekeeping.finish(),
        () => deliveries.save(),
        // Commands treat any process that answers as a serving dispatcher, so it stops answering
        // now.
        () => ear.close(),
        () => this.#far.close(),
        () => this.#beat(),
      ];
      await eachInTurn(steps, this.#report);
      const { processes, reads } = transport.cost;
      log('dispatcher_stopped', {
        host: hosts.active?.alias ?? null,
        git_processes: processes,
        objects_read: reads,
      });
    }
  }

  async #once(): Promise<ServeResult> {
    const { dispatcher, publisher, stalled } = this.#app;
    stalled.isPass = true;
    const ticked = await this.#tick();
    if (ticked === undefined) return {};
    await dispatcher.drain();
    await publisher.flush();
    // A person who waits for an answer that this pass has held is notified in this pass.
    await dispatcher.drain();
    const problem = await problemOfPass(this.#app, ticked);
    return problem === undefined ? {} : { problem };
  }

  async #loop(): Promise<ServeResult> {
    const { stop } = this.#options;
    const rhythm = new Rhythm(() => this.#pace.interval.ms);
    while (!stop.aborted) {
      this.#options.checkPlace();
      const ticked = await this.#tick();
      this.#far.follow();
      this.#pace.look();
      const successor = await this.#successor().catch(this.#report);
      if (successor !== undefined) return { successor };
      const heedsAll = this.#news.awaited > 0 || !(this.#far.isUp || this.#pace.isCrowded);
      if (expectsMore(ticked, heedsAll)) rhythm.active();
      const rang = await this.#alarm.wait(await this.#delay(rhythm), stop);
      if (rang === 'time' || rang === 'ask' || rang === 'fetch') this.#fetchWanted = true;
      if (rang === 'look' || rang === 'ask') rhythm.active();
    }
    return {};
  }

  /** A failing disk must not end the dispatcher: it tries again at the next round. */
  readonly #report = (error: unknown): undefined => {
    this.#app.log('internal_error', { error: reasonOf(error) });
    return undefined;
  };

  /** Returns the version to make room for, if nothing runs, is queued or is being passed on at the moment. */
  async #successor(): Promise<string | undefined> {
    const successor = await this.#options.successor?.();
    if (successor === undefined || this.#answers.handedOver > 0) return undefined;
    const { dispatcher, outbox } = this.#app;
    if (dispatcher.running.length > 0) return undefined;
    // With an unsupported version nothing leaves the outbox; the successor may be able to push it.
    const quiet = this.#version.refused !== undefined || (await outbox.isEmpty());
    return quiet ? successor : undefined;
  }

  /** Milliseconds to wait: those of the rhythm, or fewer when something becomes due earlier. */
  async #delay(rhythm: Rhythm): Promise<number> {
    const { now, random } = this.#app;
    const poll = Math.min(rhythm.next(random()), this.#news.longestPoll);
    const start = await this.#app.dispatcher.nextStart().catch(this.#report);
    const ahead = start === undefined ? Infinity : start.getTime() - now().getTime();
    return Math.min(poll, Math.max(0, ahead) + 5);
  }

  async #tick(): Promise<Ticked | undefined> {
    const { log, transport, deliveries } = this.#app;
    const fetch = this.#fetchWanted;
    this.#fetchWanted = false;
    const before = deliveries.mailboxes.scanned;
    if (fetch) this.#far.begin();
    try {
      const ticked = await tick(
        this.#app,
        fetch ? { lag: this.#lag, signal: this.#options.stop } : undefined,
      );
      this.#troubles.over('tick');
      if (ticked.refused !== undefined && this.#options.once)
        throw new CrosstalkError('unsupported_version', ticked.refused);
      this.#version.note(ticked.refused);
      if (fetch) this.#noteFetch(ticked);
      if (ticked.refused === undefined) this.#housekeeping.follow(ticked.tip);
      await this.#beat();
      return ticked;
    } catch (error) {
      if (this.#options.stop.aborted) return undefined;
      if (this.#options.once) throw error;
      log('internal_error', { error: reasonOf(error), transport: transport.dir });
      this.#troubles.note('tick', reasonOf(error));
      await this.#beat();
      return undefined;
    } finally {
      if (fetch) this.#far.end(deliveries.mailboxes.scanned !== before);
      void this.#news.look();
    }
  }

  #noteFetch({ failure }: Ticked): void {
    if (failure !== undefined) this.#news.letGo();
    this.#troubles.note('fetch', failure?.reason);
  }

  async #beat(): Promise<void> {
    const now = this.#app.now();
    this.#beatAt = now.getTime();
    const facts = {
      version: this.#options.version,
      startedAt: this.#startedAt,
      at: now.toISOString(),
      interval: this.#pace.interval,
      fetchFailing: this.#troubles.of('fetch'),
      tickFailing: this.#troubles.of('tick'),
      bell: this.#far.state,
    };
    const heartbeat = await pulse(this.#app, facts);
    this.#far.beat(heartbeat);
    await saveHeartbeat(this.#options.heartbeat, heartbeat).catch(() => undefined);
  }
}

/**
 * Milliseconds between news and this work: an actor that was just asked starts now, and may answer at once; the
 * processes that move the checkout would be in the way.
 */
const REST_MS = 200;
/** Milliseconds after which a checkout that could not follow is looked at again, although there was no news. */
const AGAIN_MS = 60_000;

/**
 * Work beside the delivery of messages, which does not need it: updating the checkout, so that
 * people and agents can read files in it, and packing loose objects before there are too many.
 */
export class Housekeeping {
  readonly #transport: Transport;
  readonly #log: Log;
  readonly #checkout: Checkout;
  /** Paths on the bus that do not belong to a transport, and were already reported. */
  readonly #foreign = new Set<string>();
  /** The newest tip, and the one for which the work was started the last time. */
  #wanted: string | undefined;
  #doneFor: string | undefined;
  /** When the checkout is looked at again without news, in milliseconds since 1970. */
  #again = Infinity;
  readonly #now: () => Date;
  #working: Promise<void> | undefined;
  readonly #hurry = new AbortController();
  readonly #rest: number;

  /** @param options `once`: for a dispatcher of one pass, which nobody asks more while it works */
  constructor(
    { transport, now, log }: Pick<Dispatching, 'transport' | 'now' | 'log'>,
    { once }: { once: boolean },
  ) {
    this.#transport = transport;
    this.#log = log;
    this.#checkout = new Checkout(transport, now);
    this.#now = now;
    this.#rest = once ? 0 : REST_MS;
  }

  /** Starts the work for a new tip, a moment later; if it is under way, once that is over. */
  follow(tip: string | undefined): void {
    this.#wanted = tip;
    const isDone = tip === this.#doneFor && this.#now().getTime() < this.#again;
    if (isDone || this.#working !== undefined) return;
    this.#working = wait(this.#rest, this.#hurry.signal)
      .then(() => {
        const isAgain = this.#wanted === this.#doneFor;
        this.#doneFor = this.#wanted;
        return isAgain ? this.#bringCheckout() : this.#work();
      })
      .finally(() => {
        this.#working = undefined;
        // A checkout that somebody works on is looked at again at the next news.
        if (!this.#checkout.isBusy && !this.#hurry.signal.aborted) this.follow(this.#wanted);
      });
  }

  /**
   * Waits for the work under way and does it one last time, so that a stopped dispatcher leaves
   * everything in order.
   */
  async finish(): Promise<void> {
    this.#hurry.abort();
    await this.#working;
    await this.#work();
  }

  async #bringCheckout(): Promise<void> {
    const followed = await this.#checkout.follow().catch(() => undefined);
    // Its obstacle may go away without any news.
    const isLeft = followed === undefined || followed.state === 'left';
    this.#again = isLeft ? this.#now().getTime() + AGAIN_MS : Infinity;
    if (this.#checkout.isBusy) this.#doneFor = undefined;
  }

  async #work(): Promise<void> {
    await this.#bringCheckout();
    const foreign = await this.#transport.foreignPaths().catch((error: unknown) => {
      this.#log('internal_error', { error: `foreign paths: ${reasonOf(error)}` });
      return [];
    });
    for (const path of foreign) {
      if (this.#foreign.has(path)) continue;
      this.#foreign.add(path);
      this.#log('foreign_path', {
        path,
        note: 'no checkout shows it: nothing of a transport is there',
      });
    }
    const maintained = await this.#transport.maintain().catch((error: unknown) => {
      this.#log('internal_error', { error: `git maintenance: ${reasonOf(error)}` });
    });
    if (maintained !== undefined) this.#log('maintained', { ...maintained });
  }
}

/**
 * Remembers why a running dispatcher processes nothing: the transport's version is not supported
 * (protocol.md §1). This is logged once, and once more when the version is supported again.
 */
class VersionCheck {
  readonly #log: Log;
  #refused: string | undefined;

  constructor(log: Log) {
    this.#log = log;
  }

  get refused(): string | undefined {
    return this.#refused;
  }

  /** @param refused the reason that the newest tick found */
  note(refused: string | undefined): void {
    if (refused !== undefined && refused !== this.#refused)
      this.#log('version_refused', { problem: refused });
    if (refused === undefined && this.#refused !== undefined) this.#log('version_accepted');
    this.#refused = refused;
  }
}
