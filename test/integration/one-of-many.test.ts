import { expect, it, onTestFinished, vi } from 'vitest';
import {
  AnswersElsewhere,
  type ElsewhereApp,
} from '../../src/dispatcher/automation/answers-elsewhere.ts';
import { Schedules } from '../../src/dispatcher/automation/schedules.ts';
import { Guards } from '../../src/dispatcher/run/guards.ts';
import { messageFile } from '../../src/protocol/layout.ts';
import { Bus, type Host } from '../support/bus.ts';
import { said } from '../support/messages.ts';
import { until } from '../support/wait.ts';

const CHANNEL = '00000000-0000-4000-8000-000000000000';
const SOURCE = { source: { kind: 'answer', name: 'worker' }, host: 'mac', enabled: true };

/** What fails in the dispatcher, as status says it. */
const stalled = async (host: Host): Promise<string> => {
  const { out } = await host.run('status');
  return (
    /^.*the dispatcher's work fails since \S+ \S+ (.*); it is tried again/m.exec(out)?.[1] ?? ''
  );
};

it('an actor of whose mail no run can be planned keeps no other from working, and status says so', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { sick: 'echo done', well: 'echo done' });
  const { choose } = Guards.prototype;
  const spy = vi.spyOn(Guards.prototype, 'choose').mockImplementation(function (
    this: Guards,
    ...args
  ) {
    if (args[1].actor === 'sick') throw new Error('no such tier');
    return choose.apply(this, args);
  });
  onTestFinished(() => {
    spy.mockRestore();
  });
  await host.send('sick', 'first');
  await host.send('well', 'second');
  const running = host.start();
  await until('the answer of the other', () => bus.from('well').length === 1);
  await until('it in status', async () => (await stalled(host)) === 'sick: no such tier');
  expect(running.events.filter(({ event }) => event === 'internal_error')).toHaveLength(1);
  spy.mockRestore();
  await until('its own answer', () => bus.from('sick').length === 1);
  await until('nothing in status', async () => (await stalled(host)) === '');
});

it('schedules that fail as a whole are said by status, and keep no mail', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo done' });
  const spy = vi.spyOn(Schedules.prototype, 'fire').mockRejectedValue(new Error('no such day'));
  onTestFinished(() => {
    spy.mockRestore();
  });
  await host.send('worker', 'hello');
  host.start();
  await until('the answer', () => bus.from('worker').length === 1);
  await until('it in status', async () => (await stalled(host)) === 'schedules: no such day');
});

it('an answer on which nothing can follow is given up, and tasks follow on those after it', async () => {
  const answers = [1, 2].map((n) => said(n, 'worker', 'alice', { re: [0] }));
  const [first] = answers;
  const log: string[] = [];
  const put: unknown[] = [];
  const parts = {
    files: {
      at: () => Promise.resolve({ files: [{ name: 's', result: { ok: true, value: SOURCE } }] }),
    },
    subscriptions: {
      following: (_host: string, _tip: string, [answer]: (typeof first)[]) =>
        answer?.relPath === first?.relPath
          ? Promise.reject(new TypeError('no such thing'))
          : Promise.resolve([{ subscription: 's', commit: { files: [] } }]),
    },
    transport: {
      changes: function* () {
        yield answers.map(({ relPath }) => ({ path: messageFile(CHANNEL, relPath), status: 'A' }));
      },
    },
    reader: { channels: () => Promise.resolve([]), messages: () => Promise.resolve(answers) },
    record: {
      get: () => Promise.resolve({ until: 'before', names: ['s'] }),
      set: () => Promise.resolve(),
    },
    outbox: { put: (entry: unknown) => Promise.resolve(put.push(entry)) },
    publish: () => undefined,
    newId: () => 'id',
    log: (event: string) => log.push(event),
  };
  const elsewhere = new AnswersElsewhere(parts as unknown as ElsewhereApp);
  for (let tick = 1; tick < 5; tick++)
    await expect(elsewhere.follow('mac', 'tip')).rejects.toThrow('no such thing');
  await elsewhere.follow('mac', 'tip');
  expect([log, put.length]).toEqual([['subscription_invalid', 'subscription_fired'], 1]);
});
