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

it('a run that states no money costs none, whatever those of others cost', async () => {
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
});
