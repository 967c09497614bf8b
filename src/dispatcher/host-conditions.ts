import type { ActiveHost } from '../bus/approvals.ts';
import { checkVersion } from '../bus/host.ts';
import type { Transport } from '../transport/transport.ts';
import type { FetchedTip } from './fetch.ts';
import type { HostFileInForce } from './host-file-in-force.ts';
import type { Scan } from './intake/scan.ts';

/*
 * Under which conditions a tick serves its host: the version of the transport is ours, and a host file is
 * in force, with what was approved of it.
 */

/** Why nothing of a tip may be processed: a version that is not ours. What was scanned before was ours. */
export async function versionRefused(
  transport: Transport,
  { tip, isNew }: FetchedTip,
): Promise<string | undefined> {
  return tip !== undefined && isNew ? checkVersion(transport, tip) : undefined;
}

/** The host that is served now. */
export interface InForce {
  host: ActiveHost;
  /** Who is served may be others than before. */
  isChanged: boolean;
}

/**
 * Brings the host file in force up to what a tip says of it, what was approved meanwhile, and reports
 * what is held: changes of commands, of profiles and of the clone's settings.
 *
 * @param scan what was found between the last tip and this one, for the host that was in force
 * @returns undefined when no host file is in force: nobody is served
 */
export async function hostInForce(
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
