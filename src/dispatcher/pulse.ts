import type { Heartbeat } from '../state/heartbeat.ts';
import type { Interval } from './pace.ts';
import type { Dispatching } from './tick.ts';
import type { BellState } from './bell/far-bell.ts';
import type { Trouble } from '../bus/troubles.ts';

/** Facts that the service knows and its parts do not. */
export interface ServiceFacts {
  version: string;
  /** As ISO 8601 in UTC. */
  startedAt: string;
  /** The current time, as ISO 8601 in UTC. */
  at: string;
  interval: Interval;
  fetchFailing: Trouble | undefined;
  /** Since when ticks fail, and the reason. */
  tickFailing: Trouble | undefined;
  /** Undefined without a bell between machines. */
  bell: BellState | undefined;
}

/** The most schedules, and subscriptions, with a problem that are told of: the file is written in each round. */
const MOST_PROBLEMS = 20;

/** The current state of a dispatcher, for `crosstalk status`. */
export async function pulse(app: Dispatching, facts: ServiceFacts): Promise<Heartbeat> {
  const { dispatcher, deliveries, hosts, publisher, transport, schedules } = app;
  const subscriptions = app.answersElsewhere.problems;
  const { fetchFailing } = facts;
  const { failing } = publisher;
  const stalled = facts.tickFailing ?? app.stalled.first;
  const unrecorded = app.unrecorded.first;
  const joining = dispatcher.joins.waiting;
  const counts = deliveries.mailboxes.counts();
  return {
    pid: process.pid,
    version: facts.version,
    started_at: facts.startedAt,
    at: facts.at,
    interval: facts.interval.ms / 1000,
    ...(facts.interval.slowedBy !== undefined && { slowed_by: facts.interval.slowedBy }),
    host: hosts.active?.alias ?? null,
    tip: deliveries.mailboxes.scanned ?? (await transport.tip().catch(() => undefined)) ?? null,
    running: dispatcher.running,
    pending: counts.pending,
    ...(counts.awaiting > 0 && { unread: counts.awaiting }),
    parked: app.guards.deferrals,
    ...(joining.length > 0 && { joining }),
    ...(fetchFailing && {
      fetch_failing_since: fetchFailing.since,
      fetch_error: fetchFailing.reason,
    }),
    ...(facts.bell && { bell: facts.bell }),
    ...(failing && { push_failing_since: failing.since, push_error: failing.reason }),
    ...(deliveries.aliases.found && { alias_shared: deliveries.aliases.found }),
    ...(schedules.problems.length > 0 && { schedules: schedules.problems.slice(0, MOST_PROBLEMS) }),
    ...(subscriptions.length > 0 && { subscriptions: subscriptions.slice(0, MOST_PROBLEMS) }),
    ...(unrecorded && {
      record_failing_since: unrecorded.since,
      record_error: unrecorded.reason,
    }),
    ...(stalled && { stalled_since: stalled.since, stall_error: stalled.reason }),
    ...(hosts.problem !== undefined && { host_problem: hosts.problem }),
  };
}
