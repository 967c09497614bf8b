import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Mailboxes, type Delivery } from '../../src/protocol/mailbox.ts';
import { path, said } from '../support/messages.ts';

const delivery = (n: number, actor = 'a', channel = 'c'): Delivery => ({
  ...said(n, 'x', actor),
  actor,
  channel,
});

/** The cursor of `a` in `c`. */
const cursorOf = (boxes: Mailboxes): string | undefined => boxes.cursors('a')['c'] ?? boxes.scanned;

/** Takes everything pending in the mailbox of `a` and `c`. */
const take = (boxes: Mailboxes): string[] =>
  boxes
    .waiting()
    .filter(({ actor, channel }) => actor === 'a' && channel === 'c')
    .flatMap(({ messages }) =>
      boxes.take(
        'a',
        'c',
        messages.map(({ relPath }) => relPath),
      ),
    )
    .map(({ relPath }) => relPath);

it('what was taken is not handed out again, and what comes meanwhile waits', () => {
  const boxes = new Mailboxes();
  boxes.addScan('0', '1', [delivery(1), delivery(2), delivery(3, 'a', 'other')]);
  expect(take(boxes)).toEqual([path(1), path(2)]);
  boxes.addScan('1', '2', [delivery(4)]);
  expect(boxes.take('a', 'c', [path(1), path(4)]).map(({ relPath }) => relPath)).toEqual([path(4)]);
  expect(take(boxes)).toEqual([]);
});

it('what turns out to be missing when it is handed over is held, and keeps the cursor back', () => {
  const boxes = new Mailboxes();
  boxes.addScan('0', '1', [delivery(1), delivery(2)]);
  take(boxes);
  boxes.awaitContent('a', 'c', [path(1)]);
  boxes.settle('a', 'c', [path(2)]);
  expect(take(boxes)).toEqual([]);
  expect(boxes.counts()).toEqual({ pending: 0, running: 0, awaiting: 1 });
  expect(cursorOf(boxes)).toBe('0');
  boxes.release(delivery(1));
  expect(take(boxes)).toEqual([path(1)]);
});

it('what is to be made again asks for a look at everything, whatever waits before it', () => {
  const boxes = new Mailboxes();
  boxes.addScan('1', '2', [delivery(1)]);
  boxes.addAgain([delivery(2)]);
  expect(cursorOf(boxes)).toBe('');
  expect(take(boxes)).toEqual([path(1), path(2)]);
  boxes.settle('a', 'c', [path(2)]);
  expect(cursorOf(boxes)).toBe('1');
});

it('what is to be made again while its outcome is being published is made once that is settled', () => {
  const boxes = new Mailboxes();
  boxes.addScan('0', '1', [delivery(1)]);
  take(boxes);
  boxes.addAgain([delivery(1)]);
  boxes.addAgain([delivery(2)], () => 'running');
  expect(take(boxes)).toEqual([]);
  boxes.settle('a', 'c', [path(1), path(2)]);
  expect(cursorOf(boxes)).toBe('');
  expect(take(boxes)).toEqual([path(1), path(2)]);
  boxes.settle('a', 'c', [path(1), path(2)]);
  expect(take(boxes)).toEqual([]);
  expect(cursorOf(boxes)).toBe('1');
});

it('a message found twice is delivered once', () => {
  const boxes = new Mailboxes();
  boxes.addScan('0', '1', [delivery(1), delivery(1)]);
  boxes.addScan('1', '2', [delivery(1)]);
  expect(take(boxes)).toHaveLength(1);
});

it('what a stopped run gives back is delivered again', () => {
  const boxes = new Mailboxes();
  boxes.addScan('0', '1', [delivery(1)]);
  take(boxes);
  boxes.giveBack('a', 'c', [path(1)]);
  expect(take(boxes)).toHaveLength(1);
});

it('a retry without an outcome gives nothing back: its dead letter has it', () => {
  const boxes = new Mailboxes();
  boxes.addScan('0', '1', [delivery(1), delivery(2)]);
  take(boxes);
  boxes.settle('a', 'c', [path(1)]);
  boxes.giveBack('a', 'c', [path(1)]);
  expect(take(boxes)).toEqual([]);
  expect(cursorOf(boxes)).toBe('0');
});

it('the cursor is where the oldest scan with an unsettled delivery began, in any order of events', () => {
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
          for (const relPath of take(boxes)) running.add(relPath);
        } else {
          const chosen = [...running][action.index];
          if (chosen === undefined) continue;
          running.delete(chosen);
          if (action.kind === 'settle') {
            settled.add(chosen);
            boxes.settle('a', 'c', [chosen]);
          } else boxes.giveBack('a', 'c', [chosen]);
        }
        const cursor = cursorOf(boxes);
        if (cursor === undefined) continue;
        for (const [relPath, scan] of scanOf) {
          if (Number(cursor) > scan) expect(settled).toContain(relPath);
        }
        const open = [...scanOf].flatMap(([relPath, scan]) => (settled.has(relPath) ? [] : [scan]));
        expect(cursor).toBe(String(Math.min(...open, scans)));
      }
    }),
    { numRuns: 300 },
  );
});
