import { isRecord, readJson, writeDurably } from './files.ts';

type Commands = Record<string, Record<string, string>>;

/** The commands this machine has approved (protocol.md §6). */
export interface Approvals {
  /** False until a dispatcher first started here: that start approves the host file as it stands. */
  started: boolean;
  /** Alias → actor → tier → command line. */
  hosts: Record<string, Commands>;
}

export async function loadApprovals(path: string): Promise<Approvals> {
  const read = await readJson(path);
  if (!read || !isRecord(read.value) || !isRecord(read.value['hosts']))
    return { started: false, hosts: {} };
  return {
    started: read.value['started'] === true,
    hosts: read.value['hosts'] as Record<string, Commands>,
  };
}

export async function saveApprovals(path: string, approvals: Approvals): Promise<void> {
  await writeDurably(path, `${JSON.stringify({ version: 1, ...approvals }, undefined, 1)}\n`);
}

/** The approved commands of one alias. */
export function approvedFor(approvals: Approvals, alias: string): Commands {
  return Object.hasOwn(approvals.hosts, alias) ? (approvals.hosts[alias] ?? {}) : {};
}
