import { expect, it } from 'vitest';
import { inCommitOrder } from '../../src/bus/commit-order.ts';
import { messageFile } from '../../src/protocol/layout.ts';

it('any number of deliveries are in the order of the history, whatever their names say', async () => {
  const channel = '00000000-0000-4000-8000-000000000001';
  const deliveries = Array.from({ length: 1500 }, (_, n) => ({
    channel,
    relPath: `2026/06/09/${String(n).padStart(9, '0')}Z-1f2e3d4c5b6a.md`,
  }));
  const history = deliveries.map(({ relPath }) => messageFile(channel, relPath)).reverse();
  const order = (_since: unknown, _tip: string, paths: readonly string[]): Promise<string[]> =>
    Promise.resolve(history.filter((path) => paths.includes(path)));
  const sorted = await inCommitOrder({ order }, undefined, 'tip', deliveries);
  expect(sorted).toEqual([...deliveries].reverse());
});
