import { passed } from '../crash-points.ts';
import { reasonOf } from '../errors.ts';
import type { Outbox } from '../state/outbox.ts';
import type { Failure } from '../transport/transport.ts';
import type { Dispatcher } from './dispatcher.ts';
import { fetchNews, type FetchParts, type FetchedTip } from './fetch.ts';
import { hostInForce, versionRefused } from './host-conditions.ts';
import type { Guards } from './run/guards.ts';
import type { HostFileInForce } from './host-file-in-force.ts';
import { TickMeter } from './tick-meter.ts';
import type { AnswersElsewhere } from './automation/answers-elsewhere.ts';
import type { Schedules } from './automation/schedules.ts';
import type { WorkspaceSweep } from './workspace-sweep.ts';
import type { Publisher } from '../bus/publisher.ts';

export interface TickParts extends FetchParts {
  hosts: HostFileInForce;
  guards: Guards;
  dispatcher: Dispatcher;
  outbox: Outbox;
  publisher: Publisher;
  sweep: WorkspaceSweep;
  schedules: Schedules;
  answersElsewhere: AnswersElsewhere;
}

/** The result of one tick. */
export interface Ticked {
  tip: string | undefined;
  /** Whether there is something new on the bus, and a host is served. */
  isNew: boolean;
  /** Whether runs are under way. */
  isBusy: boolean;
  failure?: Failure;
  /** Why nothing may be processed: the version is not supported. */
  refused?: string;
}

/**
 * Whether more is to be expected here soon, so that the next poll should come early.
 *
 * @param heedsAll whether news among others is a sign of it: not where a bell tells whatever comes for this
 *   machine, nor where so many share a remote that it would be asked too often
 */
export function expectsMore(ticked: Ticked | undefined, heedsAll: boolean): boolean {
  if (ticked === undefined) return false;
  return ticked.isBusy || (ticked.isNew && heedsAll);
}

/** Runs the pipeline once:~Runs */
export async function tick(parts: TickParts, fetch: boolean): Promise<Ticked> {
  const { transport, deliveries, hosts, dispatcher, sweep, log } = parts;
  const meter = new TickMeter(transport);

  // fetch
  const news = await fetchNews(parts, meter, fetch);
  const { tip, isNew, failure } = news;
  const failed = failure && { failure };
  const refused = await versionRefused(transport, news);
  if (refused !== undefined) return { tip, isNew: false, isBusy: false, refused, ...failed };

  // added → parse → activate
  const added = await takeIn(parts, news);
  await sendAutomatic(parts, tip);
  meter.hasRead();

  // batch → invoke → reply → outbox: started here for jobs that find room
  await dispatcher.pump();

  // publish → settle: started here for what is left in the outbox
  await publishQueued(parts);
  await deliveries.save();
  passed('cursors_saved');

  sweep.tidy(tip);
  const { awaiting: held, ...counts } = deliveries.mailboxes.counts();
  log('tick', { tip, added, ...counts, held, ...meter.figures(fetch) });
  const isBusy = dispatcher.running.length > 0;
  return { tip, isNew: isNew && hosts.active !== undefined, isBusy, ...failed };
}

/**
 * Scans what was added and delivers it to the actors of this host; returns how many messages were
 * added.
 */
async function takeIn(
  { deliveries, hosts, dispatcher }: TickParts,
  news: FetchedTip,
): Promise<number> {
  const { tip, isNews } = news;
  if (tip === undefined) return 0;
  const scan = hosts.active && (await deliveries.advance(hosts.active.alias, tip, isNews));
  const served = await hostInForce(hosts, tip, news, scan);
  if (served !== undefined) {
    const { alias, actors } = served.host;
    if (isNews && deliveries.mailboxes.awaitingContent().length > 0)
      await deliveries.readAgain(alias, tip);
    if (served.isChanged) await deliveries.admit(alias, [...actors.keys()], tip, isNews);
  }
  await dispatcher.cancel();
  return scan?.added ?? 0;
}

/** Sends what schedules say, and tasks that follow on answers of other hosts; neither must keep mail from its actors. */
async function sendAutomatic(
  { schedules, answersElsewhere, hosts, guards, dispatcher }: TickParts,
  tip: string | undefined,
): Promise<void> {
  if (tip === undefined || hosts.active === undefined) return;
  const { alias } = hosts.active;
  const { automation } = dispatcher.stalled;
  await automation.try('schedules', () => schedules.fire(alias, tip, () => guards.paused()));
  await automation.try('subscriptions', () => answersElsewhere.follow(alias, tip));
  automation.endRound();
}

/** Starts a push without waiting for it; its deliveries are settled when it is over. */
async function publishQueued({ publisher, outbox, log }: TickParts): Promise<void> {
  if (!publisher.expected.isEmpty || !(await outbox.isEmpty()))
    void publisher.flush().catch((error: unknown) => {
      log('push_failed', { kind: 'other', reason: reasonOf(error) });
    });
}

/** What kept a single pass from doing all of its work, and what to do; undefined if nothing did. */
export async function problemOfPass(
  { dispatcher, hosts, publisher, outbox }: TickParts,
  { failure }: Ticked,
): Promise<string | undefined> {
  const stalled = dispatcher.stalled.first;
  if (stalled !== undefined)
    return `mail is left waiting: ${stalled.reason}; nothing is lost, try again`;
  if (failure !== undefined)
    return `could not ask the remote: ${failure.reason}; nothing is lost, try again`;
  if (hosts.active === undefined) return hosts.problem ?? 'no host file';
  const left = (await outbox.all()).length;
  if (left === 0) return undefined;
  const reason = publisher.failing?.reason ?? 'the push was not tried';
  return `still in the outbox: ${String(left)}, because ${reason}; pushed at the next run`;
}
