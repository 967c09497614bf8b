import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { MissingParents } from '../../src/dispatcher/intake/missing-parents.ts';
import { Bus, type Host, type Running } from '../support/bus.ts';
import { byHand, put, setBack, tipOf } from '../support/history.ts';
import { refuse } from '../support/rows.ts';
import { until } from '../support/wait.ts';

/**
 * A question whose part was answered while the question was not on the bus. The addressee's
 * reaction to that waits for a gate; it gives no answer while a file `silent` exists.
 */
async function withoutQuestion(): Promise<{
  bus: Bus;
  front: Host;
  side: Host;
  at: (name: string) => string;
  open: (gate: string) => void;
  back: () => void;
  /** The commit at which the question existed and its part was not answered. */
  before: string;
  answers: () => string[];
}> {
  const bus = new Bus();
  const at = (name: string): string => join(bus.root, name);
  const cli = `
    case "$(cat)" in
      *"please paint"*)
        if ! test -e ${at('begun')}; then touch ${at('begun')}; gate=${at('first')}; else gate=${at('second')}; fi
        for i in $(seq 600); do test -e $gate && break; sleep 0.1; done
        test -e ${at('silent')} || echo reports ;;
      *) crosstalk send --to worker "please paint" >&2 ;;
    esac`;
  const front = await bus.host('front', { boss: cli });
  const side = await bus.host('back', { worker: 'echo done' });
  const question = byHand(front.channel(), 1, 'start', 'boss');
  put(bus, question);
  await front.once();
  const before = tipOf(bus);
  front.remove(question[0]);
  await front.once();
  await side.once();
  return {
    bus,
    front,
    side,
    before,
    at,
    open: (gate) => {
      writeFileSync(at(gate), '');
    },
    back: () => {
      put(bus, question);
    },
    answers: () =>
      bus
        .from('boss')
        .filter(({ message }) => message.re.some((re) => question[0].endsWith(re)))
        .map(({ message }) => message.body.trim()),
  };
}

/** Waits until a dispatcher has scanned the tip of the bus. */
async function seen(bus: Bus, running: Running): Promise<void> {
  const tip = tipOf(bus);
  await running.saw('tick', (event) => event['tip'] === tip);
}

it(
  'a question that comes back while its part is dealt with gets its answer, also where that was answered',
  { tags: 'long' },
  async () => {
    const { bus, front, open, back, answers } = await withoutQuestion();
    const running = front.start();
    await running.saw('dispatch_start');
    back();
    await seen(bus, running);
    open('second');
    open('first');
    await until('the answer', () => answers().length > 0);
    expect(answers()).toEqual(['reports']);
  },
);

it(
  'a question that comes back while its part is dealt with gets its answer also when the first look for it fails',
  { tags: 'long' },
  async () => {
    const { bus, front, open, back, answers } = await withoutQuestion();
    const look = vi
      .spyOn(MissingParents.prototype, 'complete')
      .mockRejectedValueOnce(new Error('no look'));
    const running = front.start();
    await running.saw('dispatch_start');
    back();
    await seen(bus, running);
    open('second');
    open('first');
    await until('the answer', () => answers().length > 0);
    look.mockRestore();
    expect(answers()).toEqual(['reports']);
  },
);

it('a question that comes back while its part is dealt with gets its answer after a restart', async () => {
  const { bus, front, at, open, back, answers } = await withoutQuestion();
  open('silent');
  const running = front.start();
  await running.saw('dispatch_start');
  back();
  await seen(bus, running);
  expect((await front.run('pause')).code).toBe(0);
  open('first');
  await running.saw('dispatch_silent');
  await running.stop();
  rmSync(at('silent'));
  open('second');
  expect((await front.run('resume')).code).toBe(0);
  await front.once();
  await front.once();
  expect(answers()).toEqual(['reports']);
});

it(
  'the answer to a question that is back is given again when it could not be recorded',
  { tags: 'long' },
  async () => {
    const { front, open, back, answers } = await withoutQuestion();
    open('first');
    await front.once();
    back();
    const running = front.start('--grace', '0');
    await until('the second run', () => running.count('dispatch_start') === 1);
    const mend = refuse(front.state, 'outbox');
    open('second');
    await running.saw('record_failed');
    await running.stop();
    mend();
    await front.once();
    await front.once();
    expect(answers()).toEqual(['reports']);
  },
);

it(
  'a question that is back since the branch was set back to when it was there gets its answer',
  { tags: 'long' },
  async () => {
    const { bus, front, side, before, open, answers } = await withoutQuestion();
    open('first');
    open('second');
    await front.once();
    expect(answers()).toEqual([]);
    setBack(bus, before);
    await front.once();
    await side.once();
    for (let start = 0; start < 3; start++) await front.once();
    expect(answers()).toEqual(['reports']);
  },
);

it('the part of a question that is back is not dealt with again once that question is answered', async () => {
  const { bus, front, at, open, back, answers } = await withoutQuestion();
  open('silent');
  open('first');
  await front.once();
  const [part] = bus.from('worker');
  expect(part?.message.body.trim()).toBe('done');
  expect((await front.run('pause')).code).toBe(0);
  const running = front.start();
  back();
  await seen(bus, running);
  const [path, text] = byHand(front.channel(), 9, 'reports', 'alice');
  const question = byHand(front.channel(), 1, 'start', 'boss')[0].split('/').slice(3).join('/');
  const said = text
    .replace('from: alice', 'from: boss\nhost: front')
    .replace('---\n\n', `re: ${question}\n---\n\n`);
  put(bus, [path, said]);
  await seen(bus, running);
  rmSync(at('silent'));
  open('second');
  expect((await front.run('resume')).code).toBe(0);
  await running.saw('dispatch_start');
  await running.stop();
  await front.once();
  expect(answers()).toEqual(['reports']);
});
