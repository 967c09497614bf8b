import { expect, it } from 'vitest';
import { Cancellations } from '../../src/dispatcher/cancellations.ts';
import { Jobs } from '../../src/dispatcher/jobs.ts';
import type { Engine } from '../../src/dispatcher/run/engine.ts';
import { CrosstalkError } from '../../src/errors.ts';
import type { ActiveHost } from '../../src/bus/approvals.ts';
import { path, said } from '../support/messages.ts';

/** Cancellations that cannot read what they are about. */
function broken(error: Error): { honour: () => Promise<void>; left: () => number; log: string[] } {
  const { relPath, message } = said(2, 'alice', 'worker');
  const cancels = [{ channel: 'c', relPath, message: { ...message, cancels: path(1) } }];
  const log: string[] = [];
  const engine = {
    deliveries: { reports: { cancels } },
    reader: { message: () => Promise.reject(error) },
    log: (event: string) => log.push(event),
  };
  const cancellations = new Cancellations(engine as unknown as Engine, new Jobs(), () => undefined);
  const host = { actors: new Map(), alias: 'mac' } as unknown as ActiveHost;
  return {
    honour: () => cancellations.honour(host, 'tip'),
    left: () => cancels.length,
    log,
  };
}

it.each([
  ['by a mistake in this program', new TypeError('no such thing')],
  ['as git cannot read it', new CrosstalkError('git_failed', 'no such thing')],
])(
  'a cancellation that fails each time %s is given up and reported, and what follows is delivered',
  async (_how, error) => {
    const { honour, left, log } = broken(error);
    for (let tick = 1; tick < 5; tick++) await expect(honour()).rejects.toThrow('no such thing');
    expect(left()).toBe(1);
    await honour();
    expect([left(), log]).toEqual([0, ['internal_error']]);
  },
);

const full = Object.assign(new Error('no space left'), { code: 'ENOSPC', errno: -28 });

it.each([
  ['', full],
  [', whoever tells of it,', new CrosstalkError('internal', 'no space left', { cause: full })],
])('one that a full disk%s prevents is tried until it is done', async (_who, error) => {
  const { honour, left } = broken(error);
  for (let tick = 0; tick < 20; tick++) await expect(honour()).rejects.toThrow('no space left');
  expect(left()).toBe(1);
});
