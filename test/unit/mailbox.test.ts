import fc from 'fast-check';
import { expect, it } from 'vitest';
import { MAX_BATCH, Mailboxes, type Delivery } from '../../src/protocol/mailbox.ts';
import { path, said } from '../support/messages.ts';

const delivery = (n: number, actor = 'a', channel = 'c'): Delivery => ({
  ...said(n, 'x', actor),
  actor,
  channel,
});

it('a batch is everything pending in one mailbox; what comes meanwhile waits for the next', () => {
  const boxes = new Mailboxes();
  boxes.addScan('0', '1', [delivery(1), delivery(2), delivery(3, 'a', 'other')]);
  expect(boxes.take('a', 'c').map(({ relPath }) => relPath)).toEqual([path(1), path(2)]);
  boxes.addScan('1', '2', [delivery(4)]);
  expect(boxes.take('a', 'c').map(({ relPath }) => relPath)).toEqual([path(4)]);
  expect(boxes.take('a', 'c')).toEqual([]);
});

it('a batch is never larger than what fits an environment variable', () => {
  const boxes = new Mailboxes();
  boxes.addScan(
    '0',
    '1',
    Array.from({ length: MAX_BATCH + 5 }, (_, n) => delivery(n)),
  );
  const batch = boxes.take('a', 'c').map(({ relPath }) => relPath);
  expect(batch).toHaveLength(MAX_BATCH);
  expect(Buffer.byteLength(batch.join(','))).toBeLessThan(128 * 1024);
  expect(boxes.take('a', 'c')).toHaveLength(5);
});

it('a message found twice is delivered once', () => {
  const boxes = new Mailboxes();
  boxes.addScan('0', '1', [delivery(1), delivery(1)]);
  boxes.addScan('1', '2', [delivery(1)]);
  expect(boxes.take('a', 'c')).toHaveLength(1);
});

it('what a stopped run gives back is delivered again', () => {
  const boxes = new Mailboxes();
  boxes.addScan('0', '1', [delivery(1)]);
  boxes.take('a', 'c');
  boxes.giveBack('a', 'c', [path(1)]);
  expect(boxes.take('a', 'c')).toHaveLength(1);
});

it('a retry without an outcome gives nothing back: its dead letter has it', () => {
  const boxes = new Mailboxes();
  boxes.addScan('0', '1', [delivery(1), delivery(2)]);
  boxes.take('a', 'c');
  boxes.settle('a', 'c', [path(1)]);
  boxes.giveBack('a', 'c', [path(1)]);
  expect(boxes.take('a', 'c')).toEqual([]);
  expect(boxes.cursor('a', 'c')).toEqual({ commit: '0', settled: [path(1)] });
});

it('the cursor never passes an unsettled delivery, and what it does not cover is listed, in any order of events', () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('scan' as const), count: fc.nat(3) }),
    fc.record({ kind: fc.constant('take' as const) }),
    fc.record({ kind: fc.constant('settle' as const), index: fc.nat(20) }),
    fc.record({ kind: fc.constant('giveBack' as const), index: fc.nat(20) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const boxes = new Mailboxes();
      const scanOf = new Map<string, number>();
      const running = new Set<string>();
      const settled = new Set<string>();
      let scans = 0;
      for (const action of steps) {
        if (action.kind === 'scan') {
          const found = Array.from({ length: action.count }, (_, n) => delivery(scanOf.size + n));
          for (const { relPath } of found) scanOf.set(relPath, scans);
          boxes.addScan(String(scans), String(scans + 1), found);
          scans++;
        } else if (action.kind === 'take') {
          for (const { relPath } of boxes.take('a', 'c')) running.add(relPath);
        } else {
          const chosen = [...running][action.index];
          if (chosen === undefined) continue;
          running.delete(chosen);
          if (action.kind === 'settle') {
            settled.add(chosen);
            boxes.settle('a', 'c', [chosen]);
          } else boxes.giveBack('a', 'c', [chosen]);
        }
        const cursor = boxes.cursor('a', 'c');
        if (cursor === undefined) continue;
        for (const [relPath, scan] of scanOf) {
          const covered = Number(cursor.commit) > scan || cursor.settled.includes(relPath);
          if (covered) expect(settled).toContain(relPath);
          else expect(settled.has(relPath)).toBe(false);
        }
        if (settled.size === scanOf.size)
          expect(cursor).toEqual({ commit: String(scans), settled: [] });
      }
    }),
    { numRuns: 300 },
  );
});
