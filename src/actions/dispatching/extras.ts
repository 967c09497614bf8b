import type { DispatcherApp } from '../../bus/app.ts';
import { committedSince, ScheduleFiles } from '../../bus/automation/schedules.ts';
import type { SubscriptionFiles } from '../../bus/automation/subscriptions.ts';
import { AnswersElsewhere } from '../../dispatcher/automation/answers-elsewhere.ts';
import { Schedules } from '../../dispatcher/automation/schedules.ts';
import type { Subscriptions } from '../../dispatcher/automation/subscriptions.ts';
import type { Deliveries } from '../../dispatcher/intake/deliveries.ts';
import type { Pools } from '../../dispatcher/pools/pools.ts';
import type { EngineExtra } from '../../dispatcher/run/engine.ts';
import type { Guards } from '../../dispatcher/run/guards.ts';
import type { Sessions } from '../../dispatcher/sessions/sessions.ts';
import { type ScheduleRecords, SubscriptionRecord } from '../../state/automation/schedules.ts';
import { machineZone, noZone } from '../clock.ts';
import type { Context } from '../context.ts';
import { defaultChannelOf } from '../lookup/resolve.ts';

/** Parts of the dispatcher that the extras work with. */
interface ExtrasApp {
  app: DispatcherApp;
  deliveries: Deliveries;
  guards: Guards;
  pools: Pools;
  sessions: Sessions;
  subscriptions: Subscriptions;
  files: SubscriptionFiles;
  records: ScheduleRecords;
  /** Starts to push an entry of the outbox, and waits for nothing. */
  publish: (id: string) => void;
}

/** Most schedules, and subscriptions, with a problem that are reported: the file is written in each round. */
const MOST_PROBLEMS = 20;
/** Milliseconds after which mail waits whose claim could not be pushed. */
const CLAIM_PATIENCE_MS = 120_000;

/** Creates the extras of a dispatcher, in the order in which they are called. */
export function extrasOf(context: Context, parts: ExtrasApp): EngineExtra[] {
  return [pools(parts), schedules(context, parts), subscriptions(parts), sessions(parts)];
}

function pools({ pools: all }: ExtrasApp): EngineExtra {
  return {
    name: 'pools',
    patience: CLAIM_PATIENCE_MS,
    ingest: (news) => all.follow(news),
    look: () => all.leases.look(),
    candidates: (tip, messages) => all.ready(tip, messages),
    isAlone: (delivery) => all.isAlone(delivery),
    beforeRun: async (job, { running, letter }) => {
      const won = await all.claim(job, running, letter?.attempts_since_release === 0);
      if (!won.ok) return { kind: 'taken', isOver: won.isOver };
      if (won.claims.length > 0) job.claims = won.claims;
      return undefined;
    },
    next: () => all.next(),
  };
}

function schedules(context: Context, parts: ExtrasApp): EngineExtra {
  const { app, guards, deliveries, records, publish } = parts;
  const files = new ScheduleFiles(app.transport);
  const all = new Schedules({
    ...app,
    records,
    publish,
    files: (tip, known) => files.at(tip, known),
    committedSince: (...asked) => committedSince(app.transport, ...asked),
    unsettled: (channel) => deliveries.mailboxes.unsettled(channel),
    usualChannel: (channels) => defaultChannelOf(context, channels),
    zone: { name: machineZone(), problem: noZone() },
  });
  return {
    name: 'schedules',
    ingest: ({ host, tip }) => all.fire(host.alias, tip, () => guards.paused()),
    next: () => all.next,
    report: () => {
      const { problems } = all;
      return problems.length > 0 ? { schedules: problems.slice(0, MOST_PROBLEMS) } : {};
    },
  };
}

function subscriptions({ app, subscriptions: all, files, publish }: ExtrasApp): EngineExtra {
  const record = new SubscriptionRecord(app.paths.root);
  const elsewhere = new AnswersElsewhere({ ...app, subscriptions: all, files, publish, record });
  return {
    name: 'subscriptions',
    ingest: ({ host, tip }) => elsewhere.follow(host.alias, tip),
    report: () => {
      const { problems } = elsewhere;
      return problems.length > 0 ? { subscriptions: problems.slice(0, MOST_PROBLEMS) } : {};
    },
  };
}

function sessions({ sessions: all }: ExtrasApp): EngineExtra {
  return {
    name: 'sessions',
    afterRun: (job, written) => all.over(job.id, written),
    stop: () => all.warm.endAll(),
  };
}
