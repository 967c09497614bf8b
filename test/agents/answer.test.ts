import { expect, it, onTestFinished } from 'vitest';
import { Bus } from '../support/bus.ts';
import { machine, underTest } from './machine.ts';
import { startModelServer, type ModelServer, type Script } from './server.ts';

const all = underTest('claude', 'codex', 'pi', 'opencode', 'gemini').map(
  (cli) => [cli.name, cli] as const,
);

async function model(script: Script): Promise<ModelServer> {
  const server = await startModelServer(script);
  onTestFinished(() => server.close());
  return server;
}

it.each(all)('%s on one host answers a question asked on another', async (_name, cli) => {
  const server = await model(({ prompt }) => ({
    say: prompt.includes('Which services have no health check?') ? 'Billing and mail.' : 'What?',
  }));
  const bus = new Bus();
  const front = await bus.host('front', {});
  const back = await machine(bus, 'back', server.url, { concierge: cli });
  const running = [front.start(), back.start()];

  const question = await front.send('concierge', 'Which services have no health check?');
  const replied = await front.run('replies', '--wait', '--timeout', '150', question);

  expect(replied.out).toMatch(/^REPLIED .*\n {2}from concierge .*\n {2}Billing and mail\.\n$/);
  for (const dispatcher of running) await dispatcher.stop();
  expect(running.flatMap((one) => one.events).map(({ event }) => event)).not.toContain(
    'dispatch_failed',
  );
});

it.each(all)(
  '%s delegates by crosstalk send in its shell, is woken by the answer, and gives one answer',
  async (_name, cli) => {
    const server = await model(({ prompt, results }) => {
      if (prompt.includes('You are the actor "worker"')) return { say: 'Nine of nine pass.' };
      if (prompt.includes('(from: worker, ref: '))
        return { say: `The tester says: ${/Nine of nine pass\./.exec(prompt)?.[0] ?? 'nothing'}` };
      return results.length === 0
        ? { shell: 'crosstalk send --to worker "Run the tests, please."' }
        : { say: '' };
    });
    const bus = new Bus();
    const front = await machine(bus, 'front', server.url, { concierge: cli });
    const back = await machine(bus, 'back', server.url, { worker: cli });
    const running = [front.start(), back.start()];

    const question = await front.send('concierge', 'Do the tests pass?');
    const replied = await front.run('replies', '--wait', '--timeout', '270', question);

    expect(replied.out).toContain('The tester says: Nine of nine pass.');
    for (const dispatcher of running) await dispatcher.stop();
    expect(bus.messages().map(({ message }) => [message.from, message.to[0]?.name])).toEqual([
      ['operator', 'concierge'],
      ['concierge', 'worker'],
      ['worker', 'concierge'],
      ['concierge', 'operator'],
    ]);
  },
);
