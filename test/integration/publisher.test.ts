import { expect, it } from 'vitest';
import { Publisher } from '../../src/bus/publisher.ts';
import { acquire } from '../../src/state/lock.ts';
import { Outbox } from '../../src/state/outbox.ts';
import type { Commit } from '../../src/protocol/outgoing.ts';
import type { Published } from '../../src/transport/transport.ts';
import { scratch } from '../support/bus.ts';

const PUSHED: Published = { ok: true, tip: '', commits: 1, attempts: 1, refused: [] };
const REFUSED: Published = {
  ok: false,
  failure: { kind: 'rejected', reason: 'policy' },
  attempts: 1,
};

function commit(subject: string): Commit {
  const author = { name: 'ann', email: 'ann@front.crosstalk.local' };
  return { at: '2026-01-01T00:00:00Z', author, subject, files: [] };
}

it('a push whose outcome cannot be put on disk counts as failing, until nothing is left to push', async () => {
  const root = scratch();
  const outbox = new Outbox(root);
  await outbox.put({ id: '01ARZ3NDEKTSV4RRFFQ69G5FAV', commits: [] });
  let isFull = true;
  const publisher = new Publisher({
    outbox,
    now: () => new Date(),
    publish: () => Promise.resolve(PUSHED),
    lock: () => acquire(root, 'writer', { wait: 0 }),
    onPublished: () => (isFull ? Promise.reject(new Error('ENOSPC')) : Promise.resolve()),
  });
  await expect(publisher.flush()).rejects.toThrow('ENOSPC');
  expect(publisher.failing?.reason).toBe('ENOSPC');
  isFull = false;
  await publisher.flush();
  expect([publisher.failing, await outbox.all()]).toEqual([undefined, []]);
});

it('what the remote refuses counts as failing while the rest is pushed', async () => {
  const root = scratch();
  const outbox = new Outbox(root);
  await outbox.put({ id: '01ARZ3NDEKTSV4RRFFQ69G5FAV', commits: [commit('bad')] });
  await outbox.put({ id: '01ARZ3NDEKTSV4RRFFQ69G5FAW', commits: [commit('good')] });
  let isRefused = true;
  const publisher = new Publisher({
    outbox,
    now: () => new Date(),
    publish: (entries) =>
      Promise.resolve(
        isRefused && entries.flat().some(({ subject }) => subject === 'bad') ? REFUSED : PUSHED,
      ),
    lock: () => acquire(root, 'writer', { wait: 0 }),
  });
  await publisher.flush();
  expect(publisher.failing?.reason).toBe('policy');
  expect((await outbox.all()).map(({ id }) => id)).toEqual(['01ARZ3NDEKTSV4RRFFQ69G5FAV']);
  isRefused = false;
  await publisher.flush();
  expect([publisher.failing, await outbox.all()]).toEqual([undefined, []]);
});

it('a remote that refuses everything is not asked for each entry, and what is new leaves all the same', async () => {
  const root = scratch();
  const outbox = new Outbox(root);
  const idOf = (n: number): string => `01ARZ3NDEKTSV4RRFFQ69G5${String(n).padStart(3, '0')}`;
  for (let n = 0; n < 100; n++) await outbox.put({ id: idOf(n), commits: [commit('bad')] });
  await outbox.put({ id: idOf(100), commits: [commit('good')] });
  let pushes = 0;
  const publisher = new Publisher({
    outbox,
    now: () => new Date(),
    publish: (entries) => {
      pushes++;
      return Promise.resolve(
        entries.flat().some(({ subject }) => subject === 'bad') ? REFUSED : PUSHED,
      );
    },
    lock: () => acquire(root, 'writer', { wait: 0 }),
  });
  await publisher.flush();
  expect([pushes, (await outbox.all()).length]).toEqual([20, 101]);
  for (let round = 0; round < 20; round++) await publisher.flush();
  expect((await outbox.all()).length).toBe(100);
});

it('what is withdrawn while others are publishing is not pushed', async () => {
  const root = scratch();
  const outbox = new Outbox(root);
  const files = ['secret', 'good'].map((content) => ({ path: `data/${content}`, content }));
  const commits = files.map((file) => ({ ...commit(file.content), files: [file] }));
  await outbox.putAll([{ id: '01ARZ3NDEKTSV4RRFFQ69G5FAV', commits }]);
  const pushed: string[] = [];
  const publisher = new Publisher({
    outbox,
    now: () => new Date(),
    publish: (entries) => {
      pushed.push(...entries.flat().map(({ subject }) => subject));
      return Promise.resolve(PUSHED);
    },
    lock: async () => {
      await outbox.withdraw(['data/secret']);
      return acquire(root, 'writer', { wait: 0 });
    },
  });
  await publisher.flush();
  expect(pushed).toEqual(['good']);
});
