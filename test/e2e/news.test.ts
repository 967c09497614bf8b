import { existsSync, writeFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { News } from '../../src/dispatcher/socket/news.ts';
import { ask, listen, type WakeResult } from '../../src/dispatcher/socket/wake.ts';
import { Bus, scratch, type Host } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { until } from '../support/wait.ts';

const FAR = 60_000;
const tipOf = (host: Host): string => git(host.dir, 'rev-parse', 'refs/remotes/origin/main').trim();
const askNews = (host: Host, tip: string, signal?: AbortSignal): Promise<WakeResult> =>
  ask(join(host.state, 'wake.sock'), { op: 'news', tip }, FAR, signal);

/** A dispatcher that has seen everything. */
async function settled(host: Host): Promise<ReturnType<Host['start']>> {
  const running = host.start();
  await running.saw('host_file_loaded');
  await running.saw('tick');
  return running;
}

it(
  'the dispatcher tells of a new tip: at once when it has one, else when another machine sends or it pushes',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const front = await bus.host('front', { worker: 'true' });
    const back = await bus.host('back', { other: 'true' });
    await settled(front);
    const first = tipOf(front);
    expect(await askNews(front, '0'.repeat(40))).toMatchObject({ answer: { tip: first } });

    const byPoll = askNews(front, first);
    await back.send('nobody', 'from another machine');
    expect(await byPoll).toMatchObject({ kind: 'answered', answer: { tip: tipOf(back) } });

    const byPush = askNews(front, tipOf(front));
    await front.send('nobody', 'from here');
    expect(await byPush).toMatchObject({
      answer: { tip: git(bus.hub, 'rev-parse', 'main').trim() },
    });
  },
);

it(
  'a dispatcher that stops lets those who wait for news go before it waits for its runs',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const [begun, finish] = [join(bus.root, 'begun'), join(bus.root, 'finish')];
    const cli = `touch ${begun}; while test ! -e ${finish}; do sleep 0.05; done; echo done`;
    const host = await bus.host('front', { worker: cli });
    const running = await settled(host);
    await host.send('worker', 'take your time');
    await until('the run', () => existsSync(begun));

    const waiting = askNews(host, tipOf(host));
    // A request that arrives after the answer was known.
    expect((await askNews(host, '0'.repeat(40))).kind).toBe('answered');
    const ended = running.stop();
    expect(await waiting).toEqual({ kind: 'nobody' });
    expect(await askNews(host, tipOf(host))).toEqual({ kind: 'nobody' });

    writeFileSync(finish, '');
    await ended;
    expect(running.events.at(-1)?.event).toBe('dispatcher_stopped');
    expect(bus.from('worker')).toHaveLength(1);
  },
);

it('one pass of a dispatcher does not let anybody wait for news', async () => {
  const bus = new Bus();
  const [begun, finish] = [join(bus.root, 'begun'), join(bus.root, 'finish')];
  const cli = `touch ${begun}; while test ! -e ${finish}; do sleep 0.05; done; echo done`;
  const host = await bus.host('front', { worker: cli });
  await host.send('worker', 'take your time');
  const pass = host.once();
  await until('the run', () => existsSync(begun));
  expect(await askNews(host, tipOf(host))).toEqual({ kind: 'nobody' });
  writeFileSync(finish, '');
  await pass;
});

it(
  'who waits for news and cannot be told any more, because the remote is out of reach, is let go',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'true' });
    const running = await settled(host);
    const waiting = askNews(host, tipOf(host));
    await host.pointTo(join(bus.root, 'gone.git'));
    expect(await waiting).toEqual({ kind: 'nobody' });
    await running.saw('fetch_failed');
  },
);

it('somebody who asked for news and went away leaves nothing behind', async () => {
  const path = join(scratch(), 'ear.sock');
  const stop = new AbortController();
  const news = new News(() => Promise.resolve('a'), { stop: stop.signal, once: false });
  const ear = await listen(path, async (request, gone) => ({
    pid: 1,
    ...(request.op === 'news' && { tip: await news.after(request.tip, gone) }),
  }));
  const leave = new AbortController();
  const asked = ask(path, { op: 'news', tip: 'a' }, FAR, leave.signal);
  const killed = createConnection(path);
  killed.write('{"op":"news","tip":"a"}\n');
  await until('two that wait', () => news.awaited === 2);
  expect(news.longestPoll).toBeLessThan(Infinity);

  leave.abort();
  expect(await asked).toEqual({ kind: 'nobody' });
  killed.destroy();

  await until('nobody that waits', () => news.awaited === 0);
  expect(news.longestPoll).toBe(Infinity);
  stop.abort();
  expect(await ask(path, { op: 'news', tip: 'a' }, FAR)).toEqual({ kind: 'nobody' });
  await ear.close();
});
