import {
  acceptWhole,
  heldSettings,
  inForce,
  type HeldChange,
} from '../protocol/approval/approval.ts';
import { tierOf } from '../protocol/approval/record.ts';
import type { HostFile, Tier } from '../protocol/files/host-file.ts';
import { approvalHash } from '../state/approval-key.ts';
import { approvedFor, loadApprovals, updateApprovals, type Approvals } from '../state/approvals.ts';
import type { Started } from '../state/clone-id.ts';
import type { SettingChange, Transport } from '../transport/transport.ts';
import { refusalsOf } from './transport-files.ts';

/** What a host file is judged by: a clone, its record of approvals, and whose machine this is. */
export interface Approving {
  transport: Transport;
  /** The path of the approvals. */
  approvals: string;
  /** HOME, which command lines may name. */
  home: string;
  /**
   * Whether anything was approved for the clone: when its approvals are lost, or are in another
   * state directory, this is not a first start, and everything is held.
   */
  clone: Started;
}

/** The host file as it runs here, with the changes that wait for approval. */
export interface ActiveHost {
  alias: string;
  path: string;
  actors: Map<string, Tier[]>;
  held: HeldChange[];
  /**
   * False while nothing has been approved on this machine: the next start approves the file as it
   * is.
   */
  started: boolean;
  /** What this start has approved, if it is the first. */
  adopted?: Map<string, Tier[]>;
}

interface Found {
  path: string;
  file: HostFile;
}

/**
 * Judges a host file by this machine's approvals, without approving anything (trust.md §2). Where
 * nothing was approved yet, the result is as it would be after the first start.
 */
export async function weigh(
  parts: Approving,
  { path, file }: Found,
): Promise<ActiveHost & { approvals: Approvals }> {
  const approvals = await loadApprovals(parts.approvals, parts.clone);
  const { hash, refusal } = await judges(parts, file, approvals);
  const approved = approvals.started
    ? approvedFor(approvals, file.alias)
    : acceptWhole(file, hash, refusal);
  const { host, held } = inForce(file, approved, hash, refusal);
  return {
    alias: file.alias,
    path,
    actors: host.actors,
    held,
    started: approvals.started,
    approvals,
  };
}

/**
 * Starts with a host file: the first start on a clone for which nobody approved anything approves
 * the file as it is; afterwards only what was approved runs, unless every change is trusted. The
 * alias is remembered as the one this clone serves.
 *
 * @param how `trust`: every change is trusted; `named`: the operator has named this host, so it
 *   replaces the one that was remembered
 */
export async function activate(
  parts: Approving,
  found: Found,
  how: { trust?: boolean; named?: boolean } = {},
): Promise<ActiveHost> {
  const { alias } = found.file;
  const trust = how.trust === true;
  const before = await weigh(parts, found);
  const isFirst = !before.started;
  const isRemembered =
    before.approvals.alias === alias ||
    (before.approvals.alias !== undefined && how.named !== true);
  if (!isFirst && !trust && isRemembered) return before;
  const { hash, refusal } = await judges(parts, found.file, before.approvals);
  await updateApprovals(
    parts.approvals,
    (approvals) => ({
      ...approvals,
      started: true,
      alias: how.named === true ? alias : (approvals.alias ?? alias),
      hosts:
        trust || !approvals.started
          ? { ...approvals.hosts, [alias]: acceptWhole(found.file, hash, refusal) }
          : approvals.hosts,
    }),
    parts.clone,
  );
  const active = await weigh(parts, found);
  return isFirst && !trust ? { ...active, adopted: active.actors } : active;
}

/** Changed settings of the clone, as held changes. */
export async function changedSettings({
  transport,
  approvals,
}: Approving): Promise<{ changes: readonly SettingChange[]; held: HeldChange[] }> {
  const changes = await transport.changedSettings();
  const held = changes.length === 0 ? [] : heldSettings(changes, await approvalHash(approvals));
  return { changes, held };
}

/** What digests are made with, and what may never run; the latter is asked for each command. */
export async function judges(
  { transport, approvals, home }: Approving,
  file: HostFile,
  known: Approvals,
): Promise<{ hash: (text: string) => string; refusal: (tier: Tier) => string | undefined }> {
  const recorded = Object.values(approvedFor(known, file.alias)).flatMap(({ tiers }) =>
    Object.entries(tiers).map(([name, options]) => tierOf(name, options)),
  );
  const declared = [...file.actors.values()].flat();
  return {
    hash: await approvalHash(approvals),
    refusal: await refusalsOf(transport, home, [...declared, ...recorded]),
  };
}
