import { acceptWhole, inForce, type HeldChange } from '../protocol/approval/approval.ts';
import { approvedServers, keepingServers } from '../protocol/approval/mcp-servers.ts';
import { tierOf, type Approved } from '../protocol/approval/record.ts';
import type { McpServer } from '../protocol/files/mcp-servers.ts';
import type { HostFile, Tier } from '../protocol/files/host-file.ts';
import { approvalHash } from '../store/seal.ts';
import {
  approvedFor,
  hasApproved,
  loadApprovals,
  updateApprovals,
  type Approvals,
} from '../state/approvals.ts';
import type { Transport } from '../transport/transport.ts';
import { refusalsOf } from './transport-files.ts';

/** The inputs for judging a host file: a clone, its record of approvals, and the home folder. */
export interface Approving {
  transport: Transport;
  /** The path of the approvals. */
  approvals: string;
  /** HOME, which command lines may name. */
  home: string;
}

/** The host file as it is in force here, with the changes that wait for approval. */
export interface ActiveHost {
  alias: string;
  path: string;
  actors: Map<string, Tier[]>;
  /** Returns the approved MCP servers of an actor. */
  serversOf: (actor: string) => readonly McpServer[];
  held: HeldChange[];
}

interface Found {
  path: string;
  file: HostFile;
}

/** A host file with the functions that judge it. */
export interface JudgedFile {
  file: HostFile;
  /** Returns the approvals with which the file would run in its present form, except for refused parts. */
  whole: () => Approved;
  /** Returns the file as it is in force here, and the changes that wait. */
  inForce: (approvals: Approvals) => { host: HostFile; held: HeldChange[] };
}

/**
 * Prepares to judge a host file, and finds programs that are inside the transport.
 *
 * @param known the approvals on disk, since the approved commands may be refused by now as well
 */
export async function judge(
  { transport, approvals: path, home }: Approving,
  file: HostFile,
  known: Approvals,
): Promise<JudgedFile> {
  const recorded = Object.values(approvedFor(known, file.alias)).flatMap(({ tiers }) =>
    Object.entries(tiers).map(([name, options]) => tierOf(name, options)),
  );
  const declared = [...file.actors.values()].flat();
  const hash = approvalHash(path);
  const refusal = await refusalsOf(transport, home, [...declared, ...recorded]);
  const whole = (): Approved => acceptWhole(file, hash, refusal);
  return {
    file,
    whole,
    inForce: (approvals) => inForce(file, approvedFor(approvals, file.alias), hash, refusal),
  };
}

/** Judges a host file by this machine's approvals, without approving anything (trust.md §2). */
export async function weigh(
  parts: Approving,
  { path, file }: Found,
): Promise<ActiveHost & { approvals: Approvals; judged: JudgedFile }> {
  const approvals = await loadApprovals(parts.approvals);
  const judged = await judge(parts, file, approvals);
  const { host, held } = judged.inForce(approvals);
  const approved = approvedFor(approvals, file.alias);
  const serversOf = (actor: string): readonly McpServer[] => approvedServers(approved, actor);
  return {
    alias: file.alias,
    path,
    actors: host.actors,
    serversOf,
    held,
    approvals,
    judged,
  };
}

/**
 * Activates a host file: only approved parts run, unless every change is trusted. The alias is remembered
 * as the one that this clone serves once something of it is approved, or the operator names it.
 *
 * @param how `trust`: every change is trusted; `named`: the operator has named this host, so it replaces
 *   the remembered one
 */
export async function activate(
  parts: Approving,
  found: Found,
  how: { trust?: boolean; named?: boolean } = {},
): Promise<ActiveHost> {
  const { alias } = found.file;
  const trust = how.trust === true;
  const named = how.named === true;
  const before = await weigh(parts, found);
  const { approvals: known } = before;
  const isRemembered =
    known.alias === alias || (!named && (known.alias !== undefined || !hasApproved(known, alias)));
  if (!trust && isRemembered) return before;
  await updateApprovals(parts.approvals, (approvals) => ({
    alias: named ? alias : (approvals.alias ?? alias),
    hosts: trust
      ? {
          ...approvals.hosts,
          [alias]: keepingServers(approvedFor(approvals, alias), before.judged.whole()),
        }
      : approvals.hosts,
  }));
  return weigh(parts, found);
}
