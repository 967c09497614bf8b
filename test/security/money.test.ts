import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { git } from '../support/git.ts';
import { Bus, type Host } from '../support/bus.ts';
import { billed, billedRuns, pass } from '../support/passes.ts';
import { Program } from '../support/process.ts';
import { until } from '../support/wait.ts';

let bus: Bus;
let bin: string;
let begun: string;

beforeEach(() => {
  bus = new Bus();
  bin = join(bus.root, 'bin');
  begun = join(bus.root, 'begun');
  mkdirSync(bin);
});

const json = (value: unknown): string => `echo '${JSON.stringify(value)}'`;
const BEGUN = [
  { type: 'system', subtype: 'init', model: 'claude-test-1' },
  { type: 'assistant', message: { id: 'm1', content: [], usage: { input_tokens: 7 } } },
];
const result = (fields: object): string =>
  json({ type: 'result', is_error: false, result: 'done', usage: { input_tokens: 7 }, ...fields });

/** A `claude` that says that it has begun, notes that it was started, and then does as the script says. */
function claude(...script: string[]): string {
  const lines = ['#!/bin/sh', 'cat > /dev/null', ...BEGUN.map(json), `echo >> ${begun}`, ...script];
  writeFileSync(join(bin, 'claude'), `${lines.join('\n')}\n`, { mode: 0o755 });
  return `${join(bin, 'claude')} -p`;
}

const starts = (): number => (existsSync(begun) ? readFileSync(begun, 'utf8').length : 0);
const WAITS = 'sleep 60';

async function machine(cli: string, options: object = { max_usd_per_day: '1' }): Promise<Host> {
  const host = await bus.host('front', { worker: { default: { cli, attempts: 1, ...options } } });
  await host.once();
  return host;
}

/** Sends one task after another, and lets each run; returns why those wait that do. */
async function five(host: Host): Promise<string[]> {
  const said: string[] = [];
  for (let n = 0; n < 5; n++) {
    await host.send('worker', 'a task', '--from', `asker-${String(n)}`, '--new');
    const log = await pass(host);
    said.push(...log.filter(({ event }) => event === 'parked').map((one) => String(one['said'])));
  }
  return said;
}

it.each([
  ['kills the CLI', ['kill -9 $$']],
  ['kills the CLI with its shell', ['kill -TERM $PPID', 'kill -9 $$']],
  ['ends the CLI by a signal that it answers with an exit code', ['exit 143']],
  ['cuts off its result', [`printf '{"type":"result","total_cost_usd":0.0'`]],
  ['says nothing of money', [result({ total_cost_usd: undefined })]],
  ['states a debt', [result({ total_cost_usd: -5 })]],
  ['states no number', [result({ total_cost_usd: 'NaN' })]],
  [
    'prints a result of its own, and kills the CLI',
    [result({ total_cost_usd: 0.001 }), 'kill -9 $$'],
  ],
  [
    'says little of money, and less than was seen of tokens',
    [result({ total_cost_usd: 0.001, usage: { input_tokens: 1 } })],
  ],
  [
    'says little of money, and nothing of tokens',
    [result({ total_cost_usd: 0.001, usage: undefined })],
  ],
  ['prints an error of its own, and kills the CLI', [result({ is_error: true }), 'kill -9 $$']],
])('a run that %s counts as what it was handed', { tags: 'long' }, async (_, script) => {
  const host = await machine(claude(...script));
  const said = await five(host);
  expect(starts()).toBe(1);
  expect(billedRuns(host)).toMatchObject([{ handed: { usd: 1 }, presumed: true }]);
  expect(said).toHaveLength(4);
  expect(said[0]).toContain('max_usd_per_day of worker.default is $1, and $1 are spent ($1 of it');
});

it('a result that a tool prints after that of the CLI makes nothing cheaper', async () => {
  const forged = result({ total_cost_usd: 0.001 });
  const host = await machine(claude(result({ total_cost_usd: 0.6 }), forged));
  await five(host);
  expect(starts()).toBe(2);
  expect(billedRuns(host).map(({ usage }) => usage?.usd)).toEqual([0.6, 0.6]);
});

it(
  'a run that its own asker calls off counts as what it was handed',
  { tags: 'long' },
  async () => {
    const host = await machine(claude(WAITS));
    const running = host.start();
    const question = await host.send('worker', 'a task');
    await until('the run', () => starts() === 1);
    await host.run('cancel', question);
    await until('the bill', () => billedRuns(host).length === 1);
    await running.stop();
    await five(host);
    expect(starts()).toBe(1);
    expect(billedRuns(host)).toMatchObject([
      { ended: 'stopped', handed: { usd: 1 }, presumed: true },
    ]);
    const { unstated } = JSON.parse((await host.run('cost', '--json')).out) as { unstated: number };
    expect(unstated).toBe(1);
  },
);

it(
  'a run that takes too long, or whose dispatcher is killed, counts as what it was handed',
  { tags: 'long' },
  async () => {
    const late = await machine(claude(WAITS), { max_usd_per_day: '1', timeout: '2s' });
    await five(late);
    expect(starts()).toBe(1);

    bus = new Bus();
    const host = await machine(claude(WAITS));
    await host.send('worker', 'a task');
    const dispatcher = new Program(host, 'dispatch');
    await until('another run', () => starts() === 2);
    await dispatcher.stop('SIGKILL');
    await five(host);
    expect(starts()).toBe(2);
    expect(billedRuns(host)).toMatchObject([{ ended: 'interrupted', handed: { usd: 1 } }]);
  },
);

it(
  'of five tasks that are called off at once the first run is handed what is left, and the tokens that were seen do not stand for all',
  { tags: 'long' },
  async () => {
    const host = await machine(claude(WAITS), { max_tokens_per_day: 1000, count: 5 });
    const running = host.start();
    const questions: string[] = [];
    for (let n = 0; n < 5; n++)
      questions.push(await host.send('worker', 'a task', '--from', `asker-${String(n)}`, '--new'));
    await until('a run', () => starts() > 0);
    await running.saw('tick');
    for (const question of questions) await host.run('cancel', question);
    await until('the bill', () => billedRuns(host).length > 0);
    await running.stop();
    await five(host);
    expect(starts()).toBe(1);
    expect(billedRuns(host)).toMatchObject([{ usage: { input: 7 }, handed: { tokens: 1000 } }]);
  },
);

it(
  'the budgets of a thread and of the machine take a run that was killed for what it was handed',
  { tags: 'long' },
  async () => {
    const host = await machine(claude('kill -9 $$'), { max_usd_per_thread: '1' });
    const question = await host.send('worker', 'a task');
    await pass(host);
    const [notice] = bus.from('worker');
    expect(notice?.message.re).toEqual([question]);
    const more = await host.run('reply', notice?.relPath ?? '', 'and more');
    expect(more.code, more.err).toBe(0);
    await pass(host);
    const before = starts();
    expect(before).toBe(1);

    bus = new Bus();
    const other = await machine(claude('kill -9 $$'), {});
    git(other.dir, 'config', 'crosstalk.maxUsdPerDay', '1');
    await five(other);
    expect(starts()).toBe(before + 1);
  },
);

it(
  'what is stated in the end is what counts, and a run that never got to its model costs nothing',
  { tags: 'long' },
  async () => {
    const host = await machine(billed(), { max_usd_per_day: '0.50' });
    await five(host);
    expect(billedRuns(host).map(({ usage, presumed }) => [usage?.usd, presumed])).toEqual([
      [0.25, undefined],
      [0.25, undefined],
    ]);

    bus = new Bus();
    writeFileSync(join(bin, 'claude'), '#!/bin/sh\necho "unknown option" >&2; exit 1\n', {
      mode: 0o755,
    });
    const broken = await machine(`${join(bin, 'claude')} -p`);
    await five(broken);
    expect(billedRuns(broken)).toHaveLength(5);
  },
);
