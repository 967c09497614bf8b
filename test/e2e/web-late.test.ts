// @module-tag long
import { expect, it } from 'vitest';
import type { WebFlow, WebNow } from '../../src/api/api.ts';
import { Bus, type Host } from '../support/bus.ts';
import { until } from '../support/wait.ts';
import { Web } from '../support/web.ts';

/** More than the server keeps of the newest messages, twice over. */
const MANY = 4200;
const HOUR = 3_600_000;

/** A message as a file, written at a time. */
function messageAt(
  channel: string,
  at: Date,
  n: number,
  header: Record<string, string>,
): [path: string, content: string] {
  const [day = '', clock = ''] = at.toISOString().split('T');
  const name = `${clock.replace(/[:.]/g, '')}-${String(n).padStart(12, '0')}.md`;
  const lines = Object.entries({ ...header, type: 'text', timestamp: at.toISOString() });
  const head = lines.map(([key, value]) => `${key}: ${value}\n`).join('');
  return [
    `data/channels/${channel}/${day.replaceAll('-', '/')}/${name}`,
    `---\n${head}---\nnumber ${String(n)}\n`,
  ];
}

const seen = async (web: Web): Promise<unknown> => {
  const { waiting, hosts } = await web.get<WebNow>('/api/now');
  const { lanes, messages, complete } = await web.get<WebFlow>('/api/flow');
  return {
    waiting: waiting.messages.map(({ from, actor }) => [from, actor]),
    wrote: hosts.map(({ alias, last_wrote: wrote }) => [alias, wrote]),
    lanes: lanes.map(({ name }) => name),
    messages: messages.length,
    complete,
  };
};

it('thousands of older messages that arrive late take the place of nothing newer', async () => {
  const bus = new Bus();
  const front: Host = await bus.host('front', { clerk: 'true' });
  await bus.host('back', { worker: 'true' });
  const channel = front.channel();
  const base = Date.now() - HOUR;
  const wrote = new Date(base + 60_000);
  front.edit(
    Object.fromEntries([
      messageAt(channel, new Date(base), 1, { from: 'anna', to: 'clerk' }),
      messageAt(channel, new Date(base + 1000), 2, { from: 'anna', to: 'worker' }),
      messageAt(channel, wrote, 3, { from: 'worker', to: 'anna', host: 'back' }),
    ]),
  );
  await front.run('sync');
  const web = await Web.start(front);
  const before = await seen(web);
  expect(before).toEqual({
    waiting: [
      ['anna', 'clerk'],
      ['anna', 'worker'],
    ],
    wrote: [
      ['back', wrote.toISOString()],
      ['front', null],
    ],
    lanes: ['clerk', 'worker', 'anna'],
    messages: 3,
    complete: true,
  });
  const { tip } = await web.get<WebNow>('/api/now');

  const old = Date.UTC(2025, 5, 1);
  front.edit(
    Object.fromEntries(
      Array.from({ length: MANY }, (_, n) =>
        messageAt(channel, new Date(old + n * 1000), 10 + n, { from: 'ben', to: 'carla' }),
      ),
    ),
  );
  await front.run('sync');
  await until('the news', async () => (await web.get<WebNow>('/api/now')).tip !== tip);
  expect(await seen(web)).toEqual(before);
  // What was not kept is known not to be there.
  const { waiting } = await web.get<WebNow>('/api/now');
  expect(waiting.complete).toBe(false);
  const back = `from=${new Date(old).toISOString()}&to=${new Date(old + HOUR).toISOString()}`;
  expect((await web.get<WebFlow>(`/api/flow?${back}`)).lanes.map(({ name }) => name)).toContain(
    'ben',
  );
});
