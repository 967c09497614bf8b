import { expect, it } from 'vitest';
import { Gathered } from '../../src/web/parts.ts';

it('what is added while a push is under way leaves together with the next, whatever became of the first', async () => {
  const begun: string[] = [];
  const ends: ((error?: Error) => void)[] = [];
  const gathered = new Gathered((entry) => {
    begun.push(entry);
    return new Promise<void>((resolve, reject) =>
      ends.push((error) => {
        if (error === undefined) resolve();
        else reject(error);
      }),
    );
  });
  const first = gathered.add('a');
  const others = [gathered.add('b'), gathered.add('c')];
  expect([begun, gathered.waiting]).toEqual([['a'], 2]);
  ends[0]?.(new Error('offline'));
  await first;
  await Promise.resolve();
  expect([begun, gathered.waiting]).toEqual([['a', 'c'], 0]);
  const last = gathered.add('d');
  ends[1]?.();
  await Promise.all(others);
  await Promise.resolve();
  expect(begun).toEqual(['a', 'c', 'd']);
  ends[2]?.();
  await last;
  const fresh = gathered.add('e');
  expect(begun).toEqual(['a', 'c', 'd', 'e']);
  ends[3]?.();
  await fresh;
});
