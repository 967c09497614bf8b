import { expect, it } from 'vitest';
import { Occurrences } from '../../src/protocol/automation/occurrences.ts';
import { Moments } from '../../src/protocol/automation/expression.ts';
import { parseSchedule } from '../../src/protocol/automation/schedule.ts';

const fileOf = (lines: readonly string[], body = 'what is new?'): string =>
  `---\n${['host: front', 'to: worker', ...lines].join('\n')}\n---\n${body}\n`;

function problemsOf(text: string, name = 'standup'): string[] {
  const parsed = parseSchedule(text, name);
  return parsed.ok ? [] : parsed.problems;
}

it('reads every field, and its defaults', () => {
  expect(parseSchedule(fileOf(['every: 2h']), 'standup')).toEqual({
    ok: true,
    value: {
      name: 'standup',
      host: 'front',
      to: [{ name: 'worker' }],
      when: { kind: 'every', ms: 7_200_000 },
      from: 'schedule',
      catchUp: 'last',
      grace: 3_600_000,
      overlap: false,
      enabled: true,
      body: 'what is new?\n',
    },
  });
  const all = [
    ...['cron: 5 9 * * 1-5', 'timezone: Europe/Berlin', 'channel: general', 'from: anna'],
    ...['tier: big', 'quiet: 23:00-07:00', 'catch_up: none', 'grace: 10m', 'overlap: true'],
    'enabled: false',
  ];
  expect(parseSchedule(fileOf(all), 'standup')).toMatchObject({
    ok: true,
    value: {
      when: { kind: 'cron', expression: '5 9 * * 1-5' },
      timezone: 'Europe/Berlin',
      channel: 'general',
      from: 'anna',
      tier: 'big',
      quiet: { from: 23 * 60, until: 7 * 60 },
      catchUp: 'none',
      grace: 600_000,
      overlap: true,
      enabled: false,
    },
  });
  expect(parseSchedule(fileOf(['at: 2026-06-09T09:00+02:00']), 'x')).toMatchObject({
    value: { when: { kind: 'at', time: Date.parse('2026-06-09T07:00:00Z') } },
  });
});

it.each([
  ['cron: every day', 'line 4: cron is "every day", expected 5 fields'],
  ['cron: 61 9 * * *', 'line 4: cron is "61 9 * * *", expected 5 fields'],
  ['cron: 0 0 31 2 *', 'no day is like that'],
  ['cron: [1, 2]', 'line 4: cron is "["1","2"]"'],
  [`cron: ${'1,'.repeat(300)}1 * * * *`, 'it is too long'],
  ['every: often', 'line 4: every is "often", expected a duration'],
  ['every: 30s', 'line 4: every is "30s", expected a duration'],
  ['every: 400d', 'line 4: every is "400d"'],
  ['every: -2h', 'line 4: every is "-2h"'],
  ['every: {h: 2}', 'line 4: every is "{"h":"2"}"'],
  ['at: tomorrow', 'line 4: at is "tomorrow", expected a moment with its zone'],
  ['at: 2026-06-09T09:00', 'line 4: at is "2026-06-09T09:00"'],
  ['at: 2026-13-40T09:00:00Z', 'line 4: at is "2026-13-40T09:00:00Z"'],
])('an unusable time is reported with its line and value: %s', (line, problem) => {
  expect(problemsOf(fileOf([line])).join('\n')).toContain(problem);
});

it.each([
  ['host: ../x', 'line 5: host is "../x", expected the alias of the host that sends it'],
  ['timezone: Mars/Olympus', 'line 5: timezone is "Mars/Olympus", expected an IANA time zone'],
  ['timezone: ../../etc/passwd', 'line 5: timezone is "../../etc/passwd"'],
  ['quiet: at night', 'line 5: quiet is "at night", expected a span of the day'],
  ['quiet: 25:00-07:00', 'line 5: quiet is "25:00-07:00"'],
  ['quiet: 07:00-07:00', 'line 5: quiet is "07:00-07:00"'],
  ['catch_up: all', 'line 5: catch_up is "all", expected last or none'],
  ['grace: long', 'line 5: grace is "long", expected a duration'],
  ['overlap: maybe', 'line 5: overlap is "maybe", expected true or false'],
  ['enabled: on', 'line 5: enabled is "on", expected true or false'],
  ['tier: "\\n"', 'line 5: tier is " ", expected a tier name'],
  ['from: all', 'line 5: from is "all", expected a name other than all'],
  ['from: "a\\nb"', 'line 5: from is "a b", expected a name'],
  ['channel: [a]', 'line 5: channel is "["a"]", expected the name or id of a channel'],
  ['to: "work er@@"', 'line 5: to is "work er@@"'],
  ['cron: 0 9 * * *', 'lines 5 and 4: cron and every are both given'],
])('a wrong field is reported with its line and value: %s', (line, problem) => {
  const [field = ''] = line.split(':');
  const others = ['host: front', 'to: worker', 'every: 2h'].map((one) =>
    one.startsWith(`${field}:`) ? 'other: 1' : one,
  );
  const text = `---\n${[...others, line].join('\n')}\n---\nhello\n`;
  expect(problemsOf(text).join('\n')).toContain(problem);
});

it('what is missing is named, all of it at once', () => {
  expect(problemsOf('---\nto: worker\n---\n')).toEqual([
    'host is missing, expected the alias of the host that sends it',
    'cron, every or at is missing: one of them says when it is due',
    'the message is missing: write it below the header',
  ]);
});

it('one that is due more than once a minute may not overlap', () => {
  expect(problemsOf(fileOf(['cron: "* * * * * *"', 'overlap: true']))).toEqual([
    'line 5: overlap is "true", expected false for one that is due more than once a minute',
  ]);
  expect(problemsOf(fileOf(['cron: "30 * * * * *"', 'overlap: true']))).toEqual([]);
  expect(problemsOf(fileOf(['cron: "* * * * * *"']))).toEqual([]);
});

it('hostile files are refused, each in a moment', () => {
  const hostile = [
    fileOf([
      'a: &a [x, x]',
      'b: &b [*a, *a, *a]',
      'c: &c [*b, *b, *b]',
      `to: [${'*c, '.repeat(60)}*c]`,
    ]),
    fileOf(['every: 2h'], 'x'.repeat(2_000_000)),
    fileOf([`to: [${'worker,'.repeat(40_000)}worker]`]),
    fileOf([`x: ${'['.repeat(5000)}`]),
    '---js\n{ "host": process.exit(1) }\n---\nx',
    '\0\0\0',
    '',
    '---\nhost: front\n',
    fileOf(['every: &a [*a]']),
    fileOf(['every: !!js/function "x"']),
    fileOf([`cron: "${'9'.repeat(390)} * * * *"`]),
    fileOf([`cron: "*/0 * * * *"`]),
    fileOf([`cron: "* * * * * * 2020"`]),
    fileOf([`cron: "@reboot"`]),
  ];
  for (const text of hostile) {
    const begun = process.cpuUsage();
    expect(problemsOf(text).length, text.slice(0, 60)).toBeGreaterThan(0);
    // Far more than any of them takes, and far less than one that is not bounded.
    expect(process.cpuUsage(begun).user, text.slice(0, 60)).toBeLessThan(3_000_000);
  }
});

it.each(['../x', 'a/b', '.hidden', '', 'a b', 'x'.repeat(65)])(
  'a file with a name such as %j is no schedule, and is named as it is',
  (name) => {
    expect(problemsOf(fileOf(['every: 2h']), name)).toEqual([
      expect.stringContaining('its file is called'),
    ]);
  },
);

it('one that is due each second goes on after its quiet hours', () => {
  const when = { kind: 'cron' as const, expression: '* * * * * *' };
  const quiet = { from: 23 * 60, until: 7 * 60 };
  const occurrences = new Occurrences({ when, quiet }, 'UTC');
  const last = Date.parse('2026-06-09T22:59:59Z');
  expect(occurrences.after(last)).toBe(Date.parse('2026-06-10T07:00:00Z'));
});

it('quiet hours end by the clock on the wall, on days when it is changed as well', () => {
  const when = { kind: 'every' as const, ms: 60_000 };
  const quiet = { from: 22 * 60, until: 6 * 60 };
  const occurrences = new Occurrences({ when, quiet }, 'Europe/Berlin');
  const endAfter = (time: string): string =>
    new Date(occurrences.after(Date.parse(time)) ?? 0).toISOString();
  // 2026-03-29 02:00 becomes 03:00, 2026-10-25 03:00 becomes 02:00.
  expect(endAfter('2026-03-28T21:30:00Z')).toBe('2026-03-29T04:00:00.000Z');
  expect(endAfter('2026-10-24T20:30:00Z')).toBe('2026-10-25T05:00:00.000Z');
});

it('a schedule whose quiet hours drop everything is never due, and is found so in a moment', () => {
  const when = { kind: 'cron' as const, expression: '30 23 * * *' };
  const occurrences = new Occurrences({ when, quiet: { from: 1380, until: 1439 } }, 'UTC');
  expect(occurrences.after(Date.parse('2026-06-09T00:00:00Z'))).toBeUndefined();
});

it.each([
  ['0 3 * * *', '23:00-07:00', true],
  ['0 3,23 29 2 *', '23:00-07:00', true],
  ['0 7 * * *', '23:00-07:00', false],
  ['59 22 * * *', '23:00-07:00', false],
  ['0 3,12 * * 1', '23:00-07:00', false],
  ['*/5 * * * *', '00:00-23:59', true],
  ['59 23 * * *', '00:00-23:59', false],
  ['59 59 6 * * *', '23:00-07:00', true],
  ['0 0 * * *', '12:00-24:00', false],
  ['59 23 * * *', '12:00-24:00', true],
])('cron %j within the quiet hours %s is refused as never sent: %j', (cron, quiet, isRefused) => {
  const text = `---\nhost: front\nto: worker\ncron: "${cron}"\nquiet: ${quiet}\n---\nhello\n`;
  const result = parseSchedule(text, 'standup');
  expect(result.ok).toBe(!isRefused);
  if (!result.ok) expect(result.problems.join()).toContain('it would never be sent');
});

it('a day that no month has is called so, also where each of several months lacks it', () => {
  const text = (cron: string): string => `---\nhost: front\nto: worker\ncron: "${cron}"\n---\nx\n`;
  for (const cron of ['0 0 30 2 *', '0 0 31 2,4,6,9,11 *']) {
    const result = parseSchedule(text(cron), 'standup');
    expect(result.ok ? [] : result.problems.join()).toContain('no day is like that');
  }
});

it.each([
  ['0 9 1 * 1', ['06-01', '06-08', '06-15', '06-22', '06-29', '07-01']],
  ['0 9 */2 * 1', ['06-01', '06-03', '06-05', '06-07', '06-08', '06-09']],
])('of a day of the month and one of the week one is enough: %s', (expression, days) => {
  const moments = new Moments(expression, 'UTC');
  const found: string[] = [];
  for (let at = Date.parse('2026-05-31T12:00Z'); found.length < days.length;) {
    at = moments.after(at) ?? Infinity;
    found.push(new Date(at).toISOString().slice(5, 10));
  }
  expect(found).toEqual(days);
});
