import { AsyncLocalStorage } from 'node:async_hooks';

/** What each machine of the model has for itself, although all of them run in one process. */
export interface Surroundings {
  hostname: string;
  /** Milliseconds by which its clock is ahead. */
  clock: number;
}

const here = new AsyncLocalStorage<Surroundings>();

/** Runs something on a machine. */
export function within<T>(surroundings: Surroundings, work: () => T): T {
  return here.run(surroundings, work);
}

export function hostnameHere(): string {
  return here.getStore()?.hostname ?? 'nowhere';
}

/** Gives each machine its own clock, which may be wrong; real processes keep the right one. */
export function giveClocks(): void {
  const RealDate = Date;
  const now = (): number => RealDate.now() + (here.getStore()?.clock ?? 0);
  globalThis.Date = class extends RealDate {
    constructor(...given: unknown[]) {
      if (given.length === 0) super(now());
      else super(...(given as [number]));
    }
    static override now(): number {
      return now();
    }
  } as DateConstructor;
}
