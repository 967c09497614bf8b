import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { afterRunning } from '../../src/runner/process-runner.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

it('the time of a run is over after its limit', () => {
  const done = vi.fn();
  afterRunning(12_000, done);
  vi.advanceTimersByTime(11_990);
  expect(done).not.toHaveBeenCalled();
  vi.advanceTimersByTime(20);
  expect(done).toHaveBeenCalledOnce();
});

it('the time of a run stands still while it waits for a person, and goes on afterwards', () => {
  const done = vi.fn();
  let [since, waited] = [undefined as number | undefined, 0];
  const idle = (): number => waited + (since === undefined ? 0 : performance.now() - since);
  afterRunning(12_000, done, idle);
  vi.advanceTimersByTime(7_000);
  since = performance.now();
  vi.advanceTimersByTime(3_600_000);
  expect(done).not.toHaveBeenCalled();
  waited = idle();
  since = undefined;
  vi.advanceTimersByTime(4_900);
  expect(done).not.toHaveBeenCalled();
  vi.advanceTimersByTime(200);
  expect(done).toHaveBeenCalledOnce();
});

it('a run whose time is all but over costs no timer without end while it waits', () => {
  const done = vi.fn();
  const begun = performance.now();
  let timers = 0;
  const idle = (): number => {
    timers++;
    return performance.now() - begun;
  };
  const cancel = afterRunning(10, done, idle);
  vi.advanceTimersByTime(10_000);
  expect(done).not.toHaveBeenCalled();
  expect(timers).toBeLessThan(500);
  cancel();
});
