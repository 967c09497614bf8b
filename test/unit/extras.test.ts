import { expect, it } from 'vitest';
import { ItemErrors } from '../../src/bus/stalled-jobs.ts';
import { type Arrived, Extras } from '../../src/dispatcher/extras/extras.ts';
import type { EngineExtra } from '../../src/dispatcher/run/engine.ts';
import type { Job, JobResult } from '../../src/dispatcher/run/job.ts';
import type { Delivery } from '../../src/protocol/mailbox.ts';

const NEWS = {} as Arrived;
const JOB = {} as Job;
const STARTING = { running: 0, letter: undefined };
const MAIL = ['a', 'b', 'c'].map((relPath) => ({ relPath })) as Delivery[];
const now = (): Date => new Date('2026-06-09T19:00:00Z');
const broken = (): Promise<never> => Promise.reject(new Error('no such disk'));

function made(...all: EngineExtra[]): {
  extras: Extras<Job, JobResult>;
  errors: ItemErrors;
  log: string[];
} {
  const log: string[] = [];
  const errors = new ItemErrors(now, (_event, fields) => log.push(String(fields?.['error'])));
  return { extras: new Extras(all, errors), errors, log };
}

it('guards leave what all of them let through, each asked about what is left', async () => {
  const without =
    (relPath: string): NonNullable<EngineExtra['candidates']> =>
    (_tip, messages) =>
      Promise.resolve(messages.filter((one) => one.relPath !== relPath));
  const { extras } = made(
    { name: 'x', candidates: without('a') },
    { name: 'y', candidates: without('c') },
  );
  expect((await extras.candidates('tip', MAIL)).map(({ relPath }) => relPath)).toEqual(['b']);
});

it('a guard that fails, or takes too long, is an error with its name', async () => {
  const slow: EngineExtra = {
    name: 'slow',
    patience: 5,
    beforeRun: () => new Promise(() => undefined),
  };
  await expect(made(slow).extras.beforeRun(JOB, STARTING)).rejects.toThrow(
    'slow: took more than 0.005 s',
  );
  const throws = (): never => {
    throw new Error('no such disk');
  };
  await expect(
    made({ name: 'rash', beforeRun: throws }).extras.beforeRun(JOB, STARTING),
  ).rejects.toThrow('rash: no such disk');
  const sick = made({ name: 'sick', candidates: broken }).extras;
  await expect(sick.candidates('tip', MAIL)).rejects.toThrow('sick: no such disk');
});

it('a guard that could not read the last news lets nothing through until it has', async () => {
  let isBroken = true;
  const { extras } = made({
    name: 'x',
    ingest: () => (isBroken ? broken() : Promise.resolve()),
    candidates: (_tip, messages) => Promise.resolve(messages),
  });
  await extras.ingest(NEWS);
  await expect(extras.candidates('tip', MAIL)).rejects.toThrow(
    'x could not read the news: no such disk',
  );
  isBroken = false;
  await extras.ingest(NEWS);
  expect(await extras.candidates('tip', MAIL)).toEqual(MAIL);
});

it('an observer that fails keeps nothing from going on, and is shown until a round without it', async () => {
  const called: string[] = [];
  const seen: EngineExtra = {
    name: 'seen',
    ingest: () => Promise.resolve(void called.push('ingest')),
    afterRun: () => Promise.resolve(void called.push('afterRun')),
    stop: () => Promise.resolve(void called.push('stop')),
  };
  const bad: EngineExtra = {
    name: 'bad',
    ingest: () => {
      throw new Error('no such disk');
    },
    afterRun: broken,
    stop: broken,
  };
  const { extras, errors, log } = made(bad, seen, bad);
  await extras.ingest(NEWS);
  expect(errors.first?.reason).toBe('bad: no such disk');
  await extras.afterRun(JOB, undefined);
  await extras.stop();
  expect(called).toEqual(['ingest', 'afterRun', 'stop']);
  expect(log).toEqual(['bad: no such disk']);
});

it('the end of a run and of the dispatcher are told in reverse', async () => {
  const called: string[] = [];
  const of = (name: string): EngineExtra => ({
    name,
    ingest: () => Promise.resolve(void called.push(name)),
    stop: () => Promise.resolve(void called.push(name)),
  });
  const { extras } = made(of('x'), of('y'));
  await extras.ingest(NEWS);
  await extras.stop();
  expect(called).toEqual(['x', 'y', 'y', 'x']);
});

it('the next time is the first that is ahead', () => {
  const at = (time: string): EngineExtra => ({ name: time, next: () => new Date(time) });
  const all = [at('2026-06-09T18:00:00Z'), at('2026-06-09T21:00:00Z'), at('2026-06-09T20:00:00Z')];
  expect(made(...all, { name: 'x' }).extras.next(now())).toEqual(new Date('2026-06-09T20:00:00Z'));
});

it('what mail needs is asked only of extras that are not there', async () => {
  const { extras } = made({ name: 'x' });
  const never = (): never => expect.unreachable();
  await extras.require({ x: never, y: () => false });
  await expect(extras.require({ y: () => Promise.resolve(true) })).rejects.toThrow(
    'it needs the extra y, which is not there',
  );
});
