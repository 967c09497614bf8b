import { expect, it } from 'vitest';
import { Bus } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { billed, billedRuns, pass, printing } from '../support/passes.ts';

it('what a run has spent counts, also when its account is at its limit before it ends', async () => {
  const bus = new Bus();
  const refused = {
    type: 'result',
    is_error: true,
    result: 'Claude AI usage limit reached|1795600000',
    total_cost_usd: 5,
    usage: { input_tokens: 10, output_tokens: 10 },
  };
  const cli = `${printing(bus, 'claude', refused, 1)} -p`;
  const host = await bus.host('front', { worker: { default: { cli, max_usd_per_day: '6' } } });
  await host.send('worker', 'one');
  for (let n = 0; n < 2; n++) {
    await pass(host);
    await host.run('resume');
  }
  const [parked] = (await pass(host)).filter(({ event }) => event === 'parked');
  expect(parked?.['said']).toBe('max_usd_per_day of worker.default is $6, and $10 are spent');
  expect(billedRuns(host).map(({ ended }) => ended)).toEqual(['refused', 'refused']);
});

it('what a CLI prints for the name of a model does not keep its answer from being read', async () => {
  const bus = new Bus();
  const model = `${'x'.repeat(40_000)}\u001b[31m: `;
  const result = {
    ...{ type: 'result', result: 'It is done.', total_cost_usd: 1e308 },
    ...{ usage: { input_tokens: -5, output_tokens: 12 }, modelUsage: { [model.repeat(3)]: {} } },
  };
  const host = await bus.host('front', { worker: `${printing(bus, 'claude', result, 0)} -p` });
  const question = await host.send('worker', 'one');
  await pass(host);
  const [answer] = bus.from('worker');
  expect(answer?.message.re).toEqual([question]);
  expect(answer?.message.usage).toMatchObject({ input: 0, cached: 0, output: 12 });
  expect(billedRuns(host)[0]?.usage).toEqual({ input: 0, cached: 0, output: 12, turns: 0 });
});

it(
  'a result that leaves out what was used does not hide what was stated before it',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const usage = { input_tokens: 30, output_tokens: 12 };
    const turn = { type: 'assistant', message: { id: 'one', content: [], usage } };
    const cli = printing(
      bus,
      'claude',
      { type: 'result', result: 'fine' },
      0,
      `echo '${JSON.stringify(turn)}'`,
    );
    const tier = { cli: `${cli} -p`, max_tokens_per_day: 42 };
    const host = await bus.host('front', { worker: { default: tier } });
    for (const text of ['one', 'two']) {
      await host.send('worker', text);
      await pass(host);
    }
    expect(billedRuns(host)).toHaveLength(1);
  },
);

it(
  'a run that states no money costs none, whatever those of others cost',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const answer = { type: 'item.completed', item: { type: 'agent_message', text: 'by codex' } };
    const codex = printing(bus, 'codex', answer, 0);
    const host = await bus.host('front', {
      worker: { large: billed(), cheap: `${codex} exec -` },
      plain: 'echo plain',
    });
    git(host.dir, 'config', 'crosstalk.maxUsdPerDay', '0.50');
    await host.send('worker', 'one');
    await pass(host);
    for (let n = 0; n < 3; n++) {
      await host.send('plain', 'a task');
      await host.run('send', '--to', 'worker', '--tier', 'cheap', 'a task');
      await pass(host);
    }
    expect(bus.messages().filter(({ message }) => message.interim === true)).toEqual([]);
    expect(billedRuns(host)).toHaveLength(7);
    await host.send('worker', 'two');
    await pass(host);
    expect(
      bus.from('worker').filter(({ message: { body } }) => body === 'It is done.\n'),
    ).toHaveLength(2);
  },
);
