import type { Gauge } from 'prom-client';
import type { WebNow, WebBrokenFiles, WebSchedule } from '../api/api.ts';
import { ownBill, type TierBill } from '../actions/reading/cost.ts';
import { forAPerson, type ForAPerson } from '../actions/state/open-proposals.ts';
import type { Parts, EventCounts } from './parts.ts';
import type * as Packages from './web-packages.ts';
import { brokenFiles } from '../actions/page/broken-files.ts';
import type { Trace } from '../actions/page/recent.ts';
import { schedulesHere } from '../actions/schedules/list.ts';
import { namesOfSkills } from '../actions/skills/list.ts';
import { subscriptionsHere } from '../actions/subscriptions/list.ts';

/** The metrics at `/metrics`: the data of `/api/now` for Prometheus. */
export class Metrics {
  readonly #parts: Parts;
  readonly #paths: readonly string[];
  readonly #registry;
  readonly #requests;
  readonly #automation: AutomationMetrics;
  readonly #set: (now: WebNow, bill: readonly TierBill[], deciding: ForAPerson) => void;

  /** @param paths of all routes, as in their table */
  constructor(
    { Counter, Gauge: GaugeClass, Registry }: typeof Packages,
    parts: Parts,
    paths: readonly string[],
  ) {
    this.#parts = parts;
    this.#paths = paths;
    const registry = new Registry();
    const gauge = <T extends string = never>(
      name: string,
      help: string,
      ...labelNames: T[]
    ): Gauge<T> =>
      new GaugeClass({ name: `crosstalk_${name}`, help, labelNames, registers: [registry] });
    this.#registry = registry;
    this.#requests = new Counter({
      name: 'crosstalk_web_requests_total',
      help: 'HTTP requests answered, by route and status.',
      labelNames: ['method', 'route', 'status'] as const,
      registers: [registry],
    });
    const healthy = gauge('healthy', '1 while nothing is stuck.');
    const waiting = gauge('waiting_messages', 'Messages without an answer, by age.', 'under_s');
    const oldest = gauge('waiting_oldest_seconds', 'Age of the oldest message without an answer.');
    const letters = gauge('dead_letters', 'Failed deliveries, by state.', 'state');
    const decisions = gauge('decisions_waiting', 'What waits for a person to decide.', 'kind');
    const outbox = gauge('outbox_messages', 'Messages that are to be pushed.');
    const outboxAge = gauge('outbox_oldest_seconds', 'Age of the oldest entry to be pushed.');
    const running = gauge('runs_running', 'CLIs at work on this machine, by actor.', 'actor');
    const ended = gauge('runs_ended', 'CLIs that this server saw end, by outcome.', 'outcome');
    const billed = gauge('billed_runs', 'Runs in the ledger of this machine.', 'actor', 'tier');
    const usd = gauge('billed_usd', 'US dollars that these runs stated.', 'actor', 'tier');
    const tokens = gauge('billed_tokens', 'Tokens of these runs.', 'actor', 'tier', 'kind');
    const pushes = gauge('pushes_last_minute', 'Pushes of the last minute.', 'host');
    const limit = gauge('pushes_per_minute_limit', 'Pushes a minute there may be.', 'host');
    const beat = gauge('heartbeat_age_seconds', 'Age of the heartbeat of the dispatcher here.');
    const wrote = gauge('host_last_wrote_seconds', 'When a host last wrote, Unix time.', 'host');
    this.#automation = new AutomationMetrics(parts, gauge);
    const streams = gauge('web_streams', 'Pages that look on.');
    const memory = gauge('web_resident_memory_bytes', 'Resident memory of this server.');
    const { hub } = parts;

    this.#set = (now, bill, deciding) => {
      healthy.set(now.health.ok ? 1 : 0);
      for (const { under_s: under, messages } of now.waiting.ages)
        waiting.set({ under_s: under === null ? 'more' : String(under) }, messages);
      oldest.set(now.waiting.oldest_s ?? 0);
      for (const state of ['retrying', 'quarantined', 'parked'])
        letters.set({ state }, now.dead_letters.filter((letter) => letter.state === state).length);
      for (const [kind, count] of Object.entries(deciding)) decisions.set({ kind }, count);
      outbox.set(now.outbox.reduce((sum, { messages }) => sum + messages.length, 0));
      outboxAge.set(Math.max(0, ...now.outbox.map(({ age_s: age }) => age)));
      running.reset();
      for (const actor of now.actors) running.set({ actor: actor.name }, actor.running.length);
      for (const outcome of [
        'answered',
        'silent',
        'failed',
        'parked',
        'cancelled',
        'stopped',
      ] as const)
        ended.set({ outcome }, hub.outcomes.get(outcome) ?? 0);
      for (const one of [billed, usd, tokens]) one.reset();
      for (const { actor, tier, runs, usd: money = 0, ...used } of bill) {
        billed.inc({ actor, tier }, runs);
        usd.inc({ actor, tier }, money);
        for (const kind of ['input', 'cached', 'output'] as const)
          tokens.inc({ actor, tier, kind }, used[kind]);
      }
      if (now.push_budget !== null) {
        const { host, used, pushes_per_minute: most } = now.push_budget;
        pushes.set({ host }, used);
        limit.set({ host }, most);
      }
      if (now.dispatcher === null) beat.remove();
      else beat.set(now.dispatcher.age_s);
      wrote.reset();
      for (const { alias, last_wrote: at } of now.hosts)
        if (at !== null) wrote.set({ host: alias }, Date.parse(at) / 1000);
      streams.set(hub.streams.size);
      memory.set(process.memoryUsage.rss());
    };
  }

  /** Counts a response. Unknown paths count as one route. */
  count(method: string, path: string, status: number): void {
    const other = path.startsWith('/api/') ? '/api/' : '/';
    const route = this.#paths.find((template) => isOf(template, path)) ?? other;
    const known = /^(GET|HEAD|POST)$/.test(method) ? method : 'other';
    this.#requests.inc({ method: known, route, status: String(status) });
  }

  async answer(): Promise<Response> {
    const { now, context } = this.#parts;
    const [bill, deciding] = await Promise.all([ownBill(context), forAPerson(context)]);
    await this.#automation.set();
    this.#set(await now.get(), bill, deciding);
    return new Response(await this.#registry.metrics(), {
      headers: { 'content-type': this.#registry.contentType },
    });
  }
}

/** Whether a path matches a route, with any value for a parameter. */
function isOf(template: string, path: string): boolean {
  const [parts, given] = [template.split('/'), path.split('/')];
  return (
    parts.length === given.length &&
    parts.every((part, index) => part.startsWith('{') || part === given[index])
  );
}

/** A function that creates a gauge of the registry. */
type MakeGauge = <T extends string = never>(
  name: string,
  help: string,
  ...labelNames: T[]
) => Gauge<T>;

/** Label of messages whose subscription or skill does not exist, as anybody may name any. */
const OTHER = '(other)';

/**
 * Metrics of the items that start work automatically. Names in messages become labels only if such a file
 * exists, so that a pusher cannot create any number of series.
 */
class AutomationMetrics {
  readonly #parts: Parts;
  readonly #due;
  readonly #last;
  readonly #tasks;
  readonly #lastTask;
  readonly #asked;
  readonly #events;
  readonly #broken;

  constructor(parts: Parts, gauge: MakeGauge) {
    this.#parts = parts;
    this.#due = gauge('schedule_next_seconds', 'When a schedule is due, Unix time.', 'schedule');
    this.#last = gauge(
      'schedule_last_seconds',
      'The last occurrence of a schedule of this machine, Unix time, by what became of it.',
      ...(['schedule', 'outcome'] as const),
    );
    this.#tasks = gauge(
      'subscription_tasks_recent',
      'Tasks that subscriptions have given, among the newest 2000 messages.',
      'subscription',
    );
    this.#lastTask = gauge(
      'subscription_last_seconds',
      'When a subscription has last given a task, Unix time, by these messages.',
      'subscription',
    );
    this.#asked = gauge(
      'skill_asks_recent',
      'Messages among the newest 2000 that ask for a skill; (other) for a name that no skill has.',
      'skill',
    );
    this.#events = gauge(
      'events_received',
      'Events that this server was told of since its start, by what became of each, and why.',
      ...(['outcome', 'reason'] as const),
    );
    this.#broken = gauge('broken_files', 'Files of operators that cannot be read.', 'kind');
  }

  /** Updates all of them. */
  async set(): Promise<void> {
    const { context, recent, eventCounts } = this.#parts;
    const [{ traces }, schedules, { subscriptions }, skills, broken] = await Promise.all([
      recent.traces(),
      schedulesHere(context),
      subscriptionsHere(context),
      namesOfSkills(context),
      brokenFiles(context),
    ]);
    this.#setSchedules(schedules);
    const names = new Set(subscriptions.flatMap(({ name, source }) => (source ? [name] : [])));
    this.#setTraces(traces, names, new Set(skills));
    this.#setEvents(eventCounts);
    this.#setBroken(broken);
  }

  #setSchedules(schedules: readonly WebSchedule[]): void {
    this.#due.reset();
    this.#last.reset();
    for (const { name: schedule, next, last: at, outcome } of schedules) {
      if (next !== null) this.#due.set({ schedule }, Date.parse(next) / 1000);
      if (at !== null && outcome !== null)
        this.#last.set({ schedule, outcome }, Date.parse(at) / 1000);
    }
  }

  #setTraces(
    traces: readonly Trace[],
    subscriptions: ReadonlySet<string>,
    skills: ReadonlySet<string>,
  ): void {
    for (const one of [this.#tasks, this.#lastTask, this.#asked]) one.reset();
    for (const name of subscriptions) this.#tasks.set({ subscription: name }, 0);
    for (const { subscription: given, skill: asked, timestamp } of traces) {
      if (given !== undefined) {
        const subscription = subscriptions.has(given) ? given : OTHER;
        this.#tasks.inc({ subscription });
        this.#lastTask.set({ subscription }, Date.parse(timestamp) / 1000);
      }
      if (asked !== undefined) this.#asked.inc({ skill: skills.has(asked) ? asked : OTHER });
    }
  }

  #setEvents({ all }: EventCounts): void {
    this.#events.reset();
    for (const { outcome, reason, count } of all) this.#events.set({ outcome, reason }, count);
  }

  #setBroken({ files }: WebBrokenFiles): void {
    for (const kind of ['schedule', 'subscription', 'skill'] as const)
      this.#broken.set({ kind }, files.filter((file) => file.kind === kind).length);
  }
}
