import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pictureOf } from '../../src/page/flow/layout.ts';
import { marksOf } from '../../src/page/flow/marks.ts';
import { moved, placeOf, ticksOf, zoomed } from '../../src/page/flow/scale.ts';
import { joined, windowOf } from '../../src/page/list/window.ts';
import {
  reachesEnd,
  shownOf,
  spanOf,
  withArrived,
  withPage,
} from '../../src/page/conversation/use-reading.ts';
import { shownStatesOf } from '../../src/page/live/model.ts';
import { unreadOf } from '../../src/page/live/read-marks.ts';
import type { WebFlow, WebMessage, WebMessagePage, WebRun } from '../../src/api/api.ts';
import { path } from '../support/messages.ts';

const CHANNEL = '11111111-2222-4333-8444-555555555555';

describe('a windowed list', () => {
  const heights = fc.array(fc.integer({ min: 1, max: 500 }), { maxLength: 300 });

  it('has room for everything, and what is seen is there', () => {
    fc.assert(
      fc.property(heights, fc.nat(60_000), fc.integer({ min: 1, max: 1200 }), (all, top, seen) => {
        const { first, end, above, below } = windowOf(all, top, seen, 100);
        const sum = (from: number, to: number): number =>
          all.slice(from, to).reduce((total, height) => total + height, 0);
        expect(above).toBe(sum(0, first));
        expect(above + sum(first, end) + below).toBe(sum(0, all.length));
        const whole = sum(0, all.length);
        if (top < whole) {
          expect(above).toBeLessThanOrEqual(top);
          expect(above + sum(first, end)).toBeGreaterThanOrEqual(Math.min(whole, top + seen));
        }
      }),
    );
  });

  it('has only what is near, however long it is', () => {
    const { first, end } = windowOf(new Array<number>(100_000).fill(50), 2_500_000, 800, 400);
    expect(end - first).toBeLessThan(40);
    expect(first).toBeGreaterThan(49_000);
  });

  it('takes pages at either end once, and lets go of the farthest', () => {
    const key = (one: number): string => String(one);
    expect(joined([3, 4], [1, 2, 3], 'before', key, 10)).toEqual([1, 2, 3, 4]);
    expect(joined([3, 4], [1, 2], 'before', key, 3)).toEqual([1, 2, 3]);
    expect(joined([3, 4], [4, 5], 'after', key, 2)).toEqual([4, 5]);
  });
});

describe('the loaded part of a channel', () => {
  const message = (n: number, fields: Partial<WebMessage> = {}): WebMessage => ({
    channel: CHANNEL,
    channel_name: 'general',
    relPath: path(n),
    from: 'me',
    to: ['worker'],
    type: 'text',
    timestamp: '2026-06-09T19:00:00.000Z',
    re: [],
    cause: [],
    tier: null,
    host: null,
    body: `message ${String(n)}`,
    body_cut: false,
    files: [],
    options: [],
    queued: false,
    ...fields,
  });
  const pageOf = (from: number, to: number, total: number): WebMessagePage => ({
    channel: CHANNEL,
    channel_name: 'general',
    messages: Array.from({ length: to - from }, (_, index) => message(from + index)),
    total,
    first: from,
    before: from === 0 ? null : path(from),
    after: to === total ? null : path(to - 1),
    queued: [],
    complete: true,
    event_id: '1',
  });

  it('stands where its pages say, also when it lets go of some', () => {
    let span = spanOf(pageOf(900, 1000, 1000));
    expect(reachesEnd(span)).toBe(true);
    for (let from = 840; from >= 0; from -= 60)
      span = withPage(span, pageOf(from, from + 60, 1000), 'before');
    expect(span.first).toBe(0);
    expect(span.messages[0]?.relPath).toBe(path(0));
    expect(reachesEnd(span)).toBe(false);
    for (let at = span.messages.length; at < 1000; at += 60)
      span = withPage(span, pageOf(at, Math.min(1000, at + 60), 1000), 'after');
    expect(span.messages[0]?.relPath).toBe(path(span.first));
    expect(reachesEnd(span)).toBe(true);
  });

  it('takes new messages at its end, and counts them elsewhere', () => {
    const atEnd = withArrived(spanOf(pageOf(0, 10, 10)), [message(11), message(10)]);
    expect(atEnd.messages.slice(-2).map(({ relPath }) => relPath)).toEqual([path(10), path(11)]);
    expect(atEnd.total).toBe(12);
    const above = withArrived(spanOf(pageOf(0, 10, 100)), [message(100)]);
    expect(above.messages).toHaveLength(10);
    expect(above.total).toBe(101);
  });

  it('takes a message once, however often it is heard of', () => {
    const span = spanOf(pageOf(0, 10, 10));
    expect(withArrived(withArrived(span, [message(10)]), [message(10)]).total).toBe(11);
    expect(withArrived(span, [message(5)])).toBe(span);
  });

  it('shows what is queued until it is on the bus', () => {
    const queued = message(10, { queued: true });
    const span = { ...spanOf(pageOf(0, 10, 10)), queued: [queued] };
    expect(shownOf(span, [queued]).filter((one) => one.queued)).toHaveLength(1);
    expect(shownOf(withArrived(span, [message(10)]), [queued]).filter((one) => one.queued)).toEqual(
      [],
    );
  });

  it('says how far a message is: by an answer, by what was heard, by what waits', () => {
    const asked = message(1);
    const nothing = shownStatesOf(asked, new Map(), [], []);
    expect(nothing).toEqual([]);
    const waiting = {
      channel: CHANNEL,
      relPath: path(1),
      channel_name: '',
      from: 'me',
      actor: 'worker',
      timestamp: '',
      age_s: 1,
      state: 'waiting' as const,
      delay: null,
      excerpt: '',
    };
    expect(shownStatesOf(asked, new Map(), [waiting], [])[0]?.state).toBe('waiting');
    const known = new Map([
      [
        `${CHANNEL}/${path(1)}`,
        {
          self: 'sent' as const,
          actors: { worker: { state: 'taken' as const, detail: null, at: '' } },
        },
      ],
    ]);
    expect(shownStatesOf(asked, known, [waiting], [])[0]?.state).toBe('running');
    const answer = message(2, { from: 'worker', re: [path(1)] });
    expect(shownStatesOf(asked, known, [waiting], [answer])[0]?.state).toBe('answered');
  });

  it('counts as unread what came since it was read here, else what the server counts', () => {
    const channel = {
      id: CHANNEL,
      name: 'general',
      parent: null,
      depth: 0,
      description: '',
      messages: 12,
      last: null,
      unread: 2,
    };
    expect(unreadOf(channel, undefined)).toBe(2);
    expect(unreadOf(channel, { count: 9, relPath: path(9) })).toBe(3);
    expect(unreadOf(channel, { count: 20, relPath: path(9) })).toBe(0);
  });
});

describe('the picture of the last hours', () => {
  const NOW = Date.UTC(2026, 5, 9, 20);
  const span = { from: NOW - 3_600_000, to: NOW };
  const at = (minute: number): string => new Date(span.from + minute * 60_000).toISOString();
  const run = (
    id: string,
    since: number,
    until: number | null,
    fields: Partial<WebRun> = {},
  ): WebRun => ({
    id,
    actor: 'worker',
    host: 'one',
    channel: CHANNEL,
    channel_name: 'general',
    tier: null,
    since: at(since),
    until: until === null ? null : at(until),
    outcome: until === null ? 'running' : 'answered',
    messages: [path(1)],
    answers: [],
    known_from: 'observed',
    ...fields,
  });
  const flow: WebFlow = {
    from: at(0),
    to: at(60),
    lanes: [
      { name: 'worker', hosts: ['one'] },
      { name: 'me', hosts: [] },
    ],
    runs: [run('a', 10, 20), run('b', 15, 30), run('c', 40, null)],
    messages: [
      {
        channel: CHANNEL,
        relPath: path(1),
        from: 'me',
        to: ['worker@one', 'nobody'],
        timestamp: at(5),
        re: [],
        cause: [],
        excerpt: 'do it',
      },
    ],
    answer_times: [],
    backlog: [],
    complete: true,
  };

  it('puts runs that overlap below one another, and one that goes on to its end', () => {
    const { bars, lanes } = pictureOf(flow, span, 600, NOW);
    const [a, b, c] = ['a', 'b', 'c'].map((id) => bars.find((bar) => bar.runs[0].id === id));
    expect(a).toMatchObject({ x: 100, width: 100 });
    expect(b!.y).toBeGreaterThan(a!.y);
    expect(c).toMatchObject({ x: 400, width: 200, y: a!.y });
    expect(lanes[1]!.top).toBe(lanes[0]!.height);
  });

  it('draws a message from who wrote it to the run that took it, and to nobody without a lane', () => {
    const { arrows, lanes } = pictureOf(flow, span, 600, NOW);
    expect(arrows).toHaveLength(1);
    expect(arrows[0]).toMatchObject({
      to: 'worker',
      x1: 50,
      x2: 100,
      y1: lanes[1]!.top + lanes[1]!.height / 2,
    });
  });

  it('tells of every mark, from left to right', () => {
    const marks = marksOf(pictureOf(flow, span, 600, NOW), NOW);
    expect(marks).toHaveLength(4);
    expect(marks[0]?.words).toMatch(/^me wrote to worker at /);
    expect(marks[3]?.words).toBe('worker on one is still running, 20 min');
  });

  it('keeps the moment that is zoomed at in its place, and shows nothing of the future', () => {
    const around = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(around, fc.double({ min: 0.2, max: 1, noNaN: true }), (share, factor) => {
        const moment = span.from + share * 3_600_000;
        const next = zoomed(span, factor, moment, NOW);
        expect(placeOf(moment, next, 1000)).toBeCloseTo(share * 1000, 1);
        expect(zoomed(span, 1 / factor, moment, NOW).to).toBeLessThanOrEqual(NOW + 0.001);
      }),
    );
    expect(moved(span, 5, NOW)).toEqual(span);
    expect(moved(span, -1, NOW).to).toBe(span.from);
  });

  it('has marks of time that are round and not too near one another', () => {
    fc.assert(
      fc.property(fc.integer({ min: 10_000, max: 7 * 86_400_000 }), (length) => {
        const ticks = ticksOf({ from: NOW - length, to: NOW }, 900, 90, 0);
        expect(ticks.length).toBeLessThanOrEqual(11);
        for (const tick of ticks) expect(tick % 1000).toBe(0);
      }),
    );
  });
});

it('messages that come late to the beginning do not move what is shown from the end of a channel', () => {
  const one = (n: number) => ({ relPath: path(n) }) as WebMessage;
  const span = {
    first: 3,
    total: 5,
    messages: [one(4), one(5)],
    queued: [],
    complete: true,
  } as unknown as Parameters<typeof withArrived>[0];
  expect(reachesEnd(span)).toBe(true);
  const after = withArrived(span, [one(1)]);
  expect(after).toMatchObject({ first: 4, total: 6, messages: [one(4), one(5)] });
  expect(reachesEnd(after)).toBe(true);
});
