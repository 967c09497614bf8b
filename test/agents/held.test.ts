import { expect, inject, it, onTestFinished } from 'vitest';
import { Bus } from '../support/bus.ts';
import { until } from '../support/wait.ts';
import { realCli } from './clis.ts';
import { machine } from './machine.ts';
import { REFUSALS } from './refusals.ts';
import { startModelServer } from './server.ts';

/**
 * One rate limit and one refused key for each CLI; a refusal with special settings cannot recover.
 */
const candidates = REFUSALS.filter(({ env }) => env === undefined);
const cases = candidates
  .filter(({ cli, held }, index) => {
    const first = candidates.findIndex((other) => other.cli === cli && other.held === held);
    return index === first && inject('agents').names.includes(cli);
  })
  .map((refusal) => [refusal.cli, refusal.held, refusal.when, refusal] as const);

it.each(cases)(
  '%s is held as %s when %s, and answers the same mail after crosstalk resume',
  async (_cli, _held, _when, refusal) => {
    let refused = true;
    const server = await startModelServer(() =>
      refused ? refusal.turn(new Date()) : { say: 'Here I am.' },
    );
    onTestFinished(() => server.close());
    const bus = new Bus();
    const front = await bus.host('front', {});
    const back = await machine(bus, 'back', server.url, { worker: realCli(refusal.cli) });
    const running = back.start();

    const question = await front.send('worker', 'Are you there?');
    const parked = await until(
      'the refusal to be noticed',
      () => running.events.find(({ event }) => event === 'parked'),
      150_000,
    );
    expect(parked['reason']).toBe(refusal.held);
    if (refusal.until !== undefined) {
      const from = Date.parse(String(parked['ts']));
      const wait = (Date.parse(String(parked['until'])) - from) / 1000;
      expect(Math.abs(wait - refusal.until)).toBeLessThan(120);
    }

    refused = false;
    await back.run('resume');
    const replied = await front.run('replies', '--wait', '--timeout', '150', question);
    expect(replied.out).toMatch(/^REPLIED .*\n {2}from worker .*\n {2}Here I am\.\n$/);
    await running.stop();
    expect(running.count('dispatch_failed')).toBe(0);
    expect(running.count('dead_letter')).toBe(0);
  },
);
