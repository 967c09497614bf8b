import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { Bus, type Host } from '../support/bus.ts';
import { headless } from './clis.ts';
import { machine, underTest } from './machine.ts';
import { startModelServer } from './server.ts';

const each = underTest('claude', 'codex', 'pi', 'opencode', 'gemini').map(
  (cli) => [cli.name, cli] as const,
);

const FIRST = { input: 100, cached: 1000, output: 10 };
const LAST = { input: 200, cached: 2000, output: 20 };

/** What each CLI states beside the tokens, which are the same for all. */
const STATES: Record<string, object> = {
  claude: { turns: 2, usd: 0.00375 },
  codex: {},
  pi: { model: 'fake', turns: 2, usd: 0 },
  opencode: { turns: 2, usd: 0 },
  gemini: { turns: 2 },
};

function ledger(host: Host): unknown[] {
  const folder = join(host.state, 'ledger');
  return (existsSync(folder) ? readdirSync(folder) : [])
    .flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n'))
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as unknown);
}

it.each(each)(
  '%s: the answer is its text, and the answer and the ledger say exactly what it used',
  async (name, cli) => {
    const bus = new Bus();
    const server = await startModelServer(({ results }) =>
      results.length === 0
        ? { shell: 'echo a-line-of-the-transcript', used: FIRST }
        : { say: '# Done\n\nAll of **it**: `a | b`.', used: LAST },
    );
    onTestFinished(() => server.close());
    const host = await machine(bus, 'laptop', server.url, { worker: cli });
    const running = host.start();
    const question = await host.send('worker', 'Do it, please.');
    const replied = await host.run('replies', '--wait', '--timeout', '150', question);
    await running.stop();
    expect(replied.code, replied.out).toBe(0);

    const used = { input: 300, cached: 3000, output: 30, ...STATES[name] };
    const { message } = bus.from('worker')[0]!;
    expect(message.body).toBe('# Done\n\nAll of **it**: `a | b`.\n');
    expect(message.usage).toMatchObject(used);
    expect(ledger(host)).toMatchObject([{ actor: 'worker', ended: 'answered', usage: used }]);
    expect(JSON.stringify(bus.messages())).not.toContain('a-line-of-the-transcript');
  },
);

it.each(each)('%s: a run that fails is a failure in its own words', async (_name, cli) => {
  const bus = new Bus();
  const message = 'the request is malformed in a way of its own';
  const server = await startModelServer(() => ({
    status: 400,
    body: { type: 'error', error: { type: 'invalid_request_error', message } },
  }));
  onTestFinished(() => server.close());
  const host = await machine(bus, 'laptop', server.url, { worker: cli });
  host.declare({ worker: { default: { cli: headless(cli), attempts: 1 } } });
  await host.approve();
  await host.send('worker', 'Do it, please.');
  await host.once();

  expect(ledger(host)).toMatchObject([{ ended: 'failed', reason: 'exit_code' }]);
  expect((await host.run('dlq', '--json')).out).toContain(message);
});
