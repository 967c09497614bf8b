import { afterEach, expect, it } from 'vitest';
import { machineZone } from '../../src/actions/clock.ts';
import { Bus } from '../support/bus.ts';
import { pass } from '../support/passes.ts';
import { until } from '../support/wait.ts';

const DAY_MS = 86_400_000;
const before = process.env['TZ'];

function setZone(zone: string | undefined): void {
  if (zone === undefined) delete process.env['TZ'];
  else process.env['TZ'] = zone;
}

afterEach(() => {
  setZone(before);
});

const schedule = (header: string): string =>
  `---\nhost: front\nto: worker\ncron: "0 12 * * *"\n${header}---\nwhat is new?\n`;

/** How far a clock has to be ahead to show tomorrow's noon in UTC. */
const offToNoon = (): number =>
  (Math.floor(Date.now() / DAY_MS) + 1) * DAY_MS + DAY_MS / 2 - Date.now() + 1000;

it.each([
  ['', 'UTC'],
  ['UTC0', 'UTC'],
  ['Europe/Berlin', 'Europe/Berlin'],
  [':Europe/Berlin', 'Europe/Berlin'],
  ['EST5', 'Etc/GMT+5'],
  ['<+03>-3', 'Etc/GMT-3'],
  ['<-0330>3:30', undefined],
  ['CET-1CEST,M3.5.0,M10.5.0/3', undefined],
  ['Mars/Olympus', undefined],
  ['/nowhere/zoneinfo/Europe/Berlin', undefined],
])('the zone of a machine with TZ=%s is %s', (tz, zone) => {
  expect(machineZone(tz)).toBe(zone);
});

it('a machine whose TZ is empty goes by UTC, as its other programs do', async () => {
  setZone('');
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo done' });
  host.edit({ 'local/schedules/standup.md': schedule('') });
  await pass(host);
  await pass(host, offToNoon());
  expect(bus.from('schedule')).toHaveLength(1);
});

it('a machine whose zone has no name sends what needs none, and says what needs one', async () => {
  setZone('CET-1CEST,M3.5.0,M10.5.0/3');
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo done' });
  host.edit({
    'local/schedules/standup.md': schedule(''),
    'local/schedules/report.md': schedule('timezone: UTC\nfrom: report\n'),
  });
  await pass(host);
  await pass(host, offToNoon());
  expect([bus.from('schedule').length, bus.from('report').length]).toEqual([0, 1]);

  const said = /standup.*TZ=CET-1CEST,M3\.5\.0,M10\.5\.0\/3 is no name such as Europe\/Berlin/;
  host.start();
  const status = await until('the verdict', async () => {
    const { out } = await host.run('status');
    return said.test(out) && out;
  });
  expect(status).not.toMatch(/^healthy/);
  const listed = JSON.parse((await host.run('schedule', 'list', '--json')).out) as {
    name: string;
    problems: string[];
  }[];
  expect(listed.map(({ name, problems }) => [name, problems.length])).toEqual([
    ['report', 0],
    ['standup', 1],
  ]);
  const added = await host.run(
    'schedule',
    'add',
    'more',
    '--cron',
    '0 9 * * *',
    '--to',
    'worker',
    'hi',
  );
  expect([added.code, added.err]).toEqual([2, expect.stringContaining('give --timezone')]);
});
