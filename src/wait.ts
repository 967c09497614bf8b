import { setTimeout as sleep } from 'node:timers/promises';

/** Waits for some milliseconds, or until `signal` is aborted; never throws. */
export type Wait = (ms: number, signal?: AbortSignal) => Promise<void>;

/** Waits in the time of the machine. */
export const wait: Wait = (ms, signal) =>
  sleep(ms, undefined, { ...(signal && { signal }) }).catch(() => undefined);
