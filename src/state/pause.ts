import { rm } from 'node:fs/promises';
import { isRecord, readJson, writeDurably } from './files.ts';

/** Who paused the dispatcher of this machine, and when (ISO 8601 UTC). */
export interface Pause {
  since: string;
  by: string;
}

/** The pause in force; undefined when there is none. */
export async function readPause(path: string): Promise<Pause | undefined> {
  const read = await readJson(path);
  if (read === undefined) return undefined;
  const { since, by } = isRecord(read.value) ? read.value : {};
  return {
    since: typeof since === 'string' ? since : 'an unknown time',
    by: typeof by === 'string' ? by : 'somebody',
  };
}

/** Puts a pause in force, durably. */
export function writePause(path: string, pause: Pause): Promise<void> {
  return writeDurably(path, `${JSON.stringify(pause)}\n`);
}

/** Ends a pause; there need not be one. */
export function removePause(path: string): Promise<void> {
  return rm(path, { force: true });
}
