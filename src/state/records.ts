import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeDurably } from './files.ts';
import { makeKey, Seal } from './keys/seal.ts';
import type { StatePaths } from './state-paths.ts';

const ITEM = /^([A-Za-z0-9-]{1,64})\.json$/;

/**
 * Makes the key of a state directory, and seals what 6.0.0 has left there: what was approved, and mail that is on
 * its way, failed or being worked on. From then on nothing without a seal counts.
 */
export async function makeStateKey(paths: StatePaths): Promise<void> {
  makeKey(paths.root);
  for (const path of [paths.approvals, paths.settings]) await sealed(path, Seal.of(path), '');
  for (const folder of [paths.outbox, paths.deadLetters, paths.runs])
    for (const name of await readdir(folder).catch(() => [])) {
      const id = ITEM.exec(name)?.[1];
      if (id !== undefined) await sealed(join(folder, name), Seal.of(folder), id);
    }
}

async function sealed(path: string, seal: Seal, id: string): Promise<void> {
  try {
    const value: unknown = JSON.parse(await readFile(path, 'utf8'));
    if (typeof value === 'object' && value !== null)
      await writeDurably(path, seal.close(id, value));
  } catch {
    // What cannot be read is no record, and its reader says so.
  }
}

/** The records that count for nothing, as they could not be read or are not sealed by this machine. */
export async function brokenRecords(paths: StatePaths): Promise<string[]> {
  const { root, outbox, deadLetters, gates, permissions, runs, notices } = paths;
  const { agentSessions, warmSessions } = paths;
  const inside = ['with-files', 'held'].map((name) => join(outbox, name));
  const aside = [outbox, join(outbox, 'with-files')].map((folder) => `${folder}-set-aside`);
  const folders = [root, outbox, ...inside, ...aside, deadLetters, gates, permissions, runs];
  const found: string[] = [];
  for (const folder of [...folders, notices, agentSessions, warmSessions])
    for (const name of await readdir(folder).catch(() => []))
      if (name.endsWith('.broken')) found.push(join(folder, name));
  return found;
}
