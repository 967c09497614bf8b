import { passed } from '../crash-points.ts';
import { reasonOf } from '../errors.ts';
import type { Outbox } from '../state/outbox.ts';
import type { Failure, Transport } from '../transport/transport.ts';
import type { Deliveries } from './intake/deliveries.ts';
import type { Dispatcher } from './dispatcher.ts';
import { checkVersion } from '../bus/host.ts';
import type { Guards } from './run/guards.ts';
import type { HostWatch } from './host-watch.ts';
import type { Log } from '../log.ts';
import type { WorkspaceSweep } from './workspace-sweep.ts';
import type { Publisher } from '../bus/publisher.ts';

export interface TickParts {
  transport: Transport;
  deliveries: Deliveries;
  hosts: HostWatch;
  guards: Guards;
  dispatcher: Dispatcher;
  outbox: Outbox;
  publisher: Publisher;
  /** Resolves when the remote may be asked. */
  mayRead: () => Promise<void>;
  sweep: WorkspaceSweep;
  log: Log;
  signal: AbortSignal;
}

/** What one tick saw. */
export interface Ticked {
  tip: string | undefined;
  /** Something happened: poll again soon. */
  active: boolean;
  failure?: Failure;
  /** Why nothing may be processed: a version that is not ours. */
  refused?: string;
}

/**
 * The pipeline, once: fetch → added → parse → activate → batch → invoke → reply → outbox →
 * publish → settle. Runs are started here and end on their own; their answers leave through the
 * publisher.
 *
 * @param fetch false when the news is what this machine itself has just pushed
 */
export async function tick(parts: TickParts, fetch: boolean): Promise<Ticked> {
  const { transport, deliveries, hosts, dispatcher, outbox, publisher, log, signal } = parts;
  const begun = performance.now();
  if (fetch) await parts.mayRead();
  await deliveries.foresee();
  const before = transport.cost;
  const refreshed = fetch
    ? await transport.refresh(signal)
    : { ok: true as const, tip: await transport.tip() };
  const fetched = performance.now();
  passed('fetched');
  const { tip } = refreshed;
  if (!refreshed.ok)
    log('fetch_failed', { kind: refreshed.failure.kind, reason: refreshed.failure.reason });

  const known = deliveries.mailboxes.scanned;
  const isNew = tip !== undefined && tip !== known;
  if (tip !== undefined && (known === undefined || isNew)) {
    const refused = await checkVersion(transport, tip);
    if (refused !== undefined)
      return { tip, active: false, refused, ...(!refreshed.ok && { failure: refreshed.failure }) };
  }
  const isNews = fetch && refreshed.ok;
  let added = 0;
  if (tip !== undefined) {
    const scan = hosts.active && (await deliveries.advance(hosts.active.alias, tip, isNews));
    added = scan?.added ?? 0;
    if (hosts.active === undefined ? isNew || known === undefined : scan?.configured === true)
      await hosts.load(tip);
    const approved = await hosts.applyApprovals();
    await hosts.lookAtSettings();
    const { active } = hosts;
    if (active !== undefined && isNews && deliveries.mailboxes.held().length > 0)
      await deliveries.readAgain(active.alias, tip);
    if (active !== undefined && (scan === undefined || scan.configured || approved)) {
      await deliveries.admit(active.alias, [...active.actors.keys()], tip, isNews);
    }
  }
  const after = transport.cost;
  await dispatcher.pump();
  if (publisher.expecting || !(await outbox.isEmpty()))
    void publisher.flush().catch((error: unknown) => {
      log('push_failed', { kind: 'other', reason: reasonOf(error) });
    });
  await deliveries.save();
  passed('cursors_saved');
  parts.sweep.tidy(tip);

  log('tick', {
    tip,
    added,
    ...deliveries.mailboxes.counts(),
    git_processes: after.processes - before.processes,
    objects_read: after.reads - before.reads,
    bytes_read: after.bytes - before.bytes,
    ...(fetch && { fetch_ms: tenths(fetched - begun) }),
    duration_ms: tenths(performance.now() - begun),
  });
  return {
    tip,
    active: (isNew && hosts.active !== undefined) || dispatcher.running.length > 0,
    ...(refreshed.ok ? {} : { failure: refreshed.failure }),
  };
}

function tenths(ms: number): number {
  return Math.round(10 * ms) / 10;
}
