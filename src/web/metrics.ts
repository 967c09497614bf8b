import type { Gauge } from 'prom-client';
import type { WebNow } from '../api/api.ts';
import { ownBill, type TierBill } from '../operations/reading/cost.ts';
import { forAPerson, type ForAPerson } from '../operations/health/for-a-person.ts';
import { AutomationMetrics } from './automation-metrics.ts';
import type { Parts } from './parts.ts';
import type * as Packages from './web-packages.ts';

/** `/metrics`: the data of `/api/now` for Prometheus. */
export class Metrics {
  readonly #parts: Parts;
  readonly #paths: readonly string[];
  readonly #registry;
  readonly #requests;
  readonly #automation: AutomationMetrics;
  readonly #set: (now: WebNow, bill: readonly TierBill[], deciding: ForAPerson) => void;

  /** @param paths of all routes, as the table has them */
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

  /** Counts an answer. Arbitrary paths count as one route. */
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

/** Whether a path is one of a route's, whatever stands where the route has a parameter. */
function isOf(template: string, path: string): boolean {
  const [parts, given] = [template.split('/'), path.split('/')];
  return (
    parts.length === given.length &&
    parts.every((part, index) => part.startsWith('{') || part === given[index])
  );
}
