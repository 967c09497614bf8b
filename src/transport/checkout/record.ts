import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { replace } from '../clone/own-git.ts';
import type { Repository } from '../clone/handle.ts';

/** The state in which the checkout was left here, from which the next update starts. */
export interface CheckoutRecord {
  /** Number of files in it. Both numbers are upper limits. */
  files: number;
  bytes: number;
  /** The commit of its last update; empty when its size is not known. */
  commit: string;
  /** The patterns of what it shows. */
  patterns: string;
  /**
   * A move that was started. Files of the checkout, its branch and its index may have made it already; it
   * is repeated until it is complete.
   */
  to?: { from?: string | undefined; commit: string; folders?: readonly string[] | undefined };
}

function recordFile({ gitDir }: Repository): string {
  return join(gitDir, 'checkout.json');
}

/** Reads the record of the checkout; undefined without one that can be read. */
export async function loadRecord(repository: Repository): Promise<CheckoutRecord | undefined> {
  try {
    const text = await readFile(recordFile(repository), 'utf8');
    const record = JSON.parse(text) as CheckoutRecord;
    return typeof record.patterns === 'string' ? record : undefined;
  } catch {
    return undefined;
  }
}

export function saveRecord(repository: Repository, record: CheckoutRecord): Promise<void> {
  return replace(recordFile(repository), `${JSON.stringify(record)}\n`);
}
