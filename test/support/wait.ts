import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Waits until a condition holds; the error names the condition if it never does.
 *
 * @param what the condition; a function says what was seen until then, too
 */
export async function until<T>(
  what: string | (() => string),
  probe: () => T | undefined | false | Promise<T | undefined | false>,
  limit = 200_000,
): Promise<T> {
  const deadline = Date.now() + limit;
  for (;;) {
    const found = await probe();
    if (found !== undefined && found !== false) return found;
    if (Date.now() > deadline)
      throw new Error(
        `waited ${String(limit)} ms in vain for ${typeof what === 'string' ? what : what()}`,
      );
    await sleep(20);
  }
}
