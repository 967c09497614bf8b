import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Occurrences } from '../../src/protocol/automation/occurrences.ts';
import { examples } from '../support/form.ts';
import { expected, expression, wall, ZONES } from '../support/wall-clock.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Minutes of two years before which the clock of a zone is changed. */
function changesOf(zone: string): number[] {
  const clock = wall(zone);
  const changes: number[] = [];
  const from = Date.parse('2026-01-01T00:00:00Z');
  for (let hour = from; hour < from + 731 * DAY_MS; hour += HOUR_MS) {
    if (clock(hour + HOUR_MS) - clock(hour) === 60) continue;
    for (let at = hour + MINUTE_MS; at <= hour + HOUR_MS; at += MINUTE_MS)
      if (clock(at) - clock(at - MINUTE_MS) !== 1) changes.push(at);
  }
  return changes;
}

describe.each(ZONES)('in %s', (zone) => {
  const changes = changesOf(zone);

  it(
    'each local time is due once, and one that is left out at the next that exists',
    { tags: 'sampled' },
    () => {
      expect(changes.length).toBe(4);
      fc.assert(
        fc.property(expression, fc.constantFrom(...changes), ({ text, has }, change) => {
          const [from, until] = [change - 8 * HOUR_MS, change + 8 * HOUR_MS];
          const occurrences = new Occurrences({ when: { kind: 'cron', expression: text } }, zone);
          const found: number[] = [];
          let at = occurrences.after(from);
          for (; at !== undefined && at <= until; at = occurrences.after(at)) found.push(at);
          expect(found.map((at) => new Date(at).toISOString())).toEqual(
            expected(wall(zone), has, from, until).map((at) => new Date(at).toISOString()),
          );
        }),
        { numRuns: examples(60) },
      );
    },
  );
});
