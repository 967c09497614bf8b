import { CrosstalkError, reasonOf } from '../errors.ts';
import { saveHeartbeat } from '../state/heartbeat.ts';
import { Alarm, Rhythm } from './alarm.ts';
import { FarBell } from './bell/far-bell.ts';
import { Housekeeping } from './housekeeping.ts';
import { Lag } from './intake/lag.ts';
import { eachInTurn } from '../wait.ts';
import { lastPush } from './last-push.ts';
import { Answers } from './socket/answers.ts';
import { Bell } from './socket/bell.ts';
import { lookAtChanges } from './socket/changes.ts';
import { News } from './socket/news.ts';
import { Pace } from './pace.ts';
import { pulse } from './pulse.ts';
import type { ServeResult, ServeOptions } from './serve-options.ts';
import { expectsMore, problemOfPass, tick, type Ticked, type TickParts } from './tick.ts';
import { Troubles } from '../bus/troubles.ts';
import { VersionCheck } from './version-check.ts';
import { listen } from './socket/wake.ts';

/**
 * Runs the dispatcher of one transport on this machine, until `stop` or for one pass; the caller sees to it that
 * there is no other. An unsupported version ends only a single pass: otherwise anybody who can push could end
 * every dispatcher.
 *
 * @throws CrosstalkError in one pass `unsupported_version` for a transport of an unsupported version
 */
export function serve(
  parts: Omit<TickParts, 'signal' | 'lag'>,
  options: ServeOptions,
): Promise<ServeResult> {
  return new Service(parts, options).run();
}

/** For so many polls a remote may show an older state than before, until the branch counts as set back. */
const POLLS_BEHIND = 3;

class Service {
  readonly #parts: TickParts;
  readonly #options: ServeOptions;
  readonly #bell = new Bell();
  readonly #alarm = new Alarm(this.#bell);
  readonly #news: News;
  readonly #startedAt: string;
  #fetchWanted = true;
  readonly #troubles: Troubles;
  readonly #housekeeping: Housekeeping;
  readonly #version: VersionCheck;
  readonly #answers: Answers;
  readonly #far: FarBell;
  readonly #pace: Pace;

  constructor(parts: Omit<TickParts, 'signal' | 'lag'>, options: ServeOptions) {
    const patience = (): number => POLLS_BEHIND * this.#pace.interval.ms;
    this.#parts = {
      ...parts,
      signal: options.stop,
      lag: new Lag({ ...parts, ...options, patience }),
    };
    this.#options = options;
    this.#startedAt = options.now().toISOString();
    this.#troubles = new Troubles(options.now);
    this.#version = new VersionCheck(parts.log);
    this.#housekeeping = new Housekeeping(parts.transport, options, parts.log);
    this.#news = new News(() => parts.transport.tip(), options);
    this.#answers = new Answers({ ...parts, ...options, bell: this.#bell, news: this.#news });
    this.#far = new FarBell({ ...parts, ...options, bell: this.#bell, waits: this.#answers });
    this.#pace = new Pace(options.interval, { ...parts, ...options, bell: this.#far });
  }

  async run(): Promise<ServeResult> {
    const { dispatcher, log, hosts, transport } = this.#parts;
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
    const { events } = this.#parts.publisher;
    // Whoever waits for an answer need not wait until its push is noted, or its delivery settled.
    events.on('taken', this.#answers.replies.taken);
    events.on('push', (pushed, entries) => {
      if (!pushed.ok) return;
      void this.#news.look();
      this.#far.tell(pushed.tip, entries);
    });
    events.on('news', () => {
      this.#bell.ring('look');
    });
    // Who waits for an answer that is held is told by the next look.
    events.on('held', ({ delivery }) => {
      if (delivery !== undefined) this.#bell.ring('look');
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
      const { deliveries, outbox, publisher } = this.#parts;
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
    const { dispatcher, publisher } = this.#parts;
    dispatcher.stalled.isPass = true;
    const ticked = await this.#tick();
    if (ticked === undefined) return {};
    await dispatcher.drain();
    await publisher.flush();
    // Who waits for what that has held back is told in this pass.
    await dispatcher.drain();
    const problem = await problemOfPass(this.#parts, ticked);
    return problem === undefined ? {} : { problem };
  }

  async #loop(): Promise<ServeResult> {
    const { stop } = this.#options;
    const rhythm = new Rhythm(() => this.#pace.interval.ms);
    while (!stop.aborted) {
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
    this.#parts.log('internal_error', { error: reasonOf(error) });
    return undefined;
  };

  /** The version to make room for, if nothing runs, is queued or is being passed on at the moment. */
  async #successor(): Promise<string | undefined> {
    const successor = await this.#options.successor?.();
    if (successor === undefined || this.#answers.handedOver > 0) return undefined;
    const { dispatcher, outbox } = this.#parts;
    if (dispatcher.running.length > 0) return undefined;
    // With an unsupported version nothing leaves the outbox; the successor may be able to push it.
    const quiet = this.#version.refused !== undefined || (await outbox.isEmpty());
    return quiet ? successor : undefined;
  }

  /** Milliseconds to wait: those of the rhythm, or fewer when something becomes due earlier. */
  async #delay(rhythm: Rhythm): Promise<number> {
    const { now, random } = this.#options;
    const poll = Math.min(rhythm.next(random()), this.#news.longestPoll);
    const start = await this.#parts.dispatcher.nextStart().catch(this.#report);
    const time = now().getTime();
    const times = [start, this.#parts.schedules.next].flatMap((one) => one?.getTime() ?? []);
    const ahead = times.map((one) => one - time).filter((ms) => ms > 0);
    return Math.min(poll, ...ahead.map((ms) => ms + 5));
  }

  async #tick(): Promise<Ticked | undefined> {
    const { log, transport, deliveries } = this.#parts;
    const fetch = this.#fetchWanted;
    this.#fetchWanted = false;
    const before = deliveries.mailboxes.scanned;
    if (fetch) this.#far.begin();
    try {
      const ticked = await tick(this.#parts, fetch);
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
    const facts = {
      version: this.#options.version,
      startedAt: this.#startedAt,
      at: this.#options.now().toISOString(),
      interval: this.#pace.interval,
      fetchFailing: this.#troubles.of('fetch'),
      tickFailing: this.#troubles.of('tick'),
      bell: this.#far.state,
    };
    const heartbeat = await pulse(this.#parts, facts);
    this.#far.beat(heartbeat);
    await saveHeartbeat(this.#options.heartbeat, heartbeat).catch(() => undefined);
  }
}
