import { afterEach, expect, it } from 'vitest';
import { onCrashPoint } from '../../src/crash-points.ts';
import { Outbox } from '../../src/state/outbox.ts';
import { Written } from '../../src/state/written.ts';
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

it.each(['row_written', 'row_committed'] as const)(
  'entries of which none may stay away are all put, or none, when the process was killed at %s',
  async (last) => {
    const root = scratch();
    onCrashPoint((point) => {
      if (point === last) throw new Error('killed');
    });
    const first = new Outbox(root);
    await expect(first.putAll(['A', 'B', 'C'].map(entry))).rejects.toThrow('killed');
    onCrashPoint(() => undefined);
    const left = (await new Outbox(root).all()).map(({ id }) => id);
    expect(left).toEqual(last === 'row_committed' ? ['A', 'B', 'C'] : []);
  },
);

it('an entry that the disk does not take is told of only once it does', async () => {
  const outbox = new Outbox(scratch());
  const seen: string[] = [];
  outbox.events.on('seen', ({ id }) => seen.push(id));
  const file = { path: 'data/x', content: 'x' };
  const told = { ...entry('A'), commits: [{ ...entry('A').commits[0]!, files: [file] }] };
  onCrashPoint((point) => {
    if (point === 'row_written') throw new Error('no room');
  });
  await expect(outbox.put(told)).rejects.toThrow('no room');
  expect(seen).toEqual([]);
  onCrashPoint(() => undefined);
  await outbox.put(told);
  expect(seen).toEqual(['A']);
});

it('what was withdrawn since it was found missing is not put again', async () => {
  const root = scratch();
  const outbox = new Outbox(root, new Written(root));
  const files = ['one', 'two'].map((name) => ({ path: `data/channels/${name}`, content: name }));
  const lost = { ...entry('A'), commits: [{ ...entry('A').commits[0]!, files }] };
  await outbox.put(lost);
  await outbox.remove('A', 'tip');
  await outbox.withdraw(['data/channels/one']);
  await outbox.putAll([lost]);
  const put = (await outbox.all()).flatMap(({ commits }) => commits.flatMap((one) => one.files));
  expect(put.map(({ content }) => content)).toEqual(['two']);
  await outbox.withdraw(['data/channels/two']);
  await outbox.putAll([lost]);
  expect(await outbox.all()).toEqual([]);
});
