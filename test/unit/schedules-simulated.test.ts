// A scheduler in simulated time, against a model that walks through the minutes. The usual form takes seconds
// for 80 days; SCHEDULE_WORLDS=20 npx vitest run test/unit/schedules-simulated.test.ts simulates two
// years twenty times in each zone, with schedules that are due more often, in about half an hour.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SimulatedMachine } from '../support/simulated-schedule.ts';
import { expected, expression, wall, ZONES } from '../support/wall-clock.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const WORLDS = Number(process.env['SCHEDULE_WORLDS'] ?? '1');
/** The short form covers a change of the clocks in each zone. */
const [BEGIN, DAYS] =
  WORLDS > 1 ? [Date.parse('2026-01-01T00:00:00Z'), 731] : [Date.parse('2026-02-20T00:00:00Z'), 80];
const END = BEGIN + DAYS * DAY_MS;
/** How often it is due: croner takes a third of a millisecond for each look, so not in each minute. */
const OFTEN = WORLDS > 1 ? /^\d+(?:,\d+)? / : /^\d+ \d+ /;

const span = fc.tuple(fc.integer({ min: 0, max: 23 }), fc.integer({ min: 1, max: 23 }));

/** What a file says, and what the model knows of it. */
const anyFile = fc.record({
  when: expression.filter(({ text }) => OFTEN.test(text)),
  quiet: fc.option(
    span.map(([from, hours]) => [from * 60, ((from + hours) % 24) * 60] as const),
    { nil: undefined },
  ),
  catchUp: fc.constantFrom('last', 'none'),
  graceMinutes: fc.constantFrom(0, 5, 60, 600),
  overlap: fc.boolean(),
});
type File = typeof anyFile extends fc.Arbitrary<infer T> ? T : never;

const isQuietAt = (quiet: File['quiet'], minute: number): boolean => {
  if (quiet === undefined) return false;
  const [from, until] = quiet;
  return from < until ? minute >= from && minute < until : minute >= from || minute < until;
};

/** A file whose quiet hours cover each of its times is refused. */
const file = anyFile.filter(({ when, quiet }) =>
  Array.from({ length: 1440 }, (_, minute) => minute).some(
    (minute) => when.has(minute) && !isQuietAt(quiet, minute),
  ),
);

const step = fc.oneof(
  { weight: 6, arbitrary: fc.constant('answer' as const) },
  { weight: 3, arbitrary: fc.constant('down' as const) },
  { weight: 1, arbitrary: fc.constant('edit' as const) },
  { weight: 1, arbitrary: fc.constant('again' as const) },
  { weight: 1, arbitrary: fc.constant('forward' as const) },
  { weight: 1, arbitrary: fc.constant('back' as const) },
);

const clockText = (minute: number): string =>
  [Math.floor(minute / 60), minute % 60].map((part) => String(part).padStart(2, '0')).join(':');

function textOf(
  zone: string,
  { when, quiet, catchUp, graceMinutes, overlap }: File,
  at: number,
): string {
  const lines = [
    ...['host: front', 'to: worker@elsewhere', `cron: ${when.text}`, `timezone: ${zone}`],
    ...(quiet === undefined ? [] : [`quiet: ${quiet.map(clockText).join('-')}`]),
    `catch_up: ${catchUp}`,
    `grace: ${String(graceMinutes)}m`,
    `overlap: ${String(overlap)}`,
  ];
  return `---\n${lines.join('\n')}\n---\nwritten at ${String(at)}\n`;
}

/** The occurrences of a file, day by day, by the clock on the wall. */
function occurrencesOf(clock: (time: number) => number, { when, quiet }: File) {
  const days = new Map<number, number[]>();
  const isQuiet = (time: number): boolean => isQuietAt(quiet, ((clock(time) % 1440) + 1440) % 1440);
  const dayOf = (day: number): number[] => {
    const known = days.get(day);
    if (known !== undefined) return known;
    const begin = day * DAY_MS - MINUTE_MS;
    const found = expected(clock, when.has, begin, begin + DAY_MS).filter((at) => !isQuiet(at));
    days.set(day, found);
    return found;
  };
  /** The last one after one time, and not after the other. */
  return (after: number, until: number): number | undefined => {
    for (let day = Math.floor(until / DAY_MS); day >= Math.floor(after / DAY_MS); day--) {
      const last = dayOf(day).findLast((at) => at <= until);
      if (last !== undefined) return last > after ? last : undefined;
    }
    return undefined;
  };
}

describe.each(ZONES)('simulated in %s', (zone) => {
  const clock = wall(zone);

  it(
    'each occurrence is sent once, none before its file was there, and none is missed outside of downtime',
    async () => {
      let sent = 0;
      await fc.assert(
        fc.asyncProperty(
          file,
          fc.infiniteStream(fc.tuple(step, fc.double({ min: 0.01, max: 1, noNaN: true }), file)),
          async (first, steps) => {
            const machine = new SimulatedMachine(BEGIN, zone);
            let current = first;
            let last = occurrencesOf(clock, current);
            const write = (next: File): void => {
              current = next;
              last = occurrencesOf(clock, next);
              machine.write(textOf(zone, next, machine.now));
            };
            // What the model expects; times in milliseconds since 1970.
            const due = new Set<number>();
            let newest: number | undefined;
            let dealt = BEGIN;
            let open: number | undefined;
            const round = async (): Promise<void> => {
              if (dealt > machine.now + DAY_MS) dealt = machine.now;
              const at = last(dealt, machine.now);
              if (at !== undefined) {
                dealt = at;
                const late = machine.now - at;
                const { catchUp, graceMinutes, overlap } = current;
                const isMissed =
                  late > 2 * MINUTE_MS && (catchUp === 'none' || late > graceMinutes * MINUTE_MS);
                // After a day nobody knows, and of what a clock sent that was ahead either.
                const isOpen = open !== undefined && Math.abs(machine.now - open) <= DAY_MS;
                if (!isMissed && (overlap || !isOpen)) {
                  open = at;
                  if (!due.has(at)) newest = at;
                  due.add(at);
                }
              }
              await machine.round();
              // Comparing all of them each time would take most of the time.
              if (machine.sent.length !== due.size || machine.sent.at(-1)?.due !== newest)
                expect(machine.sent.map((one) => new Date(one.due).toISOString())).toEqual(
                  [...due].map((one) => new Date(one).toISOString()),
                );
            };
            const letTime = async (ms: number): Promise<void> => {
              const until = machine.now + ms;
              while (machine.isUp && machine.next <= until) {
                machine.now = Math.max(machine.now, machine.next) + 5;
                await round();
              }
              machine.now = Math.max(machine.now, until);
              if (machine.isUp) await round();
            };
            machine.start();
            write(first);
            await round();
            for (const [what, share, other] of steps) {
              if (machine.now >= END) break;
              await letTime(Math.round(share * 20 * DAY_MS));
              if (what === 'answer') {
                machine.answer();
                open = undefined;
              } else if (what === 'edit') {
                write(other);
                dealt = Math.max(dealt, machine.now);
                await round();
              } else if (what === 'down') {
                machine.kill();
                await letTime(Math.round(share * share * DAY_MS));
                machine.start();
                await round();
              } else if (what === 'again') {
                // Removed and made again, word for word, while nobody looked.
                machine.kill();
                await letTime(Math.round((share * DAY_MS) / 2));
                machine.write(undefined);
                write(current);
                dealt = Math.max(dealt, machine.now);
                await letTime(Math.round((share * DAY_MS) / 2));
                machine.start();
                await round();
              } else {
                const isFar = share > 0.9;
                const by = Math.round(share * (isFar ? 365 * DAY_MS : 5 * HOUR_MS));
                machine.now += what === 'forward' ? by : -by;
                await round();
                // A clock that is wrong by a year is set right again.
                if (isFar) {
                  machine.now += what === 'forward' ? -by : by;
                  await round();
                }
              }
            }
            // A world in which nothing was ever due shows nothing: another one is made.
            fc.pre(due.size > 0);
            sent += due.size;
          },
        ),
        { numRuns: WORLDS, endOnFailure: true },
      );
      expect(sent).toBeGreaterThan(0);
    },
    WORLDS * 600_000,
  );
});

it.each([
  ['goes on', false],
  ['is killed at once', true],
])(
  'a disk that refuses any one of its writes to a process that %s makes nothing be sent twice, lost, or called unsent',
  async (_, isKilled) => {
    const begin = Date.parse('2026-06-09T07:30:00Z');
    let refused = 0;
    for (let takes = 0; ; takes++) {
      const machine = new SimulatedMachine(begin, 'UTC');
      machine.write(
        '---\nhost: front\nto: worker@elsewhere\nevery: 1h\noverlap: true\n---\nhello\n',
      );
      machine.takes = takes;
      machine.start();
      for (let minute = 0; minute <= 155; minute++) {
        machine.now = begin + minute * MINUTE_MS;
        const before = machine.willRefuse;
        await machine.round();
        if (minute === 75 || (isKilled && before !== machine.willRefuse)) {
          machine.kill();
          machine.start();
        }
      }
      expect(machine.problems, `after ${String(takes)} writes`).toEqual([]);
      const sent = machine.sent.map(({ due }) => new Date(due).toISOString().slice(11, 16));
      expect(sent, `after ${String(takes)} writes`).toEqual(['08:00', '09:00', '10:00']);
      if (machine.willRefuse) break;
      refused++;
    }
    expect(refused).toBeGreaterThan(5);
  },
);

it('what many schedules have done at one time is recorded with one write', async () => {
  const machine = new SimulatedMachine(Date.parse('2026-06-09T07:30:00Z'), 'UTC');
  machine.copies = 50;
  machine.write('---\nhost: front\nto: worker@elsewhere\nevery: 1h\n---\nhello\n');
  machine.start();
  await machine.round();
  const before = machine.saves;
  machine.now = Date.parse('2026-06-09T08:00:00Z');
  await machine.round();
  expect(machine.sent).toHaveLength(50);
  expect(machine.saves - before).toBe(1);
});
