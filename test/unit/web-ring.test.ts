import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import type { Context } from '../../src/actions/context.ts';
import { Hub } from '../../src/web/hub.ts';
import { EventRing } from '../../src/web/ring.ts';
import { eventStream } from '../../src/web/routes.ts';
import { until } from '../support/wait.ts';

const EPOCH = '0a1b2c3d';
const tips = (ring: EventRing, count: number): void => {
  for (let n = 0; n < count; n++) ring.push('tip', { tip: String(ring.newest + 1) });
};
const textOf = (ring: EventRing, after: number): string => {
  const next = ring.next(after);
  return typeof next === 'string' ? next : new TextDecoder().decode(next.bytes);
};

it('events come in order, one after another, each with an id of its own', () => {
  const ring = new EventRing(EPOCH);
  expect(ring.next(0)).toBe('none');
  tips(ring, 2);
  expect(textOf(ring, 0)).toBe(`id: ${EPOCH}-1\nevent: tip\ndata: {"tip":"1"}\n\n`);
  expect(textOf(ring, 1)).toContain(`id: ${EPOCH}-2\n`);
  expect(ring.next(2)).toBe('none');
  expect(ring.id()).toBe(`${EPOCH}-2`);
});

it('the oldest events go when there are too many of them or they are too large together', () => {
  const few = new EventRing(EPOCH, { events: 3 });
  tips(few, 5);
  expect([0, 1, 2, 3].map((after) => textOf(few, after).slice(0, 4))).toEqual([
    'gone',
    'gone',
    'id: ',
    'id: ',
  ]);
  const small = new EventRing(EPOCH, { bytes: 1000 });
  small.push('reset', { reason: 'x'.repeat(600) });
  small.push('reset', { reason: 'y'.repeat(600) });
  expect(small.next(0)).toBe('gone');
  expect(textOf(small, 1)).toContain('yyy');
  small.push('reset', { reason: 'z'.repeat(5000) });
  expect(textOf(small, 2)).toContain('zzz');
});

it('a text with line breaks cannot begin an event of its own', () => {
  const ring = new EventRing(EPOCH);
  ring.push('reset', { reason: 'a\n\nevent: messages\ndata: {}\r\n\u2028' });
  expect(textOf(ring, 0).split('\n')).toHaveLength(5);
  expect(textOf(ring, 0)).not.toContain('\r');
});

it('who comes back goes on where it was, if that is still known, and else begins now', () => {
  const ring = new EventRing(EPOCH, { events: 3 });
  tips(ring, 5);
  const now = { after: 5, resumed: false };
  expect(ring.beginning(undefined)).toEqual(now);
  expect(ring.beginning(`${EPOCH}-5`)).toEqual({ after: 5, resumed: true });
  expect(ring.beginning(`${EPOCH}-2`)).toEqual({ after: 2, resumed: true });
  for (const id of [`${EPOCH}-1`, `${EPOCH}-6`, 'ffffffff-3', `${EPOCH}-`, '3', `${EPOCH}-2x`])
    expect(ring.beginning(id)).toEqual(now);
  expect(new EventRing(EPOCH).beginning(`${EPOCH}-0`)).toEqual({ after: 0, resumed: true });
});

it('of a thousand streams that were given up nothing is kept, also before the next event', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const hub = new Hub({} as Context, EPOCH);
  const signals: WeakRef<AbortController>[] = [];
  const stop = new AbortController();
  for (let n = 0; n < 1000; n++) {
    const reader = eventStream(hub, undefined, stop.signal).getReader();
    await reader.read();
    await reader.read();
    const waiting = reader.read();
    for (const one of hub.streams) signals.push(new WeakRef(one));
    await reader.cancel();
    await waiting;
  }
  expect([signals.length, hub.streams.size]).toEqual([1000, 0]);
  await until('the end of them', () => {
    collect();
    return signals.filter((one) => one.deref() !== undefined).length < 10;
  });
});
