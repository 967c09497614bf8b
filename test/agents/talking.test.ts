import { expect, it, onTestFinished } from 'vitest';
import { Bus, type Running } from '../support/bus.ts';
import { until } from '../support/wait.ts';
import { machine, underTest } from './machine.ts';
import type { ModelRequest } from './model-request.ts';
import { startModelServer, type ModelServer, type Script } from './server.ts';

const clis = underTest('claude', 'codex', 'opencode', 'gemini', 'pi');

async function model(script: Script): Promise<ModelServer> {
  const server = await startModelServer(script);
  onTestFinished(() => server.close());
  return server;
}

const isActor = ({ prompt }: ModelRequest, name: string): boolean =>
  prompt.includes(`You are the actor "${name}"`);

/** The actors in the order in which they were run. */
const runs = (running: readonly Running[]): string[] =>
  running
    .flatMap(({ events }) => events)
    .filter(({ event }) => event === 'dispatch_start')
    .map(({ actor }) => String(actor));

it.each(clis.map((cli) => [cli.name, cli] as const))(
  '%s on another host asks the operator back, goes on with the reply, and ask gives its answer',
  async (_name, cli) => {
    const server = await model(({ prompt, results }) => {
      const asked = prompt.includes('where to?');
      if (asked && prompt.includes('Deploy it, please.') && prompt.includes('staging\n'))
        return { say: 'Deployed to staging.' };
      return results.length === 0
        ? { shell: 'crosstalk send --to operator --option staging --option live "where to?"' }
        : { say: '' };
    });
    const bus = new Bus();
    const front = await bus.host('front', {});
    const back = await machine(bus, 'back', server.url, { worker: cli });
    const running = [front.start(), back.start()];

    const asking = front.run('ask', 'worker', '--timeout', '150', 'Deploy it, please.');
    const question = await until('the question back', () => bus.from('worker').at(0), 120_000);
    expect(question.message).toMatchObject({ interim: true, options: ['staging', 'live'] });
    await front.run('reply', question.relPath, '--option', '1');

    expect(await asking).toMatchObject({ code: 0, out: 'Deployed to staging.\n' });
    for (const dispatcher of running) await dispatcher.stop();
    expect(runs(running)).toEqual(['worker', 'worker']);
  },
);

const [first, second = first] = clis;

it.runIf(first)(
  'of two CLIs that chatter nobody is woken for a word on the way, and ask gives the last answer',
  async () => {
    if (first === undefined || second === undefined) return;
    const does = (
      { results }: ModelRequest,
      command: string,
      words: string,
    ): { shell: string } | { say: string } =>
      results.length === 0 ? { shell: command } : { say: words };
    const server = await model((request) => {
      const { prompt } = request;
      if (isActor(request, 'librarian')) return { say: 'It is noted.' };
      if (isActor(request, 'tester')) {
        // Gemini takes an answer without a word for an error of the model, unless a tool was called.
        if (prompt.includes('(from: librarian, ref: ')) return does(request, 'true', '');
        return prompt.includes('The branch is main.')
          ? does(request, 'crosstalk send --to librarian "Note it."', 'All pass on main.')
          : does(request, 'crosstalk send --to lead "Which branch?"', '');
      }
      if (prompt.includes('All pass on main.')) return { say: 'The tests pass.' };
      return prompt.includes('Which branch?')
        ? does(request, 'crosstalk send --to tester "The branch is main."', 'The tester is at it.')
        : does(request, 'crosstalk send --to tester "Run it."', 'I have asked the tester.');
    });
    const bus = new Bus();
    const front = await machine(bus, 'front', server.url, { lead: first, librarian: first });
    const back = await machine(bus, 'back', server.url, { tester: second });
    const running = [front.start(), back.start()];

    const asked = await front.run('ask', 'lead', '--timeout', '200', 'Do the tests pass?');

    expect(asked).toMatchObject({ code: 0, out: 'The tests pass.\n' });
    for (const dispatcher of running) await dispatcher.stop();
    const order = ['lead', 'lead', 'lead', 'librarian', 'tester', 'tester', 'tester'];
    expect(runs(running).sort()).toEqual(order);
  },
);
