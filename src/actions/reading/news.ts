import { setTimeout as sleep } from 'node:timers/promises';
import { ask } from '../../dispatcher/socket/wake.ts';
import { loadHeartbeat } from '../../state/heartbeat.ts';
import { holderOf } from '../../state/lock.ts';
import { silenceLimit } from '../../state/heartbeat.ts';
import { refreshed, tipOf, type Context } from '../context.ts';

/** Milliseconds between looks at the local clone, which another command may have updated. */
const LOOK_MS = 50;
const FASTEST_POLL_MS = 500;
const SLOWEST_POLL_MS = 5000;
/** Milliseconds after which the dispatcher is asked again, if it is still reliable. */
const ROUND_MS = 30_000;
/**
 * Milliseconds that a fetch under way is given to end, because a killed one may leave its lock
 * behind.
 */
const GRACE_MS = 1000;
/** The longest time for which a timer can be set, in milliseconds. */
const LONGEST_MS = 2 ** 31 - 1;

/**
 * Waits until the bus has changed. While a dispatcher of this machine reaches the remote, only the
 * dispatcher asks it; without one the remote is polled, less and less often. Changes that any
 * process of this clone fetches or pushes are noticed at once.
 *
 * @param seen the tip that is already known
 * @param options `timeout` in milliseconds, may be infinite; `until` ends the waiting as the time
 *   does; `look`: milliseconds between looks at the local clone, for processes that wait all day
 * @returns the new tip, or undefined when the time is over
 * @throws the reason of `signal` when that is aborted
 */
export async function waitForNews(
  context: Context,
  seen: string,
  {
    signal,
    timeout,
    until,
    look: each = LOOK_MS,
  }: { signal: AbortSignal; timeout: number; until?: AbortSignal; look?: number },
): Promise<string | undefined> {
  signal.throwIfAborted();
  const over = new AbortController();
  const cut = new AbortController();
  const end = (): void => {
    over.abort();
  };
  const stop = (): void => {
    end();
    cut.abort();
  };
  const timer = setTimeout(end, Math.min(Math.max(timeout, 0), LONGEST_MS));
  signal.addEventListener('abort', stop, { once: true });
  until?.addEventListener('abort', end, { once: true });
  if (until?.aborted === true) end();
  const ways = [
    look(context, seen, each, over.signal),
    bring(context, seen, over.signal, cut.signal),
  ];
  try {
    const tip = await Promise.race(ways);
    if (tip === undefined) signal.throwIfAborted();
    return tip;
  } finally {
    clearTimeout(timer);
    end();
    const late = setTimeout(stop, GRACE_MS);
    await Promise.allSettled(ways);
    clearTimeout(late);
    signal.removeEventListener('abort', stop);
    until?.removeEventListener('abort', end);
  }
}

/** Watches the tip known locally. */
async function look(
  context: Context,
  seen: string,
  each: number,
  over: AbortSignal,
): Promise<string | undefined> {
  let rouse = new AbortController();
  const wake = (): void => {
    rouse.abort();
  };
  over.addEventListener('abort', wake, { once: true });
  context.transport.watch(wake, over);
  while (!over.aborted) {
    const tip = await tipOf(context);
    if (tip !== seen) return tip;
    await rest(each, rouse.signal);
    rouse = new AbortController();
  }
  return undefined;
}

/** Lets the dispatcher fetch news, or fetches them. */
async function bring(
  context: Context,
  seen: string,
  over: AbortSignal,
  cut: AbortSignal,
): Promise<string | undefined> {
  let delay = FASTEST_POLL_MS;
  while (!over.aborted) {
    if (await isInTouch(context)) {
      const asked = await ask(context.paths.socket, { op: 'news', tip: seen }, ROUND_MS, over);
      if (asked.kind === 'timeout') continue;
    }
    const told = await tipOf(context);
    if (told !== seen) return told;
    // The dispatcher stops, has another version, or serves another clone; the operator has been notified already.
    if (await rest(delay, over)) return undefined;
    delay = Math.min(delay * 1.3, SLOWEST_POLL_MS);
    await refreshed(context, cut).catch((error: unknown) => {
      if (!cut.aborted) throw error;
    });
  }
  return undefined;
}

/** Whether a dispatcher runs here that reaches the remote, according to its last heartbeat. */
async function isInTouch({ paths, now }: Context): Promise<boolean> {
  const [holder, heartbeat] = await Promise.all([
    holderOf(paths.root, 'dispatcher'),
    loadHeartbeat(paths.heartbeat),
  ]);
  if (holder === undefined || heartbeat?.pid !== holder.pid) return false;
  const silent = (now().getTime() - Date.parse(heartbeat.at)) / 1000;
  return heartbeat.fetch_failing_since === undefined && silent <= silenceLimit(heartbeat.interval);
}

/** Waits; returns whether the time is over. */
async function rest(ms: number, over: AbortSignal): Promise<boolean> {
  await sleep(ms, undefined, { signal: over }).catch(() => undefined);
  return over.aborted;
}
