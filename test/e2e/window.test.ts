import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parseWindow, windowFolders } from '../../src/protocol/window.ts';
import { Bus, Host, type Event } from '../support/bus.ts';
import { git } from '../support/git.ts';

const message = (to: string, body: string): string =>
  `---\nfrom: somebody\nto: ${to}\ntype: text\ntimestamp: 2025-01-01T10:00:00Z\n---\n\n${body}\n`;

/** Old messages: one waits for the worker, the others for nobody. */
function past(host: Host, count: number): { waiting: string; files: Record<string, string> } {
  const folder = `data/channels/${host.channel()}/2025/01/01`;
  const files = Object.fromEntries(
    Array.from({ length: count }, (_, n) => [
      `${folder}/1000000${String(n).padStart(2, '0')}Z-${n.toString(16).padStart(8, '0')}.md`,
      message(n === 0 ? 'worker' : 'nobody', `old ${String(n)}`),
    ]),
  );
  return { waiting: '2025/01/01/100000000Z-00000000.md', files };
}

it(
  'a window keeps the checkout to the last days, and older messages are read all the same',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'echo done' });
    const { waiting, files } = past(host, 30);
    host.edit(files);
    const fresh = await host.send('nobody', 'today');
    const channel = join(host.dir, 'data/channels', host.channel());
    const shown = (relPath: string): boolean => existsSync(join(channel, relPath));
    await host.run('sync');
    expect([shown(waiting), shown(fresh)]).toEqual([true, true]);

    const { out } = await host.run('sync', '--window', '7d');
    expect(out).toContain('messages of the last 7d');
    expect([shown(waiting), shown(fresh), shown('CHANNEL.md')]).toEqual([false, true, true]);
    for (const path of ['CLAUDE.md', 'hosts/front.md', 'upstream/PROTOCOL.md'])
      expect(existsSync(join(host.dir, path))).toBe(true);
    expect(git(host.dir, 'status', '--porcelain')).toBe('');

    expect((await host.run('explain', waiting, 'worker')).out).toContain('wakes worker');
    await host.once();
    expect((await host.run('replies', waiting)).out).toContain('  done');
    const id = (await host.run('channel', 'create', 'later')).out.trim();
    const there = await host.send('nobody', 'hello', '--channel', 'later');
    await host.once();
    expect(existsSync(join(host.dir, 'data/channels', id, there))).toBe(true);

    expect((await host.run('sync', '--window', 'all')).out).not.toContain('messages of');
    expect(shown(waiting)).toBe(true);
    const wrong = await host.run('sync', '--window', 'week');
    expect([wrong.code, wrong.err]).toEqual([
      2,
      'crosstalk sync: --window "week" is no number of days, such as 7d; give all for everything\n',
    ]);
  },
);

it('a window takes nothing from a checkout that has work in it', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'true' });
  const { waiting, files } = past(host, 3);
  host.edit(files);
  await host.run('sync');
  const mine = join(host.dir, 'data/channels', host.channel(), waiting);
  writeFileSync(mine, 'my notes');
  await host.run('sync', '--window', '1d');
  expect(existsSync(mine)).toBe(true);
  expect(git(host.dir, 'status', '--porcelain')).toContain(waiting);
});

it(
  'init joins by a partial clone with a window, and brings what it must read with one fetch',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    git(bus.hub, 'config', 'uploadpack.allowFilter', 'true');
    const first = await bus.host('first', { other: 'true' });
    const { waiting, files } = past(first, 60);
    first.edit(files);
    const host = new Host(bus, 'second');
    const options = ['--remote', `file://${bus.hub}`, '--alias', 'second', '--actor', 'worker'];
    const made = await host.run(
      'init',
      host.dir,
      ...options,
      '--cli',
      'echo done',
      '--window',
      '2d',
    );
    expect([made.code, made.err]).toEqual([0, '']);
    expect(git(host.dir, 'config', 'remote.origin.promisor').trim()).toBe('true');
    const days = join(host.dir, 'data/channels', host.channel());
    expect(readdirSync(days)).toEqual(['CHANNEL.md']);
    expect(existsSync(join(host.dir, 'hosts/second.md'))).toBe(true);

    const log = await host.once();
    const stopped = log.find(({ event }: Event) => event === 'dispatcher_stopped');
    expect(Number(stopped?.['git_processes'])).toBeLessThan(30);
    expect((await first.run('replies', waiting)).out).toContain('  done');
    const question = await first.send('worker', 'and now?');
    await host.once();
    expect((await first.run('replies', question)).out).toContain('  done');
  },
);

it('a window is a number of days, and its folders are those of each channel', () => {
  expect(['7d', '30', 'all', '0', '-1', '7w', '99999'].map(parseWindow)).toEqual([
    7,
    30,
    undefined,
    null,
    null,
    null,
    null,
  ]);
  expect(windowFolders(['a', 'b'], 2, new Date('2026-01-01T23:00:00Z')).slice(4)).toEqual([
    'data/channels/a/2026/01/02',
    'data/channels/a/2026/01/01',
    'data/channels/a/2025/12/31',
    'data/channels/b/2026/01/02',
    'data/channels/b/2026/01/01',
    'data/channels/b/2025/12/31',
  ]);
});
