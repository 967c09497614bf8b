// @module-tag long
import { execFileSync, spawnSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Occurrences } from '../../src/protocol/automation/occurrences.ts';

const hasAnalyze = spawnSync('systemd-analyze', ['--version']).status === 0;
const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
const ITERATIONS = 4;
const BEGIN = '2027-01-31T12:34:56Z';

/** A field in the forms of cron and of a calendar of systemd. */
interface Field {
  cron: string;
  calendar: string;
}

/** @param end what steps go up to, if that is more than what is drawn */
function field(least: number, most: number, end = most): fc.Arbitrary<Field> {
  const value = fc.integer({ min: least, max: most });
  const list = fc
    .uniqueArray(value, { minLength: 1, maxLength: 4 })
    .map((all) => ({ cron: all.join(','), calendar: all.join(',') }));
  const range = fc.tuple(value, value).map(([one, other]) => {
    const [from, until] = [String(Math.min(one, other)), String(Math.max(one, other))];
    return { cron: `${from}-${until}`, calendar: `${from}..${until}` };
  });
  const step = fc.integer({ min: 2, max: most - least }).map((by) => ({
    cron: `*/${String(by)}`,
    calendar: `${String(least)}..${String(end)}/${String(by)}`,
  }));
  return fc.oneof(fc.constant({ cron: '*', calendar: '*' }), list, range, step);
}

const weekdays = fc.uniqueArray(fc.integer({ min: 0, max: 6 }), { minLength: 1, maxLength: 3 });

/** Cron joins a day of the month and a weekday by "or", systemd by "and": so only one of them is said. */
const expression = fc
  .tuple(field(0, 59), field(0, 23), field(1, 28, 31), field(1, 12), weekdays, fc.boolean())
  .map(([minute, hour, day, month, week, byWeekday]) => {
    const time = `${hour.calendar}:${minute.calendar}:00 UTC`;
    return byWeekday
      ? {
          cron: `${minute.cron} ${hour.cron} * ${month.cron} ${week.join(',')}`,
          calendar: `${week.map((one) => DAYS[one]).join(',')} *-${month.calendar}-* ${time}`,
        }
      : {
          cron: `${minute.cron} ${hour.cron} ${day.cron} ${month.cron} *`,
          calendar: `*-${month.calendar}-${day.calendar} ${time}`,
        };
  });

/** The next times of each calendar, by systemd. */
function bySystemd(calendars: readonly string[]): string[][] {
  const options = [
    `--iterations=${String(ITERATIONS)}`,
    `--base-time=${BEGIN.replace(/[TZ]/g, ' ')}UTC`,
  ];
  const out = execFileSync('systemd-analyze', ['calendar', ...options, ...calendars], {
    encoding: 'utf8',
    env: { ...process.env, TZ: 'UTC', LC_ALL: 'C' },
  });
  return out
    .split('Normalized form:')
    .slice(1)
    .map((part) =>
      [...part.matchAll(/(?:elapse|Iter\. #\d+): \w+ (\S+) (\S+) UTC/g)].map(
        ([, day = '', time = '']) => `${day}T${time}.000Z`,
      ),
    );
}

describe.skipIf(!hasAnalyze)(
  'compared with systemd-analyze (skipped unless it is installed)',
  () => {
    it('500 expressions are due at the same times', () => {
      const all = fc.sample(expression, 500);
      const expected = bySystemd(all.map(({ calendar }) => calendar));
      expect(expected).toHaveLength(all.length);
      for (const [at, { cron, calendar }] of all.entries()) {
        const occurrences = new Occurrences({ when: { kind: 'cron', expression: cron } }, 'UTC');
        const found: string[] = [];
        let time = occurrences.after(Date.parse(BEGIN));
        for (; time !== undefined && found.length < ITERATIONS; time = occurrences.after(time))
          found.push(new Date(time).toISOString());
        expect(found, `${cron} is ${calendar}`).toEqual(expected[at]);
      }
    });
  },
);
