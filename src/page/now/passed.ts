import { useClock } from '../live/use-live.ts';
import { secondsSince } from '../text/time.ts';

/** Seconds since a time that the server reported, so that ages keep growing between two reports. */
export function usePassed(at: string): number {
  return secondsSince(at, useClock(1000));
}
