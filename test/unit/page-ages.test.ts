import { expect, it } from 'vitest';
import type { WebEvents, WebNow } from '../../src/api/api.ts';
import { after, arrived, NOTHING_KNOWN, type Model } from '../../src/page/live/model.ts';

const BEGIN = Date.UTC(2026, 5, 9, 19);
/** A time of the server, so many seconds later. */
const at = (seconds: number): string => new Date(BEGIN + seconds * 1000).toISOString();

const dispatcher = { pid: 1, version: '6', started_at: at(-60), interval: 30, pending: 0 };
const verdict = {
  health: { ok: true, problems: [] },
  findings: [],
  paused: null,
  parked: [],
  push_budget: null,
};
const host = { last_wrote: null, actors: [], problem: null };
const NOW = {
  ...verdict,
  at: at(0),
  dispatcher: { ...dispatcher, age_s: 4 },
  hosts: [
    { ...host, alias: 'here', this_machine: true, heartbeat_age_s: 4 },
    { ...host, alias: 'there', this_machine: false, heartbeat_age_s: null },
  ],
  waiting: { total: 1, oldest_s: 10, ages: [], messages: [{ age_s: 10 }], complete: true },
  outbox: [{ id: 'a', age_s: 7, messages: [] }],
  outbox_total: 1,
} as unknown as WebNow;

const status = (seconds: number, age: number | null): WebEvents['status'] => ({
  ...verdict,
  at: at(seconds),
  dispatcher: age === null ? null : { ...dispatcher, age_s: age },
});

/** The ages as they are shown when so many seconds of the server's time have passed. */
function shown({ now, skew }: Model, seconds: number): unknown {
  if (now === undefined) return undefined;
  const passed = (BEGIN + skew + seconds * 1000 - Date.parse(now.at)) / 1000;
  const { dispatcher: here, hosts, waiting, outbox } = now;
  const aged = (age: number | null | undefined): number | null =>
    age === null || age === undefined ? null : age + passed;
  return {
    dispatcher: aged(here?.age_s),
    host: aged(hosts[0]?.heartbeat_age_s),
    other: aged(hosts[1]?.heartbeat_age_s),
    waiting: aged(waiting.messages[0]?.age_s),
    oldest: aged(waiting.oldest_s),
    outbox: aged(outbox[0]?.age_s),
  };
}

it.each([0, 3_600_000, -86_400_000])(
  'each age on the page grows by itself, and news of one part leaves the others as old as they are (clock %d ms ahead)',
  (ahead) => {
    const model: Model = { ...NOTHING_KNOWN, ...arrived(NOW, BEGIN + ahead) };
    const all = { dispatcher: 4, host: 4, other: null, waiting: 10, oldest: 10, outbox: 7 };
    expect(shown(model, 0)).toEqual(all);
    expect(shown(model, 60)).toEqual({
      dispatcher: 64,
      host: 64,
      other: null,
      waiting: 70,
      oldest: 70,
      outbox: 67,
    });

    const beaten = after(model, 'status', status(60, 1));
    const later = { ...all, dispatcher: 1, host: 1, waiting: 70, oldest: 70, outbox: 67 };
    expect(shown(beaten, 60)).toEqual(later);

    const queued = after(beaten, 'outbox', {
      at: at(90),
      outbox: [{ id: 'b', age_s: 2, messages: [] }],
      outbox_total: 1,
    });
    const latest = { ...all, dispatcher: 31, host: 31, waiting: 100, oldest: 100, outbox: 2 };
    expect(shown(queued, 90)).toEqual(latest);

    const gone = after(queued, 'status', status(95, null));
    expect(shown(gone, 95)).toEqual({
      dispatcher: null,
      host: null,
      other: null,
      waiting: 105,
      oldest: 105,
      outbox: 7,
    });
  },
);

it('news that arrives late makes nothing older than it is', () => {
  const model: Model = { ...NOTHING_KNOWN, ...arrived(NOW, BEGIN) };
  const late = after(model, 'status', status(-30, 1));
  expect(shown(late, 0)).toMatchObject({ waiting: 10, outbox: 7 });
});
