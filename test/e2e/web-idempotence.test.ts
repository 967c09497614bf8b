import { expect, it } from 'vitest';
import { ulid } from 'ulid';
import type { WebError, WebSent } from '../../src/api/api.ts';
import { Bus } from '../support/bus.ts';
import { until } from '../support/wait.ts';
import { TOKEN, Web, type Answer } from '../support/web.ts';

const send = (web: Web, key: string, body: string): Promise<Answer> => {
  const headers = {
    ...web.bearer(),
    'content-type': 'application/json',
    'idempotency-key': key,
  };
  return web.raw('POST', '/api/send', headers, JSON.stringify({ to: 'nobody', body }));
};
const sent = async (web: Web, key: string, body: string): Promise<WebSent> => {
  const { status, text } = await send(web, key, body);
  expect([status, text]).toEqual([202, expect.any(String)]);
  return JSON.parse(text) as WebSent;
};

it('a request that is repeated with its key sends its message once, also to a server that was started anew', async () => {
  const bus = new Bus();
  const host = await bus.host('front', {});
  const onBus = (): string[] => bus.messages().map(({ message }) => message.body);
  const web = await Web.start(host, '--token', TOKEN);
  const events = await web.events();
  const key = ulid();
  const twice = await Promise.all([sent(web, key, 'once'), sent(web, key, 'once')]);
  const [{ relPath } = { relPath: '' }] = twice[0].messages;
  expect(twice[1].messages).toEqual(twice[0].messages);
  await events.saw('messages');
  await until('the message on the remote', () => onBus().length === 1);
  expect(await sent(web, key.toLowerCase(), 'once')).toMatchObject({
    state: 'sent',
    messages: [{ relPath }],
  });
  await web.stop();

  const again = await Web.start(host, '--token', TOKEN);
  const later = await again.events();
  expect(await sent(again, key, 'once')).toMatchObject({ state: 'sent', messages: [{ relPath }] });
  await until('the last word', () => later.statesOf(relPath).at(-1) === 'sent');
  const other = await sent(again, key, 'another text under the same key');
  expect(other.messages[0]?.relPath).not.toBe(relPath);
  await until('both', () => onBus().length === 2);

  bus.unplug();
  const offline = ulid();
  const kept = await sent(again, offline, 'offline');
  expect(kept.state).toBe('queued');
  expect(await sent(again, offline, 'offline')).toMatchObject({
    state: 'queued',
    id: kept.id,
    messages: kept.messages,
  });
  bus.plug();
  await host.run('sync');
  expect(onBus().sort()).toEqual(['another text under the same key', 'offline', 'once']);
  expect(JSON.parse((await host.run('status', '--json')).out)).toMatchObject({
    outbox: [],
    set_aside: [],
  });
});

it('a key that is none, or of another day, is refused before anything is sent', async () => {
  const bus = new Bus();
  const host = await bus.host('front', {});
  const web = await Web.start(host);
  const DAY = 86_400_000;
  for (const [key, status, code] of [
    ['x', 400, 'usage'],
    ['5f0c6f5e-2e0b-4a3f-9c39-1d6b1a2c3d4e', 400, 'usage'],
    ['../../../../etc/passwd12345', 400, 'usage'],
    [`${ulid()}0`, 400, 'usage'],
    ['8ZZZZZZZZZZZZZZZZZZZZZZZZZ', 400, 'usage'],
    [ulid(Date.now() - DAY - 60_000), 409, 'refused'],
    [ulid(Date.now() + 600_000), 409, 'refused'],
    ['7ZZZZZZZZZZZZZZZZZZZZZZZZZ', 409, 'refused'],
    ['0'.repeat(26), 409, 'refused'],
  ] as const) {
    const answer = await send(web, key, 'refused');
    expect([key, answer.status, (JSON.parse(answer.text) as WebError).error.code]).toEqual([
      key,
      status,
      code,
    ]);
  }
  expect(bus.messages()).toEqual([]);
});
