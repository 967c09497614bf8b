import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isRecord } from '../../state/files.ts';
import { loadHeartbeat, silenceLimit } from '../../state/heartbeat.ts';
import { readJsonFile } from '../../state/registry.ts';

/** Maximum number of clones that are examined. */
const MOST = 1000;

/**
 * Counts the dispatchers of this user that run on this machine, for any transports: those that have
 * reported in time. A dispatcher whose state cannot be determined is not counted.
 *
 * @param home the folder of all transports' state
 * @param now milliseconds
 */
export async function servingCount(home: string, now: number): Promise<number> {
  let count = 0;
  for (const state of await statesIn(home)) if (await isServed(state, now)) count++;
  return count;
}

/**
 * Returns the state directories of this user's clones on this machine.
 *
 * @param home the folder of all transports' state
 */
export async function statesIn(home: string): Promise<ReadonlySet<string>> {
  const folder = join(home, 'clones');
  const names = (await readdir(folder).catch(() => [])).slice(0, MOST);
  const states = new Set<string>();
  for (const name of names) {
    const value = name.endsWith('.json') ? await readJsonFile(join(folder, name)) : undefined;
    const all: unknown = isRecord(value) ? value['states'] : undefined;
    const last: unknown = Array.isArray(all) ? all.at(-1) : undefined;
    if (isRecord(last) && typeof last['path'] === 'string') states.add(last['path']);
  }
  return states;
}

async function isServed(state: string, now: number): Promise<boolean> {
  const heartbeat = await loadHeartbeat(join(state, 'heartbeat.json')).catch(() => undefined);
  if (heartbeat === undefined || !isRunning(heartbeat.pid)) return false;
  return (now - Date.parse(heartbeat.at)) / 1000 <= silenceLimit(heartbeat.interval);
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
