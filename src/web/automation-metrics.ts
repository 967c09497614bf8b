import type { Gauge } from 'prom-client';
import type { WebBrokenFiles, WebSchedule } from '../api/api.ts';
import { brokenFiles } from '../operations/page/broken-files.ts';
import type { Trace } from '../operations/page/recent.ts';
import { schedulesHere } from '../operations/schedules/list.ts';
import { namesOfSkills } from '../operations/skills/list.ts';
import { subscriptionsHere } from '../operations/subscriptions/list.ts';
import type { EventCounts } from './event-counts.ts';
import type { Parts } from './parts.ts';

/** Makes a gauge of the registry. */
type MakeGauge = <T extends string = never>(
  name: string,
  help: string,
  ...labelNames: T[]
) => Gauge<T>;

/** As what messages are counted whose subscription or skill is not there; anybody may name any. */
const OTHER = '(other)';

/**
 * The figures of what starts work by itself. Names that messages claim are labels only where there is such a file,
 * so that a pusher cannot make any number of series.
 */
export class AutomationMetrics {
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

  /** Brings all of them up to date. */
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
