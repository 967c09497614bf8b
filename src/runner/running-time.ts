/** The step in which running time is counted, in milliseconds. */
const STEP_MS = 5000;
/**
 * A timer that is this late means that the machine slept or this process was stopped, and it is
 * unknown how much of that time the CLI had.
 */
const LATE_MS = 1000;
/** The shortest step where a CLI may be waiting: its time could be all but over for as long as it waits. */
const SHORTEST_MS = 50;

/**
 * Calls back once this process has been running for a time. The time in which a laptop slept, or
 * this process was stopped, does not count: a CLI that ended meanwhile is noticed before its time
 * is declared over.
 *
 * @param limit milliseconds
 * @param idle milliseconds until now that do not count either, because the CLI waited for a person
 * @returns a function that cancels the call
 */
export function afterRunning(limit: number, done: () => void, idle?: () => number): () => void {
  let left = limit;
  let timer: NodeJS.Timeout;
  const next = (): void => {
    const step = Math.min(idle === undefined ? left : Math.max(left, SHORTEST_MS), STEP_MS);
    const begun = performance.now();
    const before = idle?.() ?? 0;
    timer = setTimeout(() => {
      const isLate = performance.now() - begun > step + LATE_MS;
      const waited = (idle?.() ?? 0) - before;
      left -= Math.max(0, (isLate ? step / 2 : step) - waited);
      if (left <= 1) done();
      else next();
    }, step);
  };
  next();
  return () => {
    clearTimeout(timer);
  };
}
