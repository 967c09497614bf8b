import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Rhythm } from '../../src/dispatcher/alarm.ts';
import { expectsMore } from '../../src/dispatcher/tick.ts';
import { intervalFor as intervalOf } from '../../src/dispatcher/pace.ts';
import { servingCount } from '../../src/actions/dispatching/run-parts.ts';
import { latencyText } from '../../src/present/hosts.ts';
import type { Heartbeat } from '../../src/state/heartbeat.ts';
import { scratch } from '../support/bus.ts';

function intervalFor(serving: number, hosts: number, reads?: number, isTold = false) {
  return intervalOf({ serving, hosts, reads, isTold });
}

/** Processor time of one idle poll over HTTP, all git processes included, in milliseconds; see docs/performance.md. */
const POLL_MS = 29;
/** The share of a core that the bell of one transport takes. */
const BELL = 0.00016;

it('an idle machine with one transport polls every 5 s, and all transports together take less than half a percent of a core', () => {
  expect(intervalFor(1, 3, undefined)).toEqual({ ms: 5000 });
  expect(intervalFor(1, 3, undefined, true)).toEqual({ ms: 5000 });
  for (const serving of [2, 3, 10, 100])
    expect((serving * POLL_MS) / intervalFor(serving, 3).ms).toBeLessThanOrEqual(0.005);
  for (const serving of [2, 3, 10]) {
    const polls = (serving * POLL_MS) / intervalFor(serving, 3, undefined, true).ms;
    expect(polls + serving * BELL).toBeLessThanOrEqual(0.005);
  }
  expect(intervalFor(10, 3, undefined).slowedBy).toBe('10 transports here take turns');
});

it('the hosts of a repository on a forge together ask no more than half of the reads it allows, but none waits longer than before', () => {
  expect(intervalFor(1, 37, 15).ms).toBe(5000);
  expect(intervalFor(1, 15, 15)).toEqual({ ms: 5000 });
  expect(intervalFor(1, 100, 15).ms).toBe(13_333);
  expect(intervalFor(1, 100, 15).slowedBy).toBe('its 100 hosts share 15 reads a second');
  expect(intervalFor(1, 10_000, 15).ms).toBe(30_000);
  expect(intervalFor(20, 10_000, 15).ms).toBe(120_000);
});

it('where a bell tells them of news, hosts leave a crowded forge the reads that it asks for', () => {
  for (const hosts of [15, 37, 100, 225])
    expect(intervalFor(1, hosts, 15, true)).toEqual(intervalFor(1, hosts, 15));
  for (const hosts of [450, 1000, 2000])
    expect((1000 * hosts) / intervalFor(1, hosts, 15, true).ms).toBeLessThanOrEqual(7.51);
  expect(intervalFor(1, 10_000, 15, true).ms).toBe(300_000);
  expect(intervalFor(1, 10_000, undefined, true).ms).toBe(5000);
});

it('news among others make a host poll sooner, but not where a bell tells it or more hosts share a forge than it allows reads a second', () => {
  const others = { tip: 'a', isNew: true, isBusy: false };
  expect(expectsMore(others, true)).toBe(true);
  expect(expectsMore(others, false)).toBe(false);
  expect(expectsMore({ ...others, isBusy: true }, false)).toBe(true);
  expect(expectsMore(undefined, true)).toBe(false);
  const crowded = [15, 16, 1000].map((hosts) => intervalFor(1, hosts, 15).isCrowded ?? false);
  expect(crowded).toEqual([false, true, true]);
  expect(intervalFor(1, 1000, undefined).isCrowded).toBeUndefined();
});

it('the wait for the next poll follows an interval that changes', () => {
  let interval = 5000;
  const rhythm = new Rhythm(() => interval);
  expect([1, 2, 3, 4, 5].map(() => rhythm.next(0.5))).toEqual([1000, 2000, 4000, 5000, 5000]);
  interval = 30_000;
  expect([rhythm.next(0.5), rhythm.next(0.5), rhythm.next(0.5)]).toEqual([5000, 10_000, 20_000]);
  interval = 3000;
  expect(rhythm.next(0.5)).toBe(3000);
  rhythm.active();
  expect(rhythm.next(0.5)).toBe(1000);
});

it('the dispatchers that run are counted: not those that ended, are silent, or cannot be read', async () => {
  const home = scratch();
  const now = Date.now();
  const at = (seconds: number): string => new Date(now - seconds * 1000).toISOString();
  const dispatchers: [string, string][] = [
    ['here', JSON.stringify({ pid: process.pid, at: at(1), interval: 5, running: [], parked: [] })],
    [
      'slow',
      JSON.stringify({ pid: process.pid, at: at(90), interval: 30, running: [], parked: [] }),
    ],
    [
      'silent',
      JSON.stringify({ pid: process.pid, at: at(90), interval: 5, running: [], parked: [] }),
    ],
    [
      'ended',
      JSON.stringify({ pid: 2 ** 22 + 1, at: at(1), interval: 5, running: [], parked: [] }),
    ],
    ['broken', '{'],
  ];
  mkdirSync(join(home, 'clones'));
  for (const [name, text] of dispatchers) {
    mkdirSync(join(home, name));
    writeFileSync(join(home, name, 'heartbeat.json'), text);
    const states = [
      { path: join(home, 'before'), device: '1' },
      { path: join(home, name), device: '1' },
    ];
    writeFileSync(join(home, 'clones', `${name}.json`), JSON.stringify({ version: 1, states }));
  }
  writeFileSync(join(home, 'clones', 'odd.json'), '[]');
  writeFileSync(join(home, 'clones', 'odder.json'), '{"states":[{"path":1}]}');
  expect(await servingCount(home, now)).toBe(2);
  expect(await servingCount(join(home, 'none'), now)).toBe(0);
});

it('status says how soon this machine hears of others, and why', () => {
  const heartbeat = { interval: 5, age_s: 1 } as Heartbeat & { age_s: number };
  const said = (more: Partial<Heartbeat>, origin = true): string =>
    latencyText({ origin, dispatcher: { ...heartbeat, ...more } });
  expect(said({})).toBe('hears of other machines within 5 s (it polls)');
  expect(said({ interval: 30, slowed_by: '10 transports here take turns' })).toBe(
    'hears of other machines within 30 s (it polls, as 10 transports here take turns)',
  );
  const servers = 'nats://bell:4222';
  expect(said({ bell: { servers, machines: [] } })).toBe(
    'hears of other machines at once (bell at nats://bell:4222)',
  );
  const failing = { since: '2026-01-01T00:00:00.000Z', reason: 'gone' };
  expect(said({ bell: { servers, failing, machines: [] } })).toBe(
    'hears of other machines within 5 s (it polls); the bell is down since 2026-01-01T00:00:00.000Z: gone',
  );
  expect(said({}, false)).toBe('');
  expect(latencyText({ origin: true, dispatcher: null })).toBe('');
});
