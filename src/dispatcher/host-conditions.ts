import type { ActiveHost } from '../bus/approvals.ts';
import { checkVersion } from '../bus/host.ts';
import type { Transport } from '../transport/transport.ts';
import type { FetchedTip } from './fetch.ts';
import type { HostFileInForce } from './host-file-in-force.ts';
import type { Scan } from './intake/scan.ts';

/*
 * The conditions under which a tick serves its host: this program supports the version of the
 * transport, and a host file with approved commands is in force.
 */

/**
 * Why no message of a tip may be processed: the version is not supported. What was scanned before
 * had a supported version.
 */
export async function versionRefused(
  transport: Transport,
  { tip, isNew }: FetchedTip,
): Promise<string | undefined> {
  return tip !== undefined && isNew ? checkVersion(transport, tip) : undefined;
}

/** The host that is served at the moment. */
export interface InForce {
  host: ActiveHost;
  /** Whether the actors that are served may have changed. */
  isChanged: boolean;
}

/**
 * Updates the host file in force from a tip, applies approvals given meanwhile, and reports what is
 * held: changes of commands, of profiles and of the clone's settings.
 *
 * @param scan what was found between the last tip and this one, for the host that was in force
 * @returns undefined when no host file is in force, so that no actor is served
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
