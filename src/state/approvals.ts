import { access, rm } from 'node:fs/promises';
import { isRecord, readJson, writeDurably } from './files.ts';

type Commands = Record<string, Record<string, string>>;

/** The commands this machine has approved (protocol.md §6). */
export interface Approvals {
  /** False until a dispatcher first started here: that start approves the host file as it stands. */
  started: boolean;
  /** Alias → actor → tier → command line. */
  hosts: Record<string, Commands>;
}

/**
 * The approvals on disk. A file that cannot be read approves nothing: it is no first start, and
 * every command waits for `crosstalk host approve`.
 */
export async function loadApprovals(path: string): Promise<Approvals> {
  const read = await readJson(path);
  if (read === undefined) return { started: await exists(`${path}.broken`), hosts: {} };
  const { started, hosts } = isRecord(read.value) ? read.value : {};
  if (!isRecord(hosts) || !Object.values(hosts).every(isCommands))
    return { started: true, hosts: {} };
  return { started: started !== false, hosts: hosts as Record<string, Commands> };
}

function isCommands(value: unknown): value is Commands {
  return (
    isRecord(value) &&
    Object.values(value).every(
      (tiers) => isRecord(tiers) && Object.values(tiers).every((cli) => typeof cli === 'string'),
    )
  );
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

export async function saveApprovals(path: string, approvals: Approvals): Promise<void> {
  await writeDurably(path, `${JSON.stringify({ version: 1, ...approvals }, undefined, 1)}\n`);
  await rm(`${path}.broken`, { force: true });
}

/** The approved commands of one alias. */
export function approvedFor(approvals: Approvals, alias: string): Commands {
  return Object.hasOwn(approvals.hosts, alias) ? (approvals.hosts[alias] ?? {}) : {};
}
