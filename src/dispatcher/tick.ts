import type { Engine } from './run/engine.ts';
import { passed } from '../crash-points.ts';
import { reasonOf } from '../errors.ts';
import type { Failure, Transport, Refreshed } from '../transport/transport.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { HostFileInForce } from './host-file-in-force.ts';
import type { WorkspaceSweep } from './workspace-sweep.ts';
import type { ActiveHost } from '../bus/approvals.ts';
import { checkVersion } from '../bus/host.ts';
import type { Scan } from './intake/scan.ts';
import type { Lag } from './intake/lag.ts';

/** Engine with its sources of work. */
export interface Dispatching extends Engine {
  hosts: HostFileInForce;
  dispatcher: Dispatcher;
  sweep: WorkspaceSweep;
  /** Resolves when the remote may be asked. */
  mayRead: () => Promise<void>;
}

/** The result of one tick. */
export interface Ticked {
  tip: string | undefined;
  /** Whether there is something new on the bus, and a host is served. */
  isNew: boolean;
  /** Whether runs are under way. */
  isBusy: boolean;
  failure?: Failure;
  /** Reason why nothing may be processed: the version is not supported. */
  refused?: string;
}

/**
 * Whether more is to be expected here soon, so that the next poll should come early.
 *
 * @param heedsAll whether news among others is a sign of it: not where a bell notifies this machine of all its mail,
 * nor where so many share a remote that it would be asked too often
 */
export function expectsMore(ticked: Ticked | undefined, heedsAll: boolean): boolean {
  if (ticked === undefined) return false;
  return ticked.isBusy || (ticked.isNew && heedsAll);
}

/**
 * Runs the pipeline once.
 *
 * @param fetch asks the remote; absent to use only the local state
 */
export async function tick(app: Dispatching, fetch: Fetch | undefined): Promise<Ticked> {
  const { transport, deliveries, hosts, dispatcher, sweep, log } = app;
  const meter = new TickMeter(transport);

  // fetch
  const news = await fetchNews(app, meter, fetch);
  const { tip, isNew, failure } = news;
  const failed = failure && { failure };
  const refused = await versionRefused(transport, news);
  if (refused !== undefined) return { tip, isNew: false, isBusy: false, refused, ...failed };

  // added → parse → activate
  const added = await takeIn(app, news);
  meter.hasRead();

  // batch → invoke → reply → outbox: started here for jobs that find room
  await dispatcher.pump();

  // publish → settle: started here for entries left in the outbox
  await publishQueued(app);
  await deliveries.save();
  passed('cursors_saved');

  sweep.tidy(tip);
  const { awaiting: held, ...counts } = deliveries.mailboxes.counts();
  log('tick', { tip, added, ...counts, held, ...meter.figures(fetch !== undefined) });
  const isBusy = dispatcher.running.length > 0;
  return { tip, isNew: isNew && hosts.active !== undefined, isBusy, ...failed };
}

/** Scans the added messages and delivers them to the actors of this host; returns their number. */
async function takeIn(
  { deliveries, hosts, dispatcher, extras }: Dispatching,
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
    await extras.ingest({ host: served.host, tip, scan, isNews });
    if (served.isChanged) await deliveries.admit(alias, [...actors.keys()], tip, isNews);
  }
  await dispatcher.cancel();
  return scan?.added ?? 0;
}

/** Starts a push without waiting for it; its deliveries are settled when it is over. */
async function publishQueued({ publisher, outbox, log }: Dispatching): Promise<void> {
  if (!publisher.expected.isEmpty || !(await outbox.isEmpty()))
    void publisher.flush().catch((error: unknown) => {
      log('push_failed', { kind: 'other', reason: reasonOf(error) });
    });
}

/** Returns the reason why a single pass did not do all of its work, with a remedy; undefined if it did. */
export async function problemOfPass(
  { stalled, hosts, publisher, outbox }: Dispatching,
  { failure }: Ticked,
): Promise<string | undefined> {
  if (stalled.first !== undefined)
    return `mail is left waiting: ${stalled.first.reason}; nothing is lost, try again`;
  if (failure !== undefined)
    return `could not ask the remote: ${failure.reason}; nothing is lost, try again`;
  if (hosts.active === undefined) return hosts.problem ?? 'no host file';
  const left = (await outbox.all()).length;
  if (left === 0) return undefined;
  const reason = publisher.failing?.reason ?? 'the push was not tried';
  return `still in the outbox: ${String(left)}, because ${reason}; pushed at the next run`;
}

/*
 * The conditions under which a tick serves its host: this program supports the version of the
 * transport, and a host file with approved commands is in force.
 */

/**
 * Returns the reason why no message of a tip may be processed: the version is not supported. The tips scanned before
 * had a supported version.
 */
async function versionRefused(
  transport: Transport,
  { tip, isNew }: FetchedTip,
): Promise<string | undefined> {
  return tip !== undefined && isNew ? checkVersion(transport, tip) : undefined;
}

/** The host that is served at the moment. */
interface InForce {
  host: ActiveHost;
  /** Whether the actors that are served may have changed. */
  isChanged: boolean;
}

/**
 * Updates the host file in force from a tip, applies approvals given meanwhile, and reports held changes: of
 * commands, of profiles and of the clone's settings.
 *
 * @param scan the findings between the last tip and this one, for the host that was in force
 * @returns undefined when no host file is in force, so that no actor is served
 */
async function hostInForce(
  hosts: HostFileInForce,
  tip: string,
  { isNew }: FetchedTip,
  scan: Scan | undefined,
): Promise<InForce | undefined> {
  const mayDiffer = hosts.active === undefined ? isNew : scan?.configured === true;
  if (mayDiffer) await hosts.load(tip);
  const isApproved = await hosts.applyApprovals();
  await hosts.lookAtSettings();
  if (hosts.active === undefined) return undefined;
  return { host: hosts.active, isChanged: scan === undefined || scan.configured || isApproved };
}

/** Request to the remote. */
export interface Fetch {
  lag: Lag;
  signal: AbortSignal;
}

/** The result of a fetch. */
interface FetchedTip {
  tip: string | undefined;
  /** Whether the remote was asked and has answered. */
  isNews: boolean;
  /** Whether the tip differs from the one scanned last; true for the first tip. */
  isNew: boolean;
  /** Reason why the remote did not answer. */
  failure?: Failure;
}

/**
 * Asks the remote for its tip, as the first step of a tick.
 *
 * @param fetch absent to use only the local state, such as this machine's own last push
 */
export async function fetchNews(
  {
    transport,
    deliveries,
    log,
    mayRead,
  }: Pick<Dispatching, 'transport' | 'deliveries' | 'log' | 'mayRead'>,
  meter: TickMeter,
  fetch: Fetch | undefined,
): Promise<FetchedTip> {
  if (fetch !== undefined) await mayRead();
  await deliveries.foresee();
  // A dispatcher that has just started goes by the tip that the remote shows.
  const own = fetch === undefined ? undefined : deliveries.mailboxes.scanned;
  const known = own === undefined ? [] : [(await transport.tip()) ?? own, own];
  meter.asks();
  const refreshed: Refreshed =
    fetch === undefined
      ? { ok: true, tip: await transport.tip() }
      : await transport.refresh(fetch.signal);
  meter.hasAsked();
  passed('fetched');
  const { tip, mended } = refreshed;
  if (mended !== undefined) log('clone_mended', { objects: mended });
  if (refreshed.ok && tip !== undefined && known.length > 0) {
    const instead = await fetch?.lag.insteadOf(tip, known);
    if (instead !== undefined) return { tip: instead, isNew: false, isNews: false };
  }
  const isNew = tip !== undefined && tip !== deliveries.mailboxes.scanned;
  if (refreshed.ok) return { tip, isNew, isNews: fetch !== undefined };
  const { failure } = refreshed;
  log('fetch_failed', { kind: failure.kind, reason: failure.reason });
  return { tip, isNew, isNews: false, failure };
}

/** Measures one tick for its line in the log: time, git processes, objects and bytes read. */
export class TickMeter {
  readonly #transport: Pick<Transport, 'cost'>;
  readonly #begun = performance.now();
  #asked = this.#begun;
  #before: Transport['cost'];
  #after: Transport['cost'];

  constructor(transport: Pick<Transport, 'cost'>) {
    this.#transport = transport;
    this.#before = transport.cost;
    this.#after = this.#before;
  }

  /** Called before the remote is asked: the work of git counts from here. */
  asks(): void {
    this.#before = this.#transport.cost;
  }

  hasAsked(): void {
    this.#asked = performance.now();
  }

  /** Called after everything new was read: the work of git for runs and pushes does not count. */
  hasRead(): void {
    this.#after = this.#transport.cost;
  }

  /** @param fetch whether the remote was asked */
  figures(fetch: boolean): Record<string, number> {
    const [before, after] = [this.#before, this.#after];
    return {
      git_processes: after.processes - before.processes,
      objects_read: after.reads - before.reads,
      bytes_read: after.bytes - before.bytes,
      ...(fetch && { fetch_ms: tenths(this.#asked - this.#begun) }),
      duration_ms: tenths(performance.now() - this.#begun),
    };
  }
}

function tenths(ms: number): number {
  return Math.round(10 * ms) / 10;
}
