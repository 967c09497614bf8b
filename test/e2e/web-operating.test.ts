import { beforeEach, expect, it } from 'vitest';
import type { WebChannelChanged, WebDropped, WebEdited, WebPaused } from '../../src/api/api.ts';
import { Bus, type Host } from '../support/bus.ts';
import { Web } from '../support/web.ts';

let bus: Bus;
let host: Host;
let web: Web;
beforeEach(async () => {
  bus = new Bus();
  host = await bus.host('front', {
    helper: 'echo done',
    broken: { default: { cli: 'exit 3', attempts: 1 } },
  });
  web = await Web.start(host);
});

it('this machine is paused and resumed, under the name of whoever does it', async () => {
  const ran = await host.run(
    'web',
    'token',
    'add',
    '--json',
    '--as',
    'anna',
    '--rights',
    'operate',
  );
  const { token } = JSON.parse(ran.out) as { token: string };
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const { status, text } = await web.raw('POST', '/api/pause', headers, '{}');
  expect([status, JSON.parse(text)]).toMatchObject([200, { paused: { by: 'anna' } }]);
  await host.send('helper', 'hello');
  await host.once();
  expect(bus.from('helper')).toHaveLength(0);
  expect(await web.post<WebPaused>('/api/resume', {})).toEqual({ paused: null });
  await host.once();
  expect(bus.from('helper')).toHaveLength(1);
});

it('a dead letter is forgotten, and its message does not run again', async () => {
  await host.send('broken', 'hello');
  await host.once();
  const [letter] = JSON.parse((await host.run('dlq', '--json')).out) as { id: string }[];
  const dropped = await web.post<WebDropped>(`/api/dead-letters/${letter?.id ?? ''}/drop`, {});
  expect(dropped).toEqual({ dropped: [letter?.id] });
  const log = await host.once();
  expect(log.map(({ event }) => event)).not.toContain('dispatch_start');
  expect((await host.run('dlq', '--json')).out).toBe('[]\n');
});

it('schedules are run, paused and resumed, subscriptions too', async () => {
  const header = '---\nhost: front\nto: helper\n';
  host.edit({
    'local/schedules/standup.md': `${header}every: 1d\n---\nwhat is new?\n`,
    'local/subscriptions/review.md': `${header}source: answer:helper\n---\nreview it\n`,
  });
  await host.news();
  const fired = await web.post<{ relPath: string }>('/api/schedules/standup/run', {});
  expect(bus.messages().map(({ relPath }) => relPath)).toContain(fired.relPath);
  for (const [kind, name] of [
    ['schedule', 'standup'],
    ['subscription', 'review'],
  ] as const) {
    const paused = await web.post<WebEdited>(`/api/${kind}s/${name}/pause`, {});
    expect(paused).toMatchObject({ name, state: 'published' });
    expect((await host.run(kind, 'list')).out).toContain('paused');
    await web.post<WebEdited>(`/api/${kind}s/${name}/resume`, {});
    expect((await host.run(kind, 'list')).out).not.toContain('paused');
  }
  await expect(web.post('/api/schedules/other/run', {})).rejects.toThrow('404');
});

it('channels are made, archived and put back', async () => {
  const made = await web.post<WebChannelChanged>('/api/channels', { name: 'release' });
  expect(made).toMatchObject({ name: 'release', archived: false });
  await expect(web.post('/api/channels', { name: 'release' })).rejects.toThrow('409');
  await expect(web.post('/api/channels', { name: 7 })).rejects.toThrow('400');
  await web.post<WebChannelChanged>('/api/channels/release/archive', {});
  expect((await host.run('channel', 'list')).out).not.toContain('release');
  await web.post<WebChannelChanged>(`/api/channels/${made.id}/restore`, {});
  expect((await host.run('channel', 'list')).out).toContain('release');
});
