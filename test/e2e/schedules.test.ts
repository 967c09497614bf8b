import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Bus, type Event, type Host } from '../support/bus.ts';
import { billed, pass, runAt } from '../support/passes.ts';
import { fill, forget } from '../support/rows.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** A file of `local/schedules/` for the host `front`. */
function schedule(header: Record<string, string>, body = 'what is new?'): string {
  const fields = { host: 'front', to: 'worker', ...header };
  const lines = Object.entries(fields).map(([key, value]) => `${key}: ${value}`);
  return `---\n${lines.join('\n')}\n---\n${body}\n`;
}

async function world(header: Record<string, string>): Promise<{ bus: Bus; host: Host }> {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo done' });
  host.edit({ 'local/schedules/standup.md': schedule(header) });
  return { bus, host };
}

const dueOf = (log: Event[]): unknown[] =>
  log.filter(({ event }) => event === 'schedule_due').map(({ due, outcome }) => [due, outcome]);

const sentBy = (bus: Bus): unknown[] =>
  bus
    .from('schedule')
    .map(({ message }) => [message.extra['schedule'], message.extra['due'], message.host]);

/** The whole multiple of a time that comes next, by the real clock; the file is committed before. */
function nextMultiple(ms: number): number {
  return (Math.floor(Date.now() / ms) + 1) * ms;
}

/** How far a clock has to be ahead to show a time. */
const offTo = (time: number): number => time - Date.now() + 1000;

it(
  'nothing is due before its file is there, and an occurrence is sent once, however often it is looked at',
  { tags: 'long' },
  async () => {
    const { bus, host } = await world({ every: '1h' });
    expect(dueOf(await pass(host))).toEqual([]);
    const due = nextMultiple(HOUR_MS);
    const iso = new Date(due).toISOString();
    expect(dueOf(await pass(host, offTo(due)))).toEqual([[iso, 'sent']]);
    expect(dueOf(await pass(host, offTo(due)))).toEqual([]);
    expect(sentBy(bus)).toEqual([['standup', iso, 'front']]);
    await pass(host, offTo(due) + 5000);
    const [answer] = bus.from('worker');
    expect(answer?.message.body).toBe('done\n');
    // A machine that has lost what it remembers finds it on the bus.
    rmSync(join(host.state, 'state.key'));
    forget(host.state, 'schedules');
    await pass(host, offTo(due) + 5000);
    expect(bus.from('schedule')).toHaveLength(1);
  },
);

it('an occurrence is sent once also when the state is put back from before the first one', async () => {
  const { bus, host } = await world({ every: '1h' });
  await pass(host);
  const copy = join(bus.root, 'copy');
  cpSync(host.state, copy, { recursive: true });
  const off = offTo(nextMultiple(HOUR_MS));
  for (const later of [0, 1000]) await pass(host, off + later);
  expect(bus.from('worker')).toHaveLength(1);
  rmSync(host.state, { recursive: true });
  cpSync(copy, host.state, { recursive: true });
  for (const later of [2000, 3000]) await pass(host, off + later);
  expect([bus.from('schedule').length, bus.from('worker').length]).toEqual([1, 1]);
});

it('of many that were missed the last one is sent, within its grace, and none where the file says so', async () => {
  const { bus, host } = await world({ every: '10m', grace: '30m' });
  host.edit({
    'local/schedules/strict.md': schedule({ every: '10m', catch_up: 'none', from: 'strict' }),
  });
  await pass(host);
  const late = nextMultiple(24 * HOUR_MS) + 24 * HOUR_MS + 5 * MINUTE_MS;
  const log = dueOf(await pass(host, offTo(late)));
  const last = new Date(late - 5 * MINUTE_MS).toISOString();
  expect(log).toEqual([
    [last, 'sent'],
    [last, 'missed'],
  ]);
  expect(sentBy(bus)).toEqual([['standup', last, 'front']]);
  expect(bus.from('strict')).toEqual([]);
});

it(
  'what came too late for its grace is not sent, and a clock that was set back buys nothing twice',
  { tags: 'long' },
  async () => {
    const { bus, host } = await world({ cron: '0 12 * * *', timezone: 'UTC' });
    await pass(host);
    const noon = nextMultiple(24 * HOUR_MS) + 12 * HOUR_MS;
    expect(dueOf(await pass(host, offTo(noon + 2 * HOUR_MS)))).toEqual([
      [new Date(noon).toISOString(), 'missed'],
    ]);
    const next = noon + 24 * HOUR_MS;
    expect(dueOf(await pass(host, offTo(next)))).toEqual([[new Date(next).toISOString(), 'sent']]);
    // Back to yesterday, and over the same noon once more.
    await pass(host, offTo(next - HOUR_MS));
    await pass(host, offTo(next));
    expect(sentBy(bus)).toEqual([['standup', new Date(next).toISOString(), 'front']]);
  },
);

it('while the last one has no answer the next is left out, unless they may overlap', async () => {
  const { bus, host } = await world({ every: '1h', to: 'elsewhere' });
  host.edit({
    'local/schedules/eager.md': schedule({
      every: '1h',
      to: 'elsewhere',
      overlap: 'true',
      from: 'eager',
    }),
  });
  await pass(host);
  const first = nextMultiple(HOUR_MS);
  await pass(host, offTo(first));
  const second = dueOf(await pass(host, offTo(first + HOUR_MS)));
  const at = new Date(first + HOUR_MS).toISOString();
  expect(second.sort()).toEqual([
    [at, 'sent'],
    [at, 'unanswered'],
  ]);
  expect(bus.from('schedule')).toHaveLength(1);
  expect(bus.from('eager')).toHaveLength(2);
});

it('a broken file is reported with its values, and the last good one stays in force', async () => {
  const { bus, host } = await world({ every: '1h' });
  await pass(host);
  host.edit({ 'local/schedules/standup.md': schedule({ every: 'often', quiet: 'at night' }) });
  const log = await pass(host);
  const [invalid] = log.filter(({ event }) => event === 'schedule_invalid');
  expect(invalid?.['reason']).toBe(
    'line 5: quiet is "at night", expected a span of the day such as 23:00-07:00; line 4: every is "often", expected a duration such as 15m, 2h or 1d, from 1m to 366d',
  );
  const due = nextMultiple(HOUR_MS);
  await pass(host, offTo(due));
  expect(sentBy(bus)).toEqual([['standup', new Date(due).toISOString(), 'front']]);
});

it(
  'another host, a pause of the file and a removed file send nothing',
  { tags: 'long' },
  async () => {
    const { bus, host } = await world({ every: '1h', enabled: 'false' });
    host.edit({
      'local/schedules/other.md': schedule({ every: '1h', host: 'back' }),
      'local/schedules/gone.md': schedule({ every: '1h' }),
    });
    await pass(host);
    host.remove('local/schedules/gone.md');
    const due = nextMultiple(HOUR_MS);
    expect(dueOf(await pass(host, offTo(due)))).toEqual([]);
    expect(bus.from('schedule')).toEqual([]);
  },
);

it('is made, shown, paused, run at once and removed by commands, and explained', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo done' });
  const out = async (...argv: string[]): Promise<string> => {
    const ran = await host.run('schedule', ...argv);
    expect(ran.code, ran.err).toBe(0);
    return ran.out;
  };
  const add = ['add', 'standup', '--to', 'worker'];
  expect(await out(...add, '--cron', '0 9 * * *', '--timezone', 'UTC', 'what is new?')).toMatch(
    /^Scheduled: standup \(local\/schedules\/standup\.md\)\n( {2}due \d{4}-\d\d-\d\d \d\d:\d\d:00\n){3}$/,
  );
  expect(JSON.parse(await out('list', '--json'))).toMatchObject([
    {
      name: 'standup',
      host: 'front',
      to: 'worker',
      when: 'cron 0 9 * * *',
      enabled: true,
      last: null,
    },
  ]);
  await out('pause', 'standup');
  expect(JSON.parse(await out('show', 'standup', '--json'))).toMatchObject({
    enabled: false,
    upcoming: [],
  });
  await out('pause', 'standup', '--off');
  const sent = JSON.parse(await out('run', 'standup', '--json')) as { relPath: string };
  await pass(host);
  expect(bus.from('worker')[0]?.message.re).toEqual([sent.relPath]);
  const explained = await host.run('explain', sent.relPath, 'worker');
  expect(explained.out).toMatch(/\n {2}fired by schedule standup, due \d{4}-/);
  await out('remove', 'standup');
  const gone = await host.run('schedule', 'show', 'standup');
  expect(gone.code).not.toBe(0);
  expect(gone.err).toBe(
    'crosstalk schedule show: no schedule "standup"; make one with: crosstalk schedule add "standup"\n',
  );
  const twice = await host.run('schedule', ...add, '--cron', '0 9 * * *', '--every', '1h', 'hello');
  expect(twice.err).toMatch(/cron and every are both given, expected one of cron, every and at/);
});

it(
  'what it has used is counted for the schedule, with the runs that its task has led to',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: billed(), other: billed() });
    await host.send('other', 'by hand');
    host.edit({ 'local/schedules/standup.md': schedule({ every: '1h' }) });
    await pass(host);
    const off = offTo(nextMultiple(HOUR_MS));
    await pass(host, off);
    await pass(host, off);
    const costs = await runAt(host, off, 'cost', '--by', 'schedule', '--json');
    expect(JSON.parse(costs.out)).toMatchObject({
      by: 'schedule',
      rows: [
        { what: '(no schedule)', runs: 1, usd: 0.25 },
        { what: 'standup', runs: 1, usd: 0.25 },
      ],
    });
    const [sent] = bus.from('schedule');
    const listed = await runAt(host, off, 'schedule', 'list', '--json');
    expect(JSON.parse(listed.out)).toMatchObject([
      { name: 'standup', outcome: 'sent', runs: 1, cost_usd: 0.25 },
    ]);
    const table = await runAt(host, off, 'schedule', 'list');
    expect(table.out).toMatch(/standup .*every 1h .* sent +\$0\.2500\n$/);
    const thread = await host.run('thread', sent?.relPath ?? '');
    expect(thread.out).toMatch(/fired by schedule standup, due \d{4}-\d\d-\d\d \d\d:00 UTC/);
  },
);

it(
  'what is due is tried again while the disk takes nothing, and sent once it does',
  { tags: 'long' },
  async () => {
    const { bus, host } = await world({ every: '1h' });
    await pass(host);
    const accept = fill(host.state, 'outbox');
    const off = offTo(nextMultiple(HOUR_MS));
    const failed = await pass(host, off);
    expect(failed.find(({ event }) => event === 'schedule_failed')?.['reason']).toMatch(
      /^it could not be sent: ENOSPC: .*state\.db/,
    );
    expect(bus.from('schedule')).toEqual([]);
    accept();
    expect(dueOf(await pass(host, off))).toMatchObject([[expect.any(String), 'sent']]);
    expect(bus.from('schedule')).toHaveLength(1);
  },
);

it('impatient words are refused with what to write instead', { tags: 'long' }, async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo done' });
  const said = async (...argv: string[]): Promise<string> => {
    const ran = await host.run('schedule', ...argv);
    expect(ran.code).toBe(2);
    return ran.err;
  };
  const add = ['add', 'x', '--to', 'worker'];
  expect(await said('add', 'x', 'hello', '--every', '1h')).toContain('--to is missing');
  expect(await said(...add, 'hello')).toContain('cron, every or at is missing');
  expect(await said(...add, 'hello', '--at', '2020-01-01T00:00:00Z')).toContain(
    'it would never be due: that time is over',
  );
  expect(await said(...add, 'hello', '--at', 'tomorrow')).toContain(
    'this is no schedule: at is "tomorrow", expected',
  );
  expect(await said('add', '../x', '--to', 'worker', '--every', '1h', 'hello')).toContain(
    'is no name for a schedule',
  );
  expect(await said(...add, '--every', '1s', 'hello')).toContain('every is "1s", expected');
  const ran = await host.run('schedule', ...add, '--every', '1h', 'hello');
  expect(ran.code, ran.err).toBe(0);
  expect(await said(...add, '--every', '1h', 'hello')).toContain('there is a schedule x already');
});

it('answers to a schedule reach whoever added it or is named, and its questions are unread for nobody', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo done' });
  const add = async (name: string, ...argv: string[]): Promise<string> => {
    const when = ['--every', '1h', '--overlap', 'what is new?'];
    const ran = await host.runWith({ login: 'anna' }, 'schedule', 'add', name, ...argv, ...when);
    expect(ran.code, ran.err).toBe(0);
    return ran.err;
  };
  expect(await add('own', '--to', 'worker')).toBe('');
  expect(await add('named', '--to', 'worker', '--from', 'bob')).toBe('');
  expect(await add('office', '--to', 'all,anna')).toBe(
    'crosstalk schedule add: no host serves anna; the message waits until one does\n',
  );
  const unread = async (name: string): Promise<string[]> => {
    const ran = await host.run('inbox', '--json', '--from', name);
    const rows = ran.out.split('\n').filter((line) => line !== '');
    return rows
      .map((line) => JSON.parse(line) as { body: string; unread: boolean })
      .flatMap((row) => (row.unread ? [row.body] : []));
  };
  const due = nextMultiple(HOUR_MS);
  await pass(host);
  await pass(host, offTo(due));
  await pass(host, offTo(due) + 5000);
  expect(await unread('anna')).toEqual(['done\n']);
  // What is sent in their name next does not count as if they had read that.
  await pass(host, offTo(due + HOUR_MS));
  expect(await unread('anna')).toEqual(['done\n']);
  expect(await unread('bob')).toEqual(['done\n']);
  expect(await unread('somebody')).toEqual([]);
  const asked = await host.run('inbox', '--questions', '--from', 'anna');
  expect(asked.out).toMatch(/ schedule +#general .* asks you\n +what is new\?/);
});
