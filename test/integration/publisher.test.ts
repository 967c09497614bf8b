import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Publisher } from '../../src/dispatcher/publisher.ts';
import { acquire } from '../../src/state/lock.ts';
import { Outbox } from '../../src/state/outbox.ts';
import { scratch } from '../support/bus.ts';

it('a push whose outcome cannot be put on disk counts as failing, until nothing is left to push', async () => {
  const root = scratch();
  const outbox = new Outbox(join(root, 'outbox'));
  await outbox.put({ id: '01ARZ3NDEKTSV4RRFFQ69G5FAV', commits: [] });
  let isFull = true;
  const publisher = new Publisher({
    outbox,
    publish: () => Promise.resolve({ ok: true, tip: '', commits: 0, attempts: 1, refused: [] }),
    lock: () => acquire(root, 'writer', { wait: 0 }),
    onPublished: () => (isFull ? Promise.reject(new Error('ENOSPC')) : Promise.resolve()),
  });
  await expect(publisher.flush()).rejects.toThrow('ENOSPC');
  expect(publisher.failing?.failure.reason).toBe('ENOSPC');
  isFull = false;
  await publisher.flush();
  expect([publisher.failing, await outbox.all()]).toEqual([undefined, []]);
});
