import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Occurrences } from '../../src/protocol/automation/occurrences.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Zones in which clocks are changed: by an hour, by half an hour, at midnight, in the south. */
const ZONES = [
  'Europe/Berlin',
  'America/New_York',
  'Australia/Lord_Howe',
  'America/Havana',
  'Pacific/Auckland',
] as const;

/** What a clock on the wall shows, in minutes since 1970, found out without the code under test. */
function wall(zone: string): (time: number) => number {
  const format = new Intl.DateTimeFormat('sv-SE', {
    timeZone: zone,
    dateStyle: 'short',
    timeStyle: 'short',
  });
  return (time) => Date.parse(`${format.format(time).replace(' ', 'T')}:00Z`) / MINUTE_MS;
}

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

interface Field {
  text: string;
  has: (value: number) => boolean;
}

const field = (least: number, most: number): fc.Arbitrary<Field> =>
  fc.oneof(
    fc.constant({ text: '*', has: () => true }),
    fc
      .uniqueArray(fc.integer({ min: least, max: most }), { minLength: 1, maxLength: 3 })
      .map((list) => ({
        text: list.join(','),
        has: (value: number) => list.includes(value),
      })),
    fc
      .tuple(fc.integer({ min: least, max: most }), fc.integer({ min: least, max: most }))
      .map(([a, b]) => ({
        text: `${String(Math.min(a, b))}-${String(Math.max(a, b))}`,
        has: (value: number) => value >= Math.min(a, b) && value <= Math.max(a, b),
      })),
    fc.integer({ min: 2, max: 20 }).map((step) => ({
      text: `*/${String(step)}`,
      has: (value: number) => (value - least) % step === 0,
    })),
  );

/** Every field but month and weekday; those two are compared with another program elsewhere. */
const expression = fc.tuple(field(0, 59), field(0, 23)).map(([minute, hour]) => ({
  text: `${minute.text} ${hour.text} * * *`,
  has: (clock: number) => minute.has(clock % 60) && hour.has(Math.floor(clock / 60) % 24),
}));

/** Each due minute of a span: local times, the first time that they come, those left out when the clock is put forward. */
function expected(
  zone: string,
  has: (clock: number) => boolean,
  from: number,
  until: number,
): number[] {
  const clock = wall(zone);
  const due: number[] = [];
  let latest = clock(from - 3 * HOUR_MS) - 1;
  for (let at = from - 3 * HOUR_MS; at <= until; at += MINUTE_MS) {
    const now = clock(at);
    let isDue = now > latest && has(now);
    // What is left out is due at once, unless the first of it is due as much later anyway.
    const gap = now - latest - 1;
    let first = latest + 1;
    while (first < now && !has(first)) first++;
    if (first < now && !has(first + gap)) isDue = true;
    latest = Math.max(latest, now);
    if (isDue && at > from) due.push(at);
  }
  return due;
}

describe.each(ZONES)('in %s', (zone) => {
  const changes = changesOf(zone);

  it('each local time is due once, and one that is left out at the next that exists', () => {
    expect(changes.length).toBe(4);
    fc.assert(
      fc.property(expression, fc.constantFrom(...changes), ({ text, has }, change) => {
        const [from, until] = [change - 8 * HOUR_MS, change + 8 * HOUR_MS];
        const occurrences = new Occurrences({ when: { kind: 'cron', expression: text } }, zone);
        const found: number[] = [];
        let at = occurrences.after(from);
        for (; at !== undefined && at <= until; at = occurrences.after(at)) found.push(at);
        expect(found.map((at) => new Date(at).toISOString())).toEqual(
          expected(zone, has, from, until).map((at) => new Date(at).toISOString()),
        );
      }),
      { numRuns: 60 },
    );
  });
});
