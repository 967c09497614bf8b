// @module-tag long
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Bus, type Host } from '../support/bus.ts';

const at = (n: number): string => `2025/01/0${String(n)}/120000000Z-0000000${String(n)}.md`;

/** Commits a message by hand, dated at the beginning of 2025. */
function write(host: Host, channel: string, relPath: string, fields: Record<string, string>): void {
  const lines = Object.entries(fields).map(([key, value]) => `${key}: ${value}\n`);
  host.edit({
    [`data/channels/${channel}/${relPath}`]: `---\n${lines.join('')}type: text\ntimestamp: 2025-01-01T10:00:00Z\n---\n\ntext\n`,
  });
}

it('work in another channel is archived with its question, and stays while that is open', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { boss: 'true', worker: 'true' });
  const made = await host.run('channel', 'create', 'parts', '--parent', host.channel());
  const parts = made.out.trim().split('\n').at(-1) ?? '';
  const here = host.channel();
  await host.once('--from-now');
  const ours = { host: 'front' };
  write(host, here, at(1), { from: 'alice', to: 'boss' });
  write(host, parts, at(2), { ...ours, from: 'boss', to: 'worker', origin: `${here}/${at(1)}` });
  write(host, parts, at(3), { ...ours, from: 'worker', to: 'boss', re: at(2) });
  // Part of a separate conversation, which has ended.
  write(host, parts, at(4), { from: 'bob', to: 'worker' });
  write(host, parts, at(5), { ...ours, from: 'worker', to: 'bob', re: at(4) });
  const archive = (file: string): Promise<{ code: number; err: string }> =>
    host.run('archive', '--before', '2025-02-01', '--bundle', join(bus.root, file), '--yes');
  const left = (): string[] =>
    bus
      .messages()
      .map(({ relPath }) => relPath)
      .sort();
  expect(await archive('first.bundle')).toMatchObject({ code: 0 });
  expect(left()).toEqual([at(1), at(2), at(3)]);
  write(host, here, at(6), {
    ...ours,
    from: 'boss',
    to: 'alice',
    re: at(1),
    origin: `${parts}/${at(3)}`,
  });
  expect(await archive('second.bundle')).toMatchObject({ code: 0 });
  expect(left()).toEqual([]);
});
