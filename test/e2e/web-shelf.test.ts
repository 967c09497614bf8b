import { expect, it } from 'vitest';
import type {
  WebBrokenFiles,
  WebNoteLog,
  WebNotes,
  WebNoteWhole,
  WebSkills,
  WebSkillWhole,
} from '../../src/api/api.ts';
import { memoryFileAt } from '../../src/protocol/files/memory.ts';
import { Bus } from '../support/bus.ts';
import { until } from '../support/wait.ts';
import { Web } from '../support/web.ts';

it('the page is told of skills, with who takes them, what stands beside them, and what is wrong', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'true', other: 'true' });
  const skill = (name: string): string => `---\nname: ${name}\ndescription: our own\n---\nLook.\n`;
  host.edit({
    'local/skills/review/SKILL.md': skill('review'),
    'local/skills/review/list.md': 'x',
    'local/skills/review/.envrc': 'x',
    'local/skills/odd/SKILL.md': 'no header',
    'local/actors/other.md': '---\nname: other\ndescription: x\nskills: [standup]\n---\nYou.\n',
    'local/schedules/broken.md': '---\nhost: elsewhere\nto: worker\nevery: often\n---\nx\n',
    'local/subscriptions/broken.md': '---\nsource: odd\nto: worker\n---\nx\n',
  });
  await host.news();
  const web = await Web.start(host);
  const { skills, more } = await web.get<WebSkills>('/api/skills');
  expect(more).toBe(false);
  expect(skills.map(({ name }) => name)).toContain('consolidate');
  const named = (name: string) => skills.find((one) => one.name === name);
  expect(named('review')).toEqual({
    name: 'review',
    description: 'our own',
    path: 'local/skills/review/SKILL.md',
    replaces_upstream: true,
    problem: null,
    taken_by: expect.not.arrayContaining(['other']) as string[],
    taken_by_more: 0,
  });
  expect(named('review')?.taken_by).toContain('worker');
  expect(named('standup')).toMatchObject({ taken_by: null, replaces_upstream: false });
  expect(named('odd')).toMatchObject({
    description: '',
    problem: expect.stringMatching(/---/) as string,
  });
  expect(await web.get<WebSkillWhole>('/api/skills/review')).toMatchObject({
    body: 'Look.\n',
    files: ['list.md'],
    left: [expect.stringMatching(/^"\.envrc", because an agent CLI/)],
  });
  expect(await web.get<WebSkillWhole>('/api/skills/odd')).toMatchObject({ body: '', files: [] });
  expect((await web.raw('GET', '/api/skills/none', web.bearer())).status).toBe(404);
  expect((await web.raw('GET', '/api/skills/%2e%2e%2factors', web.bearer())).status).toBe(404);
  const { files, total } = await web.get<WebBrokenFiles>('/api/broken-files');
  expect(total).toBe(3);
  expect(files.map(({ kind, path }) => [kind, path])).toEqual([
    ['schedule', 'local/schedules/broken.md'],
    ['subscription', 'local/subscriptions/broken.md'],
    ['skill', 'local/skills/odd/SKILL.md'],
  ]);
});

it(
  'notes are shown by pages, by their words, kind, scope and state, however many there are',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', {});
    const note = (n: number): [string, string] => {
      const at = new Date(Date.UTC(2026, 0, 1) + n * 60_000);
      const name = memoryFileAt(at, n.toString(16).padStart(12, '0'));
      const kind = n % 100 === 7 ? 'kind: decision\n' : '';
      const scope = n % 1000 === 5 ? 'actor:ben' : 'global';
      return [
        `data/memories/${name}`,
        `---\nfrom: anna\ntimestamp: ${at.toISOString()}\nsubject: note ${String(n)}\nscope: ${scope}\n${kind}---\nword${String(n % 1000)}\n`,
      ];
    };
    host.edit(Object.fromEntries(Array.from({ length: 2000 }, (_, n) => note(n))));
    await host.news();
    const web = await Web.start(host);
    const all = await web.get<WebNotes>('/api/memories');
    expect(all).toMatchObject({ total: 2000, counts: { in_force: 2000 } });
    expect(all.memories).toHaveLength(50);
    expect(all.memories[0]?.subject).toBe('note 1999');
    const page = await web.get<WebNotes>('/api/memories?skip=1990&limit=50');
    expect(page.memories.map(({ subject }) => subject)).toEqual(
      Array.from({ length: 10 }, (_, n) => `note ${String(9 - n)}`),
    );
    expect(all.scopes).toEqual([
      { scope: 'global', channel: null, notes: 1998 },
      { scope: 'actor:ben', channel: null, notes: 2 },
    ]);
    expect(await web.get('/api/memories?scope=actor:ben&limit=1')).toMatchObject({ total: 2 });
    expect(await web.get('/api/memories?kind=decision&limit=1')).toMatchObject({ total: 20 });
    const found = await web.get<WebNotes>('/api/memories?q=word123');
    expect(found.total).toBe(2);
    expect(found.memories[0]).toMatchObject({ subject: 'note 1123', excerpt: 'word123' });
    expect((await web.raw('GET', '/api/memories?kind=moon', web.bearer())).status).toBe(400);
    expect((await web.raw('GET', '/api/memories?limit=201', web.bearer())).status).toBe(400);

    // What is written meanwhile is there at once, also before it is pushed.
    const added = await host.run('memory', 'add', '--subject', 'the newest', 'x', '--from', 'ben');
    const file = /Remembered: (\S+)/.exec(added.out)?.[1] ?? '';
    expect((await web.get<WebNotes>('/api/memories')).memories[0]).toMatchObject({ file });
    await host.run('memory', 'forget', file, 'it is old', '--from', 'carla');
    expect(await web.get('/api/memories?state=forgotten')).toMatchObject({
      total: 1,
      memories: [{ file, state: 'forgotten' }],
      counts: { in_force: 2000, replaced: 0, forgotten: 1 },
    });
    expect(await web.get<WebNoteWhole>(`/api/memories/${file}`)).toMatchObject({
      body: expect.stringMatching(/^x/) as string,
      log: [
        { what: 'forgot', by: 'carla', state: 'forgets' },
        { what: 'added', by: 'ben', state: 'forgotten' },
      ],
      log_more: 0,
    });
    const log = await web.get<WebNoteLog>('/api/memory-log?limit=2');
    expect(log.more).toBe(2000);
    expect(log.changes.map(({ what, by }) => [what, by])).toEqual([
      ['forgot', 'carla'],
      ['added', 'ben'],
    ]);
  },
);

it('metrics count what subscriptions give, what is asked of skills, and what becomes of events', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'true' });
  const web = await Web.start(host);
  host.edit({
    'local/subscriptions/red.md': '---\nsource: event:build\nto: worker\n---\n/review it\n',
    'local/subscriptions/quiet.md': '---\nsource: event:other\nto: worker\n---\nx\n',
    [`data/channels/${host.channel()}/2026/01/01/000000000Z-000000000001.md`]:
      '---\nfrom: subscription\nto: worker\ntype: text\ntimestamp: 2026-01-01T00:00:00.000Z\nsubscription: forged-7\n---\n/tmp is full\n',
  });
  await host.news();
  const told = (headers: Record<string, string>, source = 'build') =>
    web.raw('POST', `/api/events/${source}`, headers, 'it failed');
  expect((await told(web.bearer())).status).toBe(202);
  expect((await told({})).status).toBe(401);
  expect((await told(web.bearer(), 'unknown')).status).toBe(202);
  await until('the task', async () => {
    const { text: metrics } = await web.raw('GET', '/metrics', web.bearer());
    return metrics.includes('crosstalk_subscription_tasks_recent{subscription="red"} 1');
  });
  const { text: metrics } = await web.raw('GET', '/metrics', web.bearer());
  const figures = metrics
    .split('\n')
    .filter((one) => /^crosstalk_(sub|skill|events_r|brok)/.test(one));
  expect(figures.filter((one) => !one.includes('_seconds')).sort()).toEqual([
    'crosstalk_broken_files{kind="schedule"} 0',
    'crosstalk_broken_files{kind="skill"} 0',
    'crosstalk_broken_files{kind="subscription"} 0',
    'crosstalk_events_received{outcome="queued",reason=""} 1',
    'crosstalk_events_received{outcome="refused",reason="unauthorized"} 1',
    'crosstalk_events_received{outcome="unheard",reason=""} 1',
    'crosstalk_skill_asks_recent{skill="(other)"} 1',
    'crosstalk_skill_asks_recent{skill="review"} 1',
    'crosstalk_subscription_tasks_recent{subscription="(other)"} 1',
    'crosstalk_subscription_tasks_recent{subscription="quiet"} 0',
    'crosstalk_subscription_tasks_recent{subscription="red"} 1',
  ]);
  expect(figures.filter((one) => one.includes('_last_seconds{subscription="red"}'))).toHaveLength(
    1,
  );
  expect(metrics).not.toContain('forged-7');
});
