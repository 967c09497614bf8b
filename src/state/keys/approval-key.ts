import { createHmac, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { writeWhole } from '../files.ts';

const KEY = /^[0-9a-f]{64}$/;

/**
 * The hash behind the digests of held changes. It needs a key that never leaves this machine: a
 * digest is short enough to be typed, so somebody who could compute digests would find two texts
 * with the same digest, have the harmless text examined and the other one approved.
 *
 * @param approvals the path of the approvals; the key is stored beside them, and created if it is
 * missing
 */
export async function approvalHash(approvals: string): Promise<(text: string) => string> {
  const path = join(dirname(approvals), 'approval-key');
  const key = (await load(path)) ?? (await make(path));
  return (text) => createHmac('sha256', Buffer.from(key, 'hex')).update(text).digest('hex');
}

async function load(path: string): Promise<string | undefined> {
  const text = (await readFile(path, 'utf8').catch(() => '')).trim();
  return KEY.test(text) ? text : undefined;
}

/** Losing the key costs nothing: digests that were shown become unknown, and are shown again. */
async function make(path: string): Promise<string> {
  const key = randomBytes(32).toString('hex');
  // Where nothing can be written, nothing can be approved either, but changes may still be looked
  // at.
  await writeWhole(path, `${key}\n`).catch(() => undefined);
  return (await load(path)) ?? key;
}
