import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Event } from '../../support/bus.ts';
import { bundle } from '../doomed-process.ts';

/** Rounds without anything to do after which a dispatcher is no longer waited for. */
const QUIET_ROUNDS = 4;

/** Runs a dispatcher until it kills itself or has nothing left to do; true when it died. */
export async function doom(
  options: readonly string[],
  env: Record<string, string | undefined>,
): Promise<boolean> {
  const child = spawn(process.execPath, [...options, bundle], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let quiet = 0;
  createInterface({ input: child.stderr }).on('line', (line) => {
    const { event, ...fields } = (line.startsWith('{') ? JSON.parse(line) : {}) as Event;
    if (event === 'fetch_failed' || event === 'internal_error') quiet++;
    if (event !== 'tick') return;
    const isQuiet = [fields['added'], fields['pending'], fields['running']].every((n) => n === 0);
    quiet = isQuiet ? quiet + 1 : 0;
    if (quiet > QUIET_ROUNDS) child.kill('SIGTERM');
  });
  const timer = setTimeout(() => child.kill('SIGTERM'), 15_000);
  await once(child, 'exit');
  clearTimeout(timer);
  return child.signalCode === 'SIGKILL';
}
