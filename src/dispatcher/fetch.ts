import { passed } from '../crash-points.ts';
import type { Log } from '../log.ts';
import type { Failure, Refreshed, Transport } from '../transport/transport.ts';
import type { Deliveries } from './intake/deliveries.ts';
import type { Lag } from './intake/lag.ts';
import type { TickMeter } from './tick-meter.ts';

export interface FetchParts {
  transport: Transport;
  deliveries: Deliveries;
  /** Resolves when the remote may be asked. */
  mayRead: () => Promise<void>;
  lag: Lag;
  log: Log;
  signal: AbortSignal;
}

/** The result of a fetch. */
export interface FetchedTip {
  tip: string | undefined;
  /** Whether the remote was asked and has answered. */
  isNews: boolean;
  /** Whether the tip differs from the one scanned last; true for the first tip. */
  isNew: boolean;
  /** Why the remote did not answer. */
  failure?: Failure;
}

/**
 * The first step of a tick: asks the remote for its tip.
 *
 * @param fetch false to use only what is known locally, such as what this machine itself has just
 *   pushed
 */
export async function fetchNews(
  parts: FetchParts,
  meter: TickMeter,
  fetch: boolean,
): Promise<FetchedTip> {
  const { transport, deliveries, lag, log, signal } = parts;
  if (fetch) await parts.mayRead();
  await deliveries.foresee();
  // Whoever has just started goes by what the remote shows.
  const own = fetch ? deliveries.mailboxes.scanned : undefined;
  const known = own === undefined ? [] : [(await transport.tip()) ?? own, own];
  meter.asks();
  const refreshed: Refreshed = fetch
    ? await transport.refresh(signal)
    : { ok: true, tip: await transport.tip() };
  meter.hasAsked();
  passed('fetched');
  const { tip, mended } = refreshed;
  if (mended !== undefined) log('clone_mended', { objects: mended });
  if (refreshed.ok && tip !== undefined && known.length > 0) {
    const instead = await lag.insteadOf(tip, known);
    if (instead !== undefined) return { tip: instead, isNew: false, isNews: false };
  }
  const isNew = tip !== undefined && tip !== deliveries.mailboxes.scanned;
  if (refreshed.ok) return { tip, isNew, isNews: fetch };
  const { failure } = refreshed;
  log('fetch_failed', { kind: failure.kind, reason: failure.reason });
  return { tip, isNew, isNews: false, failure };
}
