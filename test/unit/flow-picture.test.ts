import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { WebArrow, WebFlow, WebRun } from '../../src/api/api.ts';
import { MOST_LANES, MOST_MARKS, pictureOf } from '../../src/page/flow/layout.ts';
import { isConcluded, marksOf, outcomeOf } from '../../src/page/flow/marks.ts';
import { middleOfHour, placeOf, steppedUp } from '../../src/page/flow/scale.ts';
import { path } from '../support/messages.ts';

const HOUR = 3_600_000;
const WEEK = 7 * 24 * HOUR;
const NOW = Date.UTC(2026, 5, 9, 20, 10);
const span = { from: NOW - WEEK, to: NOW };
const at = (ms: number): string => new Date(span.from + ms).toISOString();

const run = (id: number, actor: string, since: number, took: number, more: Partial<WebRun> = {}) =>
  ({
    id: String(id),
    actor,
    host: 'one',
    channel: 'c',
    channel_name: 'general',
    tier: null,
    since: at(since),
    until: at(since + took),
    outcome: 'answered',
    messages: [path(id)],
    answers: [],
    known_from: 'observed',
    ...more,
  }) satisfies WebRun;
const message = (id: number, from: string, to: string, when: number) =>
  ({
    channel: 'c',
    relPath: path(id),
    from,
    to: [to],
    timestamp: at(when),
    re: [],
    cause: [],
    excerpt: '',
  }) satisfies WebArrow;
const flowOf = (runs: WebRun[], messages: WebArrow[]): WebFlow => ({
  from: at(0),
  to: at(WEEK),
  lanes: [
    ...new Set([
      ...runs.map(({ actor }) => actor),
      ...messages.flatMap(({ from, to }) => [from, ...to]),
    ]),
  ].map((name) => ({ name, hosts: [] })),
  runs,
  messages,
  answer_times: [],
  backlog: [],
  complete: true,
});

describe('the picture of a long time', () => {
  const spread = fc.record({
    actors: fc.integer({ min: 1, max: 60 }),
    count: fc.integer({ min: 0, max: 1500 }),
    took: fc.integer({ min: 0, max: WEEK }),
    within: fc.integer({ min: 1, max: WEEK }),
  });
  it('has no more marks and lanes than can be told apart, whatever happened', () => {
    fc.assert(
      fc.property(spread, ({ actors, count, took, within }) => {
        const name = (n: number): string => `actor-${String(n % actors)}`;
        const when = (n: number): number => (n * 7919 * 60_000) % within;
        const numbers = Array.from({ length: count }, (_, n) => n);
        const flow = flowOf(
          numbers.map((n) => run(n, name(n), when(n), took)),
          numbers.map((n) => message(n, name(n), name(n + 1), when(n))),
        );
        const picture = pictureOf(flow, span, 900, NOW);
        expect(picture.bars.length + picture.arrows.length).toBeLessThanOrEqual(MOST_MARKS);
        expect(picture.lanes.length).toBeLessThanOrEqual(MOST_LANES);
        expect(picture.lanes.length + picture.others).toBe(flow.lanes.length);
        const keys = marksOf(picture, NOW).map(({ key }) => key);
        expect(new Set(keys).size).toBe(keys.length);
      }),
      { numRuns: 40 },
    );
  });

  const busy = flowOf(
    Array.from({ length: 600 }, (_, n) =>
      run(n, 'worker', n * 1000 * 900, 1000, { outcome: n === 300 ? 'failed' : 'answered' }),
    ),
    [],
  );
  it('draws what is near in time together, counts it, and shows what failed among it', () => {
    const { bars } = pictureOf(busy, span, 900, NOW);
    expect(bars.flatMap(({ runs }) => runs)).toHaveLength(600);
    const failed = bars.filter((bar) => outcomeOf(bar) === 'failed');
    expect(failed).toHaveLength(1);
    const mark = marksOf(pictureOf(busy, span, 900, NOW), NOW).find(({ more }) =>
      more.includes('1 failed'),
    );
    expect(mark?.words).toMatch(/^worker: \d+ runs$/);
  });

  it('draws the same together while time goes on', () => {
    const step = WEEK / 900;
    const groups = (moved: number): string[] =>
      pictureOf(busy, { from: span.from + moved, to: span.to + moved }, 900, NOW + moved).bars.map(
        ({ runs }) => runs.map(({ id }) => id).join(),
      );
    const [before, after] = [groups(0), groups(3 * step)];
    // Only the beginning moves out of the picture.
    expect(after.slice(5)).toEqual(before.slice(-after.length).slice(5));
  });

  it('draws each on its own where there is room', () => {
    const few = flowOf([run(1, 'worker', 0, HOUR), run(2, 'worker', 1000, HOUR)], []);
    expect(pictureOf(few, span, 900, NOW).bars.map(({ runs }) => runs.length)).toEqual([1, 1]);
  });
});

describe('a run of another host', () => {
  const elsewhere = run(1, 'worker', 0, HOUR, { known_from: 'record', host: 'two' });
  it('is drawn as known only from its answer, and says that the wait for it is included', () => {
    const picture = pictureOf(flowOf([elsewhere], []), span, 900, NOW);
    expect(isConcluded(picture.bars[0]!)).toBe(true);
    const [mark] = marksOf(picture, NOW);
    expect(mark?.words).toBe('worker on two answered 60 min after the message');
    expect(mark?.more).toContain('when the run began is not known here');
  });
  it('that was cut off did not say nothing', () => {
    const stopped = run(1, 'worker', 0, HOUR, { outcome: 'stopped' });
    const [mark] = marksOf(pictureOf(flowOf([stopped], []), span, 900, NOW), NOW);
    expect(mark?.words).toBe('worker on one was cut off and waits again, 60 min');
  });
});

describe('the plots by hour', () => {
  it('have the current hour in the picture', () => {
    const hour = Math.floor(NOW / HOUR) * HOUR;
    const x = middleOfHour(hour, span, 900) ?? NaN;
    expect(x).toBeGreaterThan(placeOf(hour, span, 900));
    expect(x).toBeLessThan(900);
    expect(middleOfHour(hour + HOUR, span, 900)).toBeUndefined();
    expect(middleOfHour(hour - 3 * HOUR, span, 900)).toBe(placeOf(hour - 2.5 * HOUR, span, 900));
  });
});

it('what ends now moves in steps, and never before what has just happened', () => {
  expect(steppedUp(1001, 1000)).toBe(2000);
  expect(steppedUp(2000, 1000)).toBe(2000);
});
