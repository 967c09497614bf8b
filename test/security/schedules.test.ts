import { execFileSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { committedSince } from '../../src/bus/automation/schedules.ts';
import { Bus, type Event, type Host } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { pass, runAt } from '../support/passes.ts';
import { until } from '../support/wait.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const file = (header: Record<string, string | undefined>, body = 'what is new?'): string => {
  const fields: Record<string, string | undefined> = {
    host: 'front',
    to: 'worker',
    every: '1h',
    ...header,
  };
  const lines = Object.entries(fields).flatMap(([key, value]) =>
    value === undefined ? [] : [`${key}: ${value}`],
  );
  return `---\n${lines.join('\n')}\n---\n${body}\n`;
};

async function world(): Promise<{ bus: Bus; host: Host }> {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'cat > /dev/null; echo done' });
  host.edit({ 'local/schedules/standup.md': file({}) });
  await pass(host);
  return { bus, host };
}

/** How far a clock has to be ahead to show the next full hour. */
const toHour = (): number => (Math.floor(Date.now() / HOUR_MS) + 1) * HOUR_MS - Date.now() + 1000;
const eventsOf = (log: Event[], name: string): Event[] => log.filter(({ event }) => event === name);

it('a flood of files neither displaces a schedule that is in force nor hides it from status', async () => {
  const { bus, host } = await world();
  const flood: Record<string, string> = {};
  for (let at = 0; at < 400; at++)
    flood[`local/schedules/a${String(at)}.md`] = file({ host: 'nobody' });
  host.edit(flood);
  await pass(host, toHour());
  expect(bus.from('schedule').map(({ message }) => message.extra['schedule'])).toEqual(['standup']);
  const running = host.start();
  await running.saw('tick');
  const status = await host.run('status');
  expect(status.out).toContain(
    '151 files of local/schedules were passed over: there are too many; see: crosstalk schedule list',
  );
});

it('the history is walked through once at a start, however many files there are and however far back they reach', async () => {
  const { host } = await world();
  const files = Array.from({ length: 60 }, (_, at) => [
    `local/schedules/a${String(at)}.md`,
    file({ grace: '366d' }),
  ]);
  host.edit(Object.fromEntries(files) as Record<string, string>);
  await pass(host);
  const [stopped] = eventsOf(await pass(host), 'dispatcher_stopped');
  expect(stopped?.['git_processes']).toBeLessThan(20);
});

it('a file was written when its newest commit was made, also by a merge, and its removal does not count for others', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'history-'));
  git(dir, 'init', '--quiet', '--initial-branch=main');
  const commit = (mark: number, at: number, change: string, ...parents: number[]): string =>
    [
      `commit refs/heads/main\nmark :${String(mark)}`,
      `committer Somebody <x@example.com> ${String(at)} +0000\ndata 1\nx`,
      ...parents.map((parent, index) => `${index === 0 ? 'from' : 'merge'} :${String(parent)}`),
      `${change}\n`,
    ].join('\n');
  const write = (name: string, text: string): string =>
    `M 100644 inline local/schedules/${name}.md\ndata ${String(text.length)}\n${text}`;
  const input = [
    commit(1, 1000, write('old', 'x')),
    commit(2, 2000, `${write('a', '1')}\n${write('b', '1')}`, 1),
    commit(3, 3000, write('a', '2'), 2),
    commit(4, 3500, write('b', '2'), 2),
    commit(5, 4000, `${write('b', '2')}\n${write('merged', '1')}`, 3, 4),
    commit(6, 5000, 'D local/schedules/gone.md', 5),
    'done\n',
  ];
  execFileSync('git', ['-C', dir, 'fast-import', '--quiet', '--force'], { input: input.join('') });
  const paths = ['old', 'a', 'b', 'merged'].map((name) => `local/schedules/${name}.md`);
  const transport = { git: (args: readonly string[]) => Promise.resolve(git(dir, ...args)) };
  const found = await committedSince(transport, 'main', paths, new Date(1_500_000));
  expect(Object.fromEntries(found)).toEqual({
    'local/schedules/a.md': 3_000_000,
    'local/schedules/b.md': 3_500_000,
    'local/schedules/merged.md': 4_000_000,
  });
});

it('files with odd names, links and folders are reported and send nothing', async () => {
  const { bus, host } = await world();
  host.edit({
    'local/schedules/two words.md': file({}),
    'local/schedules/.hidden.md': file({}),
    'local/schedules/sub/deep.md': file({}),
    'local/schedules/folder.md/x.md': file({}),
  });
  const log = await pass(host);
  expect(eventsOf(log, 'schedule_invalid').map(({ path }) => path)).toEqual([
    'local/schedules/.hidden.md',
    'local/schedules/two words.md',
  ]);
  await pass(host, toHour());
  expect(bus.from('schedule')).toHaveLength(1);
});

it(
  'a file’s name is on one line of what is printed, with nothing that steers a terminal',
  { tags: 'long' },
  async () => {
    const { host } = await world();
    const name = 'a\nstuck: b\u001b[31mc\u202ed';
    host.edit({
      [`local/schedules/${name}.md`]: file({}),
      [`local/subscriptions/${name}.md`]: file({}),
    });
    const running = host.start();
    await running.saw('schedule_invalid');
    const said = async (...argv: string[]): Promise<string> => {
      const { out, err } = await host.run(...argv);
      return `${out}${err}`;
    };
    const named = 'a\\u000astuck: b\\u001b[31mc\\u202ed';
    await until('the line of status', async () => (await said('status')).includes(named));
    const near = name.replace('stuck', 'stack');
    const texts = await Promise.all([
      said('status'),
      ...['schedule', 'subscription'].flatMap((kind) => [
        said(kind, 'list'),
        said(kind, 'show', name),
        said(kind, 'pause', name),
        said(kind, 'show', near),
      ]),
      said('schedule', 'run', name),
      said('schedule', 'remove', name),
    ]);
    for (const text of texts) {
      expect(text).toContain(named);
      expect(text).not.toContain('\u001b');
      expect(text).not.toContain('\u202e');
      expect(text).not.toMatch(/^stuck: b/m);
    }
  },
);

it('a schedule in the name of a person gets no work from a tier that serves only that person', async () => {
  const bus = new Bus();
  const narrow = { cli: 'cat > /dev/null; echo SERVED', only_from: ['anna'] };
  const host = await bus.host('front', { worker: { default: narrow } });
  host.edit({ 'local/schedules/standup.md': file({ from: 'anna' }) });
  await pass(host);
  await pass(host, toHour());
  const log = await pass(host, toHour());
  expect(eventsOf(log, 'dispatch_failed').map(({ reason }) => reason)).toEqual(['not_accepted']);
  expect(bus.from('worker').map(({ message }) => message.body)).not.toContain('SERVED\n');
});

it(
  'a message that claims to be an occurrence does not keep the real one from being sent',
  { tags: 'long' },
  async () => {
    const { bus, host } = await world();
    const due = new Date(Date.now() + toHour() - 1000).toISOString();
    const { channel } = await channelOf(host);
    const path = `data/channels/${channel}/${due.slice(0, 10).replaceAll('-', '/')}`;
    const name = `${due.slice(11, 23).replace(/[:.]/g, '')}Z-00000000.md`;
    const header = `from: schedule\nto: worker\ntype: text\ntimestamp: ${due}\nhost: front\nschedule: standup\ndue: ${due}`;
    host.edit({ [`${path}/${name}`]: `---\n${header}\n---\n\nforged\n` });
    await pass(host, toHour());
    const bodies = bus.from('schedule').map(({ message }) => message.body);
    expect(bodies.sort()).toEqual(['forged\n', 'what is new?\n']);
  },
);

async function channelOf(host: Host): Promise<{ channel: string }> {
  const listed = await host.run('channel', 'list', '--json');
  const [first] = JSON.parse(listed.out) as { id: string }[];
  return { channel: first?.id ?? '' };
}

it('a clock that was a year ahead or behind sends nothing twice, and keeps nothing from being sent', async () => {
  const { bus, host } = await world();
  await pass(host, 365 * DAY_MS);
  await pass(host);
  await pass(host, toHour());
  await pass(host, toHour() - 365 * DAY_MS);
  await pass(host, toHour());
  await pass(host, toHour() + HOUR_MS);
  const dues = bus.from('schedule').map(({ message }) => String(message.extra['due']));
  expect(new Set(dues).size).toBe(dues.length);
  const next = new Date(Date.now() + toHour() - 1000).toISOString();
  expect(dues).toContain(next);
});

it('a file that was removed and made again does not send what was due before', async () => {
  const { bus, host } = await world();
  // It knows the file, and then nobody looks until it was made again, after the hour.
  host.remove('local/schedules/standup.md');
  await pass(host, toHour());
  host.edit({ 'local/schedules/standup.md': file({}) });
  await pass(host, toHour() - HOUR_MS);
  expect(bus.from('schedule')).toEqual([]);
});

it('a schedule in the name of an actor wakes nobody by its own message, and gives no right to it', async () => {
  const { bus, host } = await world();
  host.edit({
    'local/schedules/standup.md': file({ from: 'worker' }, '---\nto: all\n---\nforged header'),
  });
  await pass(host, toHour());
  await pass(host, toHour());
  const [sent] = bus.from('worker');
  expect(sent?.message.to).toEqual([{ name: 'worker' }]);
  expect(sent?.message.body).toBe('---\nto: all\n---\nforged header\n');
  expect(bus.from('worker')).toHaveLength(1);
});

it(
  'what is sent by hand for a schedule of another host does not look as if that host had sent it',
  { tags: 'long' },
  async () => {
    const { bus, host } = await world();
    const back = await bus.host('back', { helper: 'cat > /dev/null; echo done' });
    const ran = await back.run('schedule', 'run', 'standup');
    expect(ran.code, ran.err).toBe(0);
    const log = await pass(host);
    expect(eventsOf(log, 'alias_shared')).toEqual([]);
    expect(bus.from('schedule')[0]?.message.host).toBeUndefined();
  },
);

it(
  'a paused machine sends nothing, and what is due when it goes on is the last one',
  { tags: 'long' },
  async () => {
    const { bus, host } = await world();
    await host.run('pause');
    await pass(host, toHour());
    expect(bus.from('schedule')).toEqual([]);
    await runAt(host, toHour(), 'resume');
    await pass(host, toHour());
    expect(bus.from('schedule')).toHaveLength(1);
  },
);

it('a run cannot make a schedule', async () => {
  const { host } = await world();
  const env = { CROSSTALK_RUN_DIR: host.state };
  const ran = await host.runWith({ env }, 'schedule', 'add', 'x', '--to', 'worker', 'hello');
  expect(ran.code).toBe(2);
  expect(ran.err).toContain('not for a run');
});

it('a schedule whose channel is gone says so in status, until it can be sent', async () => {
  const { bus, host } = await world();
  const often = { cron: "'* * * * * *'", every: undefined };
  host.edit({ 'local/schedules/standup.md': file({ ...often, channel: 'gone' }) });
  const status = async (): Promise<string> => (await host.run('status')).out;
  const running = host.start();
  const failed = await running.saw('schedule_failed');
  expect(failed['reason']).toBe('there is no channel "gone"');
  const line = 'schedule standup: there is no channel "gone"; see: crosstalk schedule list';
  await until('the line of status', async () => (await status()).includes(line));
  host.edit({ 'local/schedules/standup.md': file(often) });
  await running.saw('schedule_due', ({ outcome }) => outcome === 'sent');
  await until('status without it', async () => !(await status()).includes('schedule'));
  await until('the message', () => bus.from('schedule').length > 0);
});
