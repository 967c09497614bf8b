import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  batchesOf,
  conversationOf,
  MAX_BATCH,
  MAX_BATCH_BYTES,
} from '../../src/protocol/thread.ts';
import { MAX_LINKS_BYTES, linksBytes } from '../../src/protocol/causality.ts';
import type { Delivery } from '../../src/protocol/mailbox.ts';
import type { Located } from '../../src/protocol/message.ts';
import { lookupIn, path, said } from '../support/messages.ts';

const delivered = (located: Located, bytes = 1): Delivery => ({
  ...located,
  actor: 'boss',
  channel: 'c',
  bytes,
});

/** The batches of the boss's pending messages, as paths. */
const batched = (pending: Located[], record: Located[] = []): string[][] => {
  const lookup = lookupIn([...record, ...pending]);
  return batchesOf(
    pending.map((located) => delivered(located)),
    (delivery) => conversationOf(delivery, 'boss', lookup),
  ).map((batch) => batch.map(({ relPath }) => relPath));
};

it('a part of one asker’s goal and a new goal of another are two batches', () => {
  const goal = said(1, 'alice', 'boss');
  const task = said(2, 'boss', 'w1', { cause: [1] });
  const part = said(3, 'w1', 'boss', { re: [2] });
  const other = said(4, 'bob', 'boss');
  expect(batched([part, other], [goal, task])).toEqual([[path(3)], [path(4)]]);
});

it('a part of an asker’s goal and a new goal of the same asker are two batches', () => {
  const record = [said(1, 'alice', 'boss'), said(2, 'boss', 'w1', { cause: [1] })];
  const pending = [said(3, 'w1', 'boss', { re: [2] }), said(4, 'alice', 'boss')];
  expect(batched(pending, record)).toEqual([[path(3)], [path(4)]]);
});

it('answers of peers to one goal go together, in commit order, whoever they come from', () => {
  const record = [
    said(1, 'alice', 'boss'),
    said(2, 'bob', 'boss'),
    said(3, 'boss', 'w1', { cause: [1] }),
    said(4, 'boss', 'w2', { cause: [1] }),
    said(5, 'boss', 'w1', { cause: [2] }),
  ];
  const pending = [
    said(8, 'w2', 'boss', { re: [4] }),
    said(7, 'w1', 'boss', { re: [5] }),
    said(6, 'w1', 'boss', { re: [3] }),
  ];
  expect(batched(pending, record)).toEqual([[path(8), path(6)], [path(7)]]);
});

it('new tasks of one asker that wait together are one batch; the same name on another host is another asker', () => {
  const pending = [
    said(1, 'alice', 'boss'),
    said(2, 'alice', 'boss', { host: 'mac' }),
    said(3, 'bob', 'boss'),
    said(4, 'alice', 'boss'),
  ];
  expect(batched(pending)).toEqual([[path(1), path(4)], [path(2)], [path(3)]]);
});

it('new tasks that an actor sent for different goals are different batches, for one goal they are one', () => {
  const record = [said(1, 'alice', 'lead'), said(2, 'bob', 'lead')];
  const pending = [
    said(3, 'lead', 'boss', { cause: [1], host: 'front' }),
    said(4, 'lead', 'boss', { cause: [2], host: 'front' }),
    said(5, 'lead', 'boss', { cause: [1], host: 'front' }),
  ];
  expect(batched(pending, record)).toEqual([[path(3), path(5)], [path(4)]]);
});

it('questions in old threads are batches by thread and asker, apart from new tasks and from parts', () => {
  const record = [
    said(1, 'alice', 'boss'),
    said(2, 'boss', 'alice', { re: [1], host: 'front' }),
    said(3, 'alice', 'boss'),
    said(4, 'boss', 'alice', { re: [3], host: 'front' }),
    said(5, 'boss', 'w1', { cause: [1], host: 'front' }),
  ];
  const pending = [
    said(6, 'alice', 'boss', { re: [2], asks: true }),
    said(7, 'alice', 'boss', { re: [4], asks: true }),
    said(8, 'alice', 'boss', { re: [2], asks: true }),
    said(9, 'bob', 'boss', { re: [2], asks: true }),
    said(10, 'alice', 'boss'),
    said(11, 'w1', 'boss', { re: [5] }),
  ];
  expect(batched(pending, record)).toEqual([
    [path(6), path(8)],
    [path(7)],
    [path(9)],
    [path(10)],
    [path(11)],
  ]);
});

it('answers in an exchange that the actor began itself go together by their beginning', () => {
  const record = [
    said(1, 'boss', 'w1'),
    said(2, 'boss', 'w2'),
    said(3, 'boss', 'w2', { cause: [1] }),
  ];
  const pending = [
    said(4, 'w1', 'boss', { re: [1] }),
    said(5, 'w2', 'boss', { re: [2] }),
    said(6, 'w2', 'boss', { re: [3] }),
  ];
  expect(batched(pending, record)).toEqual([[path(4), path(6)], [path(5)]]);
});

it('holds no more messages, bytes and paths than a run may have; what is over waits in its order', () => {
  const sizes = fc.array(fc.nat({ max: 1024 * 1024 }), { minLength: 1, maxLength: 3 * MAX_BATCH });
  fc.assert(
    fc.property(sizes, (bytes) => {
      let left = bytes.map((size, n) => delivered(said(n, 'alice', 'boss'), size));
      const seen: string[] = [];
      while (left.length > 0) {
        const [batch = [], ...more] = batchesOf(left, () => 'one');
        expect(more).toEqual([]);
        expect(batch.length).toBeGreaterThan(0);
        expect(batch.length).toBeLessThanOrEqual(MAX_BATCH);
        const paths = batch.map(({ relPath }) => relPath);
        expect(linksBytes(paths)).toBeLessThanOrEqual(MAX_LINKS_BYTES);
        expect(batch.reduce((sum, one) => sum + (one.bytes ?? 0), 0)).toBeLessThanOrEqual(
          MAX_BATCH_BYTES,
        );
        seen.push(...paths);
        left = left.slice(batch.length);
      }
      expect(seen).toEqual(bytes.map((_, n) => path(n)));
    }),
    { numRuns: 20 },
  );
});
