import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { onCrashPoint } from '../../src/crash-points.ts';
import { Outbox } from '../../src/state/outbox.ts';
import { scratch } from '../support/bus.ts';

afterEach(() => {
  onCrashPoint(() => undefined);
});

const entry = (id: string) => ({
  id,
  commits: [
    { author: { name: 'a', email: 'b' }, at: '2026-06-09T19:00:00Z', subject: id, files: [] },
  ],
});

it.each([1, 2, 3, 4])(
  'entries of which none may stay away are all put by the next start when the %s. file was the last',
  async (last) => {
    const folder = join(scratch(), 'outbox');
    let files = 0;
    onCrashPoint((point) => {
      if (point === 'file_renamed' && ++files === last) throw new Error('killed');
    });
    const first = new Outbox(folder);
    await expect(first.putAll(['A', 'B', 'C'].map(entry))).rejects.toThrow('killed');
    onCrashPoint(() => undefined);
    // A command that sends publishes everything that waits.
    for (const { id } of await first.all()) await first.remove(id);
    const next = new Outbox(folder);
    await next.finish();
    expect((await next.all()).map(({ id }) => id)).toEqual(['A', 'B', 'C']);
    expect(readdirSync(join(folder, '..')).sort()).toEqual(['outbox', 'state.key']);
  },
);

it('an entry that the disk does not take is told of only once it does', async () => {
  const outbox = new Outbox(join(scratch(), 'outbox'));
  const seen: string[] = [];
  outbox.events.on('seen', ({ id }) => seen.push(id));
  const file = { path: 'data/x', content: 'x' };
  const told = { ...entry('A'), commits: [{ ...entry('A').commits[0]!, files: [file] }] };
  onCrashPoint((point) => {
    if (point === 'file_written') throw new Error('no room');
  });
  await expect(outbox.put(told)).rejects.toThrow('no room');
  expect(seen).toEqual([]);
  onCrashPoint(() => undefined);
  await outbox.put(told);
  expect(seen).toEqual(['A']);
});
