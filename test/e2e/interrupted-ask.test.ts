import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { Bus, type Host } from '../support/bus.ts';
import { Program } from '../support/process.ts';
import { rowsIn } from '../support/rows.ts';
import { until } from '../support/wait.ts';

/** Moments at which an `ask` is interrupted before its question is recorded, about so many. */
const MOMENTS = 12;

it.each(['without a dispatcher', 'after a dispatcher was killed'])(
  'what an ask says that is interrupted at any moment is true, %s',
  { tags: 'slow' },
  async (how) => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'true' });
    if (how !== 'without a dispatcher') {
      const dispatcher = new Program(host, 'dispatch', '--host', 'front');
      await dispatcher.saw('host_file_loaded');
      await dispatcher.stop('SIGKILL');
    }
    const begun = performance.now();
    const first = new Program(host, 'ask', 'worker', 'first');
    await until('the question', () => isKept(bus, host, 'first'));
    const step = (performance.now() - begun) / MOMENTS;
    await first.stop('SIGKILL');
    const said = new Map<string, 'nothing' | 'sent'>();
    const isDone = (): boolean => [...said.values()].filter((one) => one === 'sent').length >= 4;
    for (let n = 0; !isDone(); n++) {
      const body = `question ${String(n)}.`;
      const asking = new Program(host, 'ask', '--timeout', '200', 'worker', body);
      await sleep(step * n);
      const ended = await asking.stop(n % 2 === 0 ? 'SIGINT' : 'SIGTERM');
      const word = /interrupted; ([^:\n]*)/.exec(asking.err)?.[1] ?? '';
      expect([word, asking.out]).toEqual([
        // It ends without a word before the command is loaded.
        expect.toBeOneOf(['', 'nothing was sent', 'the question stays']),
        '',
      ]);
      if (word !== '') expect(ended).toBe(130);
      const isSent = word === 'the question stays';
      expect([body, isKept(bus, host, body)]).toEqual([body, isSent]);
      said.set(body, isSent ? 'sent' : 'nothing');
      if (!isSent) continue;
      const question = /crosstalk wait (\S+),/.exec(asking.err)?.[1] ?? '';
      expect((await host.run('wait', '--timeout', '0', question)).code).toBe(3);
    }
    await host.run('sync');
    const bodies = bus.messages().map(({ message }) => message.body.trimEnd());
    const sent = [...said].flatMap(([body, what]) => (what === 'sent' ? [body] : []));
    expect(bodies.sort()).toEqual(['first', ...sent].sort());
  },
);

it('an ask that is interrupted before it sends anything says so', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'true' });
  const refused = await host.runWith({ stop: AbortSignal.abort() }, 'ask', 'worker', 'what?');
  expect(refused).toEqual({
    code: 130,
    out: '',
    err: 'crosstalk ask: interrupted; nothing was sent\n',
  });
  expect(isKept(bus, host, 'what?')).toBe(false);
});

/** Whether a message with this text is in the outbox or on the remote. */
function isKept(bus: Bus, host: Host, body: string): boolean {
  // Asked first: it is on the remote before it leaves the outbox.
  const isQueued = JSON.stringify(rowsIn(host.state, 'outbox')).includes(body);
  return isQueued || bus.messages().some(({ message }) => message.body.trimEnd() === body);
}
