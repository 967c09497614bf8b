import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type {
  WebChannels,
  WebCost,
  WebFlow,
  WebMessagePage,
  WebMessageWhole,
  WebNow,
  WebRetried,
  WebSchedules,
  WebSearch,
  WebSent,
  WebThread,
} from '../../src/api/api.ts';
import { Transcripts } from '../../src/state/transcripts/transcripts.ts';
import { agent } from '../support/agents.ts';
import { Bus, type Host } from '../support/bus.ts';
import { problemsOf, readOpenApi } from '../support/schema.ts';
import { SECRETS } from '../support/secrets.ts';
import { until } from '../support/wait.ts';
import { Web } from '../support/web.ts';

const file = (at: string, from: string, to: string, body: string, more = ''): string =>
  `---\nfrom: ${from}\nto: ${to}\ntype: text\ntimestamp: ${at}\n${more}---\n${body}\n`;

/** The `n`-th of many messages, one per second. */
function numbered(host: Host, n: number): [path: string, content: string] {
  const at = new Date(Date.UTC(2026, 0, 1) + n * 1000).toISOString();
  const clock = at.slice(11, 23).replace(/[:.]/g, '');
  const relPath = `2026/01/01/${clock}Z-${String(n).padStart(12, '0')}.md`;
  return [
    `data/channels/${host.channel()}/${relPath}`,
    file(at, 'anna', 'ben', `message number ${String(n)}`),
  ];
}

it('what is sent on the page is queued at once, and its events tell how two hosts answer it', async () => {
  const bus = new Bus();
  const front = await bus.host('front', { clerk: 'echo "from the clerk"' });
  const back = await bus.host('back', { worker: 'echo "the answer is **42**"' });
  front.start();
  back.start();
  const web = await Web.start(front);
  const events = await web.events();
  await until('both hosts', async () => (await web.get<WebNow>('/api/now')).hosts.length === 2);

  const sent = await web.post<WebSent>('/api/send', { to: 'worker', body: 'what is it?' });
  expect(sent).toMatchObject({ state: 'queued', from: 'operator', notes: [] });
  const [{ relPath } = { relPath: '' }] = sent.messages;
  const answered = await events.saw('facts', ({ facts }) =>
    facts.some((fact) => fact.relPath === relPath && fact.state === 'answered'),
  );
  expect(events.statesOf(relPath)).toEqual(['queued', 'sent', 'answered']);
  const fact = answered.data.facts.find(({ state }) => state === 'answered');
  expect(fact).toMatchObject({ actor: 'worker' });
  expect(events.bodies).toEqual(['what is it?', 'the answer is **42**\n']);
  await events.saw('tip', ({ tip }) => tip === events.of('messages').at(-1)?.data.tip);

  const whole = await web.get<WebMessageWhole>(`/api/message?ref=${relPath}`);
  expect(whole).toMatchObject({ body: 'what is it?', answered_by: [fact?.detail], queued: false });
  const thread = await web.get<WebThread>(`/api/thread?ref=${relPath}`);
  expect(thread.roots).toMatchObject([
    {
      relPath,
      states: [{ actor: 'worker', state: 'answered' }],
      children: [{ from: 'worker', excerpt: 'the answer is **42**' }],
    },
  ]);
  const found = await web.get<WebSearch>('/api/search?q=answ*');
  expect(found.hits.map(({ from }) => from)).toEqual(['worker']);
  const flow = await web.get<WebFlow>('/api/flow');
  expect(flow.lanes.map(({ name }) => name)).toEqual(['worker', 'operator']);
  expect(flow.runs).toMatchObject([
    { actor: 'worker', host: 'back', outcome: 'answered', messages: [relPath] },
  ]);
  expect(flow.answer_times.at(-1)).toMatchObject({ answers: 1 });
  const { channels } = await web.get<WebChannels>('/api/channels?for=operator');
  expect(channels).toMatchObject([{ name: 'general', messages: 2, unread: 1 }]);
  const now = await web.get<WebNow>('/api/now');
  expect(now.health).toEqual({ ok: true, problems: [] });
  expect(now.waiting.total).toBe(0);
  expect(now.hosts).toMatchObject([
    { alias: 'back', this_machine: false, heartbeat_age_s: null, actors: ['worker'] },
    { alias: 'front', this_machine: true, actors: ['clerk'] },
  ]);
  expect(now.hosts[0]?.last_wrote).not.toBeNull();
  expect(now.hosts[1]?.heartbeat_age_s).not.toBeNull();

  const reply = { to: 'worker', body: 'thank you', re: fact?.detail };
  const second = await web.post<WebSent>('/api/send', reply);
  expect(second.messages).toMatchObject([{ re: [fact?.detail] }]);

  // Every answer has the documented form.
  const api = readOpenApi();
  await front.send('clerk', 'and you?');
  await front.run('memory', 'add', '--name', 'tea', '--subject', 'Tea', 'At four.');
  await front.run('memory', 'add', '--name', 'tea', '--subject', 'Tea', 'At five.');
  const transcripts = new Transcripts(join(front.state, 'transcripts'));
  const run = await until('a transcript', async () => (await transcripts.ids())[0]);
  const asked: Record<string, string> = {
    '/api/channels/{channel}/messages': `/api/channels/${sent.channel}/messages`,
    '/api/message': `/api/message?ref=${relPath}`,
    '/api/thread': `/api/thread?ref=${relPath}`,
    '/api/search': '/api/search?q=answer&context=1',
    '/api/proposal': `/api/proposal?ref=${relPath}`,
    '/api/runs/{id}/output': `/api/runs/${run}/output`,
    '/api/skills/{name}': '/api/skills/review',
    '/api/memories/{memory}': '/api/memories/tea',
    '/api/memories': '/api/memories?q=five',
  };
  for (const [path, { get }] of Object.entries(api.paths)) {
    const schema = get?.responses['200']?.content?.['application/json']?.schema;
    // The branch of an answer needs a repository: test/e2e/branch-shown.test.ts.
    if (schema === undefined || path === '/api/branch') continue;
    expect(problemsOf(api, schema, await web.get(asked[path] ?? path), path)).toEqual([]);
  }
  expect(problemsOf(api, { $ref: '#/Sent' }, sent)).toEqual([]);
  for (const { name, data } of events.seen)
    expect(problemsOf(api, { $ref: `#/Event_${name}` }, data, name)).toEqual([]);
  expect(await web.raw('GET', '/metrics', web.bearer())).toMatchObject({
    status: 200,
    text: expect.stringMatching(/^crosstalk_healthy 1$/m) as string,
  });
});

it('without a dispatcher the server itself pushes what is sent', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { clerk: 'true' });
  const web = await Web.start(host);
  const events = await web.events();
  const sent = await web.post<WebSent>('/api/send', { to: 'clerk', body: 'alone', channel: '' });
  const relPath = sent.messages[0]?.relPath ?? '';
  await until('the push', () => events.statesOf(relPath).includes('sent'));
  expect(events.statesOf(relPath)).toEqual(['queued', 'sent']);
  expect(bus.messages()).toHaveLength(1);
  const now = await web.get<WebNow>('/api/now');
  expect(now.dispatcher).toBeNull();
  expect(now.waiting).toMatchObject({ total: 1, messages: [{ relPath, state: 'waiting' }] });
});

it(
  'a run of this machine, its failure, its dead letter and its retry are all events',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const [begun, go, mended] = ['begun', 'go', 'mended'].map((name) => join(bus.root, name));
    const cli = `touch ${begun!}; while test ! -e ${go!}; do sleep 0.05; done; test -e ${mended!} && echo mended`;
    const host = await bus.host('front', { clerk: { default: { cli, attempts: 1 } } });
    host.start();
    const web = await Web.start(host);
    const events = await web.events();
    const relPath = await host.send('clerk', 'try');
    await until('the run', () => existsSync(begun!));
    await events.saw('runs', ({ running }) => running.length === 1);
    const running = await web.get<WebNow>('/api/now');
    expect(running.actors.find(({ name }) => name === 'clerk')?.running).toMatchObject([
      { outcome: 'running', messages: [relPath], known_from: 'observed' },
    ]);

    writeFileSync(go!, '');
    const failed = await events.saw('dead_letters', ({ dead_letters: all }) => all.length === 1);
    await events.saw('runs', ({ ended }) => ended.some(({ outcome }) => outcome === 'failed'));
    expect(failed.data.dead_letters).toMatchObject([{ state: 'quarantined', messages: [relPath] }]);
    await events.saw('status', ({ health }) => health.problems.join().includes('quarantined'));
    await until('what became of it', () => events.statesOf(relPath).at(-1) === 'failed');
    const stuck = await web.get<WebNow>('/api/now');
    expect(stuck.waiting.messages).toMatchObject([{ relPath, actor: 'clerk', state: 'failed' }]);

    writeFileSync(mended!, '');
    const id = failed.data.dead_letters[0]?.id ?? '';
    const retried = await web.post<WebRetried>(`/api/dead-letters/${id}/retry`, {});
    expect(retried).toEqual({ released: [id], woken: true });
    await until('the answer', () => events.statesOf(relPath).includes('answered'));
    await events.saw('dead_letters', ({ dead_letters: all }) => all.length === 0);
    await until('the verdict', async () => (await web.get<WebNow>('/api/now')).health.ok);
  },
);

it(
  'a window on a channel costs and shows only what it is asked for, in both directions',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', {});
    const all = Array.from({ length: 120 }, (_, n) => numbered(host, n));
    host.edit(Object.fromEntries(all));
    await host.run('sync');
    const web = await Web.start(host);
    const [id, paths] = [host.channel(), all.map(([path]) => path.split('/').slice(3).join('/'))];
    const window = (query: string): Promise<WebMessagePage> =>
      web.get(`/api/channels/${id}/messages?limit=10${query}`);
    const shown = async (
      query: string,
    ): Promise<[number, number, string | null, string | null]> => {
      const { first, messages, before, after } = await window(query);
      const at = messages.map(({ relPath }) => paths.indexOf(relPath));
      expect(at).toEqual(at.map((_, index) => first + index));
      return [first, first + messages.length, before, after];
    };
    expect(await shown('')).toEqual([110, 120, paths[110], null]);
    expect(await shown(`&before=${paths[110]!}`)).toEqual([100, 110, paths[100], paths[109]]);
    expect(await shown(`&after=${paths[9]!}`)).toEqual([10, 20, paths[10], paths[19]]);
    expect(await shown(`&before=${paths[4]!}`)).toEqual([0, 4, null, paths[3]]);
    expect(await shown(`&after=${paths[115]!}`)).toEqual([116, 120, paths[116], null]);
    expect(await shown(`&around=${paths[60]!}`)).toEqual([55, 65, paths[55], paths[64]]);
    expect(await shown(`&around=${paths[118]!}`)).toEqual([110, 120, paths[110], null]);
    expect(await shown('&at=0')).toEqual([0, 10, null, paths[9]]);
    expect(await shown('&at=57')).toEqual([57, 67, paths[57], paths[66]]);
    expect((await window('&at=500')).messages).toEqual([]);
    expect((await window('')).total).toBe(120);
    const flow = await web.get<WebFlow>(
      '/api/flow?from=2026-01-01T00:00:10Z&to=2026-01-01T00:00:19Z',
    );
    expect(flow.messages.map(({ relPath }) => relPath)).toEqual(paths.slice(10, 20));
  },
);

it('what the API cannot do with a request it says in one line, with a status that fits', async () => {
  const bus = new Bus();
  const host = await bus.host('front', {});
  const web = await Web.start(host);
  const id = host.channel();
  const status = async (path: string): Promise<[number, string]> => {
    const { status: code, text } = await web.raw('GET', path, web.bearer());
    const { error } = JSON.parse(text) as { error: { code: string; message: string } };
    expect(error.message).not.toMatch(/\n|node:|\.ts:/);
    return [code, error.code];
  };
  expect(await status('/api/message')).toEqual([400, 'usage']);
  expect(await status('/api/message?ref=%00../../etc')).toEqual([400, 'usage']);
  expect(await status('/api/thread?ref=2026/01/01/000000000Z-00000000.md')).toEqual([
    404,
    'not_found',
  ]);
  expect(await status('/api/channels/nowhere/messages')).toEqual([404, 'not_found']);
  expect(await status(`/api/channels/${id}/messages?limit=1000`)).toEqual([400, 'usage']);
  expect(await status(`/api/channels/${id}/messages?limit=-1`)).toEqual([400, 'usage']);
  expect(await status(`/api/channels/${id}/messages?at=1&before=2`)).toEqual([400, 'usage']);
  expect(await status(`/api/channels/${id}/messages?before=x`)).toEqual([400, 'usage']);
  expect(await status('/api/flow?from=yesterday')).toEqual([400, 'usage']);
  expect(await status('/api/search?q=%3F')).toEqual([400, 'usage']);
  expect(await status('/api/nothing')).toEqual([404, 'not_found']);
  const bad = async (body: string): Promise<number> => {
    const headers = { ...web.bearer(), 'content-type': 'application/json' };
    return (await web.raw('POST', '/api/send', headers, body)).status;
  };
  expect(await bad('{')).toBe(400);
  expect(await bad('[]')).toBe(400);
  expect(await bad('{"to":"a","body":1}')).toBe(400);
  expect(await bad('{"to":"a","body":"x","host":"evil"}')).toBe(400);
  expect(await bad('{"to":"not a name","body":"x"}')).toBe(400);
  expect(await bad('{"to":"a","body":"x","re":"../../etc/passwd"}')).toBe(400);
  expect(await bad('{"to":"a","body":"x","options":["yes",1]}')).toBe(400);
  expect(await bad('{"to":"a","body":"x","options":["a\\nb"]}')).toBe(400);
  expect(await bad('{"to":"a","body":"x","options":{"0":"yes"}}')).toBe(400);
  const many = Array.from({ length: 10_000 }, String);
  expect(await bad(JSON.stringify({ to: 'a', body: 'x', options: many }))).toBe(400);
  expect(await bad('{"to":"a","body":"x","schema":{}}')).toBe(400);
  expect(await bad('{"to":"a","body":"x","schema":"[]"}')).toBe(400);
  expect(bus.messages()).toEqual([]);
  const retry = { ...web.bearer(), 'content-type': 'application/json' };
  expect((await web.raw('POST', '/api/dead-letters/none/retry', retry, '{}')).status).toBe(404);
});

it('the metrics tell what the runs of this machine have used', { tags: 'long' }, async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: agent('billed/claude', '-p', 'answer') });
  const web = await Web.start(host);
  const metrics = async (): Promise<string> =>
    (await web.raw('GET', '/metrics', web.bearer())).text;
  expect(await metrics()).not.toContain('crosstalk_billed_runs{');
  const question = await host.send('worker', 'one');
  host.start();
  await host.run('replies', '--wait', question);
  for (let look = 0; look < 2; look++) {
    const text = await metrics();
    expect(text).toContain('crosstalk_billed_runs{actor="worker",tier="default"} 1\n');
    expect(text).toContain('crosstalk_billed_usd{actor="worker",tier="default"} 0.25\n');
    expect(text).toContain(
      'crosstalk_billed_tokens{actor="worker",tier="default",kind="cached"} 3000\n',
    );
  }
});

it(
  'the metrics tell what waits for a person to decide, by what it is',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', {
      builder: { default: { cli: 'echo done', gate: 'anna', gate_plan: 'echo "my plan"' } },
    });
    const web = await Web.start(host);
    const waiting = async (): Promise<string[]> => {
      const { text } = await web.raw('GET', '/metrics', web.bearer());
      return text.split('\n').filter((line) => line.startsWith('crosstalk_decisions_waiting{'));
    };
    const counts = (plans: number, secrets: number): string[] => [
      `crosstalk_decisions_waiting{kind="plan"} ${String(plans)}`,
      'crosstalk_decisions_waiting{kind="permission"} 0',
      `crosstalk_decisions_waiting{kind="secret"} ${String(secrets)}`,
    ];
    expect(await waiting()).toEqual(counts(0, 0));
    await host.send('builder', 'move the tables', '--from', 'anna');
    await host.once();
    const secret = SECRETS['GitHub token']?.(42) ?? '';
    expect((await host.run('send', '--to', 'builder', secret)).code).toBe(1);
    expect(await waiting()).toEqual(counts(1, 1));
    const proposal = bus.from('builder')[0]?.relPath ?? '';
    expect((await host.run('approve', '--from', 'anna', proposal)).code).toBe(0);
    await host.once();
    expect(await waiting()).toEqual(counts(0, 1));
  },
);

it('the page is told of schedules, and metrics say when they are due', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'true' });
  const web = await Web.start(host);
  expect(await web.get<WebSchedules>('/api/schedules')).toEqual({ schedules: [] });
  const text = '---\nhost: front\nto: worker\nevery: 1h\n---\nwhat is new?\n';
  host.edit({
    'local/schedules/hourly.md': text,
    'local/schedules/broken.md': text.replace('1h', 'often'),
  });
  await host.news();
  const { schedules } = await web.get<WebSchedules>('/api/schedules');
  expect(schedules).toMatchObject([
    {
      name: 'broken',
      host: null,
      problems: [expect.stringMatching(/^line 4: every is "often"/)],
    },
    {
      name: 'hourly',
      host: 'front',
      to: 'worker',
      when: 'every 1h',
      outcome: null,
      problems: [],
    },
  ]);
  const next = Date.parse(schedules[1]?.next ?? '') / 1000;
  const { text: metrics } = await web.raw('GET', '/metrics', web.bearer());
  expect(metrics).toContain(`crosstalk_schedule_next_seconds{schedule="hourly"} ${String(next)}`);
  const api = readOpenApi();
  const schema =
    api.paths['/api/schedules']?.['get']?.responses['200']?.content?.['application/json'];
  expect(problemsOf(api, schema?.schema ?? {}, { schedules })).toEqual([]);
});

it('the page is told what runs have cost, by day and by thread', { tags: 'long' }, async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: agent('billed/claude', '-p', 'answer') });
  const question = await host.send('worker', 'one');
  host.start();
  await host.run('replies', '--wait', question);
  const web = await Web.start(host);
  const sums = { runs: 1, failed: 0, input: 30, cached: 3000, output: 12, usd: 0.25 };
  expect((await web.get<WebCost>('/api/cost?by=thread&since=today')).rows).toMatchObject([
    { what: question, channel: host.channel(), ...sums },
  ]);
  const today = new Date().toISOString().slice(0, 10);
  expect(await web.get<WebCost>('/api/cost?by=day')).toMatchObject({
    rows: [{ what: today, ...sums }],
    total: sums,
    unstated: 0,
  });
  for (const query of ['by=moon', 'since=once']) {
    const refused = await web.raw('GET', `/api/cost?${query}`, web.bearer());
    expect(refused.status, query).toBe(400);
  }
});
