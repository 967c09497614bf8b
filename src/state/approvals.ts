import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { CrosstalkError } from '../errors.ts';
import { parseMcpServers } from '../protocol/files/mcp-servers.ts';
import { GATE_OPTIONS } from '../protocol/files/tier-gate.ts';
import { TIER_OPTIONS, WORKTREE_OPTIONS } from '../protocol/files/tier-options.ts';
import { isSandbox } from '../protocol/files/tier-sandbox.ts';
import type { Approved, ApprovedOptions } from '../protocol/approval/record.ts';
import { isName } from '../protocol/layout.ts';
import { isRecord, readSealed, writeSealed } from './files.ts';
import { acquire } from './lock.ts';

/** The approvals of this machine (trust.md §2). */
export interface Approvals {
  /** The default host of this clone. */
  alias?: string;
  /** Approvals by alias. */
  hosts: Record<string, Approved>;
}

const NOTHING: Approvals = { hosts: {} };
/** Milliseconds to wait for another process that writes its approvals. */
const WAIT_MS = 10_000;

/** Reads the approvals on disk. A file that is missing, cannot be read or is not sealed approves nothing. */
export async function loadApprovals(path: string): Promise<Approvals> {
  const file = await readSealed(path);
  if (!isRecord(file?.value)) return NOTHING;
  const { version, alias, hosts } = file.value;
  if (version !== 2 || !isRecord(hosts) || !Object.values(hosts).every(isApproved)) return NOTHING;
  return { ...(isName(alias) ? { alias } : {}), hosts: hosts as Record<string, Approved> };
}

/**
 * Changes the approvals, one process at a time.
 *
 * @param change receives the current approvals and returns the new ones
 * @returns the approvals that were written
 * @throws CrosstalkError `locked` when another process does not finish writing them
 */
export async function updateApprovals(
  path: string,
  change: (approvals: Approvals) => Approvals,
): Promise<Approvals> {
  const lock = await acquire(dirname(path), 'approvals', { wait: WAIT_MS });
  if (!lock.ok)
    throw new CrosstalkError(
      'locked',
      `process ${String(lock.holder.pid)} is writing ${path}; try again when it has ended`,
    );
  try {
    const approvals = change(await loadApprovals(path));
    await writeSealed(path, { version: 2, ...approvals });
    // A broken file that was set aside is needed only until something is approved again.
    const isAnew = Object.values(approvals.hosts).some((host) => Object.keys(host).length > 0);
    if (isAnew) await rm(`${path}.broken`, { force: true });
    return approvals;
  } finally {
    await lock.release();
  }
}

/** Returns the approvals for one host's file. */
export function approvedFor({ hosts }: Approvals, alias: string): Approved {
  return Object.hasOwn(hosts, alias) ? (hosts[alias] ?? {}) : {};
}

/** Whether anything of one host's file is approved; until then a start asks, or holds everything. */
export function hasApproved(approvals: Approvals, alias: string): boolean {
  return Object.keys(approvedFor(approvals, alias)).length > 0;
}

function isApproved(value: unknown): value is Approved {
  return (
    isRecord(value) &&
    Object.values(value).every(
      (actor) =>
        isRecord(actor) &&
        (actor['default'] === undefined || typeof actor['default'] === 'string') &&
        isServers(actor['mcps']) &&
        isRecord(actor['tiers']) &&
        Object.values(actor['tiers']).every(isOptions),
    )
  );
}

const LISTS = ['fallback', 'only_from'];
const TEXTS = ['workdir', 'permit', 'session', ...WORKTREE_OPTIONS, ...GATE_OPTIONS];
const NUMBERS = TIER_OPTIONS.filter(
  (option) => !['cli', 'sandbox', ...LISTS, ...TEXTS].includes(option),
);

function isOptions(value: unknown): value is ApprovedOptions {
  return (
    isRecord(value) &&
    typeof value['cli'] === 'string' &&
    LISTS.every((name) => !Object.hasOwn(value, name) || isTexts(value[name])) &&
    (!Object.hasOwn(value, 'sandbox') || isSandbox(value['sandbox'])) &&
    TEXTS.every((name) => !Object.hasOwn(value, name) || typeof value[name] === 'string') &&
    NUMBERS.every((name) => !Object.hasOwn(value, name) || typeof value[name] === 'number')
  );
}

function isServers(value: unknown): boolean {
  const problems: string[] = [];
  if (value !== undefined) parseMcpServers(value, problems);
  return problems.length === 0;
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}
