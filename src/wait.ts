import { setTimeout as sleep } from 'node:timers/promises';

/** Waits for some milliseconds, or until `signal` is aborted; never throws. */
export type Wait = (ms: number, signal?: AbortSignal) => Promise<void>;

/** Waits in real time. */
export const wait: Wait = (ms, signal) =>
  sleep(ms, undefined, { ...(signal && { signal }) }).catch(() => undefined);

/** Resolves once one of the signals is aborted; without any, never. */
export function aborted(...signals: (AbortSignal | undefined)[]): Promise<void> {
  const any = AbortSignal.any(signals.filter((signal) => signal !== undefined));
  return new Promise((resolve) => {
    const done = (): void => {
      resolve();
    };
    if (any.aborted) done();
    else any.addEventListener('abort', done, { once: true });
  });
}

/**
 * Runs steps one after another; a failing step does not prevent the others.
 *
 * @param say receives each failure
 */
export async function eachInTurn(
  steps: readonly (() => Promise<unknown>)[],
  say: (error: unknown) => void,
): Promise<void> {
  for (const step of steps) {
    try {
      await step();
    } catch (error) {
      say(error);
    }
  }
}
