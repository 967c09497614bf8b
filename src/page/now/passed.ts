import { useClock } from '../live/use-live.ts';
import { secondsSince } from '../text/time.ts';

/** Seconds since something was said, so that ages go on growing until it is said anew. */
export function usePassed(at: string): number {
  return secondsSince(at, useClock(1000));
}
