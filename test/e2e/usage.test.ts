import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Cost } from '../../src/actions/reading/cost.ts';
import { agent } from '../support/agents.ts';
import { Bus, type Host } from '../support/bus.ts';
import { byHand } from '../support/history.ts';
import { Program } from '../support/process.ts';
import { rowsIn } from '../support/rows.ts';
import { until } from '../support/wait.ts';

const claude = (what: string): string => agent('billed/claude', '-p', what);

/** What the scripted claude says that it used. */
const USED = { model: 'claude-test-1', input: 30, cached: 3000, output: 12, usd: 0.25, turns: 2 };
/** What it had used when it was ended in its first turn. */
const BEGUN = { model: 'claude-test-1', input: 15, cached: 1500, output: 6, turns: 1 };

interface Line {
  id: string;
  ended: string;
  reason?: string;
  usage?: unknown;
}

/** The lines of the ledger, without their times. */
function ledger(host: Host): Line[] {
  const folder = join(host.state, 'ledger');
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .sort()
    .flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n'))
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line);
}

const ends = (host: Host): unknown[] =>
  ledger(host).map(({ ended, reason, usage }) => [ended, reason, usage]);

/** What is kept of runs until their outcome is on record. */
const keptOfRuns = (host: Host): unknown[] => [
  ...readdirSync(join(host.state, 'runs')),
  ...rowsIn(host.state, 'run'),
];

/** What the run under way has printed so far. */
function rawOutput(host: Host): string {
  const folder = join(host.state, 'runs');
  const names = existsSync(folder) ? readdirSync(folder) : [];
  const name = names.find((one) => one.endsWith('.out'));
  return name === undefined ? '' : readFileSync(join(folder, name), 'utf8');
}

it(
  'the text of an answer is that of the JSON, and it tells what its run used',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: claude('answer') });
    const question = await host.send('worker', 'part');
    await host.once();

    const [answer] = bus.from('worker');
    expect(answer?.message).toMatchObject({ body: 'It is done.\n', usage: USED, re: [question] });
    expect(answer?.message.usage?.ms).toBeGreaterThan(0);
    expect(ledger(host)).toMatchObject([
      { actor: 'worker', tier: 'default', host: 'front', ended: 'answered', usage: USED },
    ]);
    expect(keptOfRuns(host)).toEqual([]);
  },
);

it(
  'host show names what is added to a command, and it, status and doctor say what is off',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', {
      plain: claude('answer'),
      chosen: 'claude -p --output-format text',
      piped: 'claude -p | cat',
      own: 'cat > /dev/null; echo done',
    });
    const off =
      'what its runs use is not known: this is no plain call of claude that leaves the form of its output open';

    const shown = (await host.run('host', 'show')).out.split('\n');
    const after = (actor: string): string | undefined =>
      shown[shown.findIndex((line) => line.includes(`${actor}.default`)) + 1]?.trim();
    expect(after('plain')).toBe('runs with: --output-format stream-json --verbose');
    expect(after('chosen')).toBe(off);
    expect(after('piped')).toBe(off);
    expect(after('own')).not.toBe(off);

    const { out } = await host.run('status');
    const lines = out.split('\n').filter((line) => line.includes(off));
    expect(lines.map((line) => line.trim().split(' ')[0])).toEqual(['chosen', 'piped']);
    const { actors } = (JSON.parse((await host.run('status', '--json')).out) as Told).host;
    expect(actors.map(({ tiers: [tier] }) => tier?.output)).toEqual([
      { adds: '--output-format stream-json --verbose' },
      { off },
      { off },
      null,
    ]);
    expect((await host.run('doctor')).out.split(off)).toHaveLength(3);
  },
);

interface Told {
  host: { actors: { tiers: { output: unknown }[] }[] };
}

it('what a run used is known, and what it did on the way is not told', async () => {
  const bus = new Bus();
  const host = await bus.host('front', {
    worker: { default: { cli: claude('garbage'), attempts: 1 } },
  });
  await host.send('worker', 'part');
  await host.once();

  const dlq = (await host.run('dlq')).out;
  expect(dlq).toContain('bad_output');
  expect(dlq + JSON.stringify(bus.messages())).not.toContain('secret-transcript');
  expect(ends(host)).toEqual([['failed', 'bad_output', BEGUN]]);
});

it('a run for two askers is counted in one of its answers', { tags: 'long' }, async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: claude('answer') });
  await host.send('worker', 'one', '--from', 'alice');
  await host.send('worker', 'two', '--from', 'bob');
  await host.once();

  const told = bus.from('worker').map(({ message }) => message.usage?.usd);
  expect([...told].sort()).toEqual(ledger(host).length === 1 ? [0.25, undefined] : [0.25, 0.25]);
});

it.each([
  ['fail', 'exit_code', 'API Error: 500 Internal server error.', USED],
  ['fail-quietly', 'exit_code', 'Something went wrong.', USED],
  ['silent', 'empty_answer', 'printed nothing', USED],
  ['garbage', 'bad_output', 'without an answer in JSON', BEGUN],
])(
  'a run that ends with %s is on the bill as %s',
  { tags: 'long' },
  async (what, reason, says, used) => {
    const bus = new Bus();
    const host = await bus.host('front', {
      worker: { default: { cli: claude(what), attempts: 1 } },
    });
    await host.send('worker', 'part');
    await host.once();

    expect(ends(host)).toEqual([['failed', reason, used]]);
    expect(bus.from('worker').map(({ message }) => message.failed?.reason)).toEqual([reason]);
    const dlq = await host.run('dlq', '--json');
    expect(dlq.out).toContain(says);
    // What the CLI did on the way is nobody's but its own.
    const told = bus.messages().map(({ message }) => JSON.stringify(message));
    expect(told.join() + dlq.out).not.toContain('secret-transcript');
  },
);

it.each([
  ['that came before its stream was cut', 'cut'],
  ['after which a tool was called and nothing more was said', 'said-before'],
  ['before which a wrapper has set a title and a colour', 'coloured'],
])('an answer %s is not lost', async (_what, how) => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: claude(how) });
  await host.send('worker', 'part');
  await host.once();

  const used = { model: 'claude-test-1', input: 30, cached: 3000, output: 12, turns: 2 };
  expect(bus.from('worker')[0]?.message).toMatchObject({ body: 'It is done.\n', usage: used });
  expect(ends(host)).toHaveLength(1);
});

it('100 MiB before the answer cost it nothing', { tags: 'long' }, async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: claude('flood') });
  await host.send('worker', 'part');
  await host.once();

  expect(bus.from('worker')[0]?.message).toMatchObject({ body: 'It is done.\n', usage: USED });
  expect(keptOfRuns(host)).toEqual([]);
});

it(
  'a run that is cancelled is on the bill with what it had used by then',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: claude('slow') });
    await host.once();
    const question = await host.send('worker', 'part');
    const running = host.start();
    await until('its first turn', () => rawOutput(host).includes('msg_1'));
    await host.run('cancel', question);
    await until('the bill', () => ledger(host).length > 0);
    await running.stop();

    expect(ends(host)).toEqual([['stopped', undefined, BEGUN]]);
  },
);

it(
  'a run whose dispatcher was killed is on the bill once, with what it had used by then',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: claude('slow') });
    await host.once();
    await host.send('worker', 'part');
    const dispatcher = new Program(host, 'dispatch');
    await until('its first turn', () => rawOutput(host).includes('msg_1'));
    await dispatcher.stop('SIGKILL');
    await host.run('pause');
    await host.once();
    await host.once();

    expect(ends(host)).toEqual([['interrupted', undefined, BEGUN]]);
    expect(keptOfRuns(host)).toEqual([]);
  },
);

it.each([
  ['an output of its own', agent('billed/claude', '-p', 'answer', '--output-format', 'text')],
  ['a second command', `${claude('answer')}; true`],
  ['a wrapper', `sh -c '${agent('billed/claude', '-p', 'answer')}'`],
])(
  'a command with %s gets no flags, and its answer tells no usage',
  { tags: 'long' },
  async (_, cli) => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: cli });
    await host.send('worker', 'part');
    await host.once();

    const [answer] = bus.from('worker');
    expect(answer?.message.body).toContain('plain: -p answer');
    expect(answer?.message.body).not.toContain('stream-json');
    expect(answer?.message.usage).toBeUndefined();
    expect(ends(host)).toEqual([['answered', undefined, undefined]]);
  },
);

async function cost(host: Host, ...options: string[]): Promise<Cost> {
  return JSON.parse((await host.run('cost', '--json', ...options)).out) as Cost;
}

it(
  'cost adds up what was paid here, and what answers of another host tell',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const [front, back] = [
      await bus.host('front', {
        worker: claude('answer'),
        failing: { default: { cli: claude('fail'), attempts: 1 } },
        plain: 'cat > /dev/null; echo done',
      }),
      await bus.host('back', {
        helper: claude('answer'),
        loser: { default: { cli: claude('fail'), attempts: 1 } },
      }),
    ];
    await back.once();
    const question = await front.send('worker', 'one');
    await front.once();
    await front.send('worker', 'two', '--new');
    await front.send('failing', 'three', '--new');
    await front.send('plain', 'four', '--new');
    await front.send('helper', 'five', '--new');
    await front.send('loser', 'six', '--new');
    for (let pass = 0; pass < 3; pass++) await front.once();
    await back.once();
    await front.once();

    const byActor = await cost(front);
    const one = { input: 30, cached: 3000, output: 12, usd: 0.25 };
    const two = { input: 60, cached: 6000, output: 24, usd: 0.5 };
    expect(byActor.rows).toMatchObject([
      { what: 'worker', runs: 2, failed: 0, ...two },
      { what: 'failing', runs: 1, failed: 1, ...one },
      { what: 'helper', runs: 1, failed: 0, ...one },
      { what: 'plain', runs: 1, failed: 0, input: 0, cached: 0, output: 0, usd: null },
    ]);
    expect(byActor).toMatchObject({
      total: { runs: 5, failed: 1, input: 120, cached: 12_000, output: 48, usd: 1 },
      unstated: 1,
      partly_known: ['back'],
    });
    // The host that was asked for it knows its own failure.
    const byHost = await cost(back, '--by', 'host');
    expect(byHost.rows.sort((a, b) => (a.what < b.what ? -1 : 1))).toMatchObject([
      { what: 'back', runs: 2, failed: 1, usd: 0.5 },
      { what: 'front', runs: 2, failed: 0, usd: 0.5 },
    ]);
    const byThread = await cost(front, '--by', 'thread');
    expect(byThread.rows).toHaveLength(5);
    expect(byThread.rows.find(({ what }) => what === question)).toMatchObject({ runs: 1, ...one });
    for (const by of ['tier', 'channel', 'day']) {
      const { rows, total } = await cost(front, '--by', by);
      expect([rows.length, rows[0]?.runs, total.usd]).toEqual([1, 5, 1]);
    }
    const printed = await front.run('cost');
    expect(printed.out).toMatch(/^worker +2 +0 +60 +6,000 +24 +\$0\.5000$/m);
    expect(printed.err).toContain('of other hosts (back) only the runs are counted');
    const tree = await front.run('thread', question, '--cost');
    expect(tree.out).toContain('30 in 3,000 cached 12 out $0.2500');
    expect(tree.out).toMatch(/^1 runs? {2}30 in {2}3,000 cached {2}12 out {2}\$0\.2500$/m);
    expect((await front.run('thread', question)).out).not.toContain('cached');
    const wrong = await front.run('cost', '--by', 'moon');
    expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining('--by is "moon"')]);
  },
);

/** A machine, and where its ledger of this month is to be. */
async function withLedger(): Promise<{ host: Host; folder: string; path: string; day: Date }> {
  const host = await new Bus().host('front', { worker: claude('answer') });
  const folder = join(host.state, 'ledger');
  mkdirSync(folder, { recursive: true });
  const day = new Date(Math.floor(Date.now() / DAY_MS) * DAY_MS);
  return { host, folder, path: join(folder, `${day.toISOString().slice(0, 7)}.jsonl`), day };
}

const DAY_MS = 86_400_000;

/** A line of a ledger, as different from its neighbours as lines are. */
function lineOf(n: number, at: Date): string {
  const thread = { channel: `c${String(n % 2)}`, relPath: String(n % 50) };
  const run = { actor: `a${String(n % 3)}`, host: 'front', channel: 'c', tier: 'default', thread };
  const ended = n % 7 === 0 ? 'failed' : 'answered';
  const usage = n % 11 === 0 ? undefined : { input: n, cached: 1, output: 2, usd: 0.0010005 };
  return `\n${JSON.stringify({ at: at.toISOString(), id: String(n), ...run, ended, ms: 10, usage })}\n`;
}

it(
  'what is kept of a long month gives the same sums as its lines, by anything and since any time',
  { tags: 'long' },
  async () => {
    const { host, folder, path, day } = await withLedger();
    const minute = (n: number): Date => new Date(day.getTime() - (3000 - n) * 60_000);
    const lines = Array.from({ length: 3000 }, (_, n) => lineOf(n, minute(n)));
    const noon = minute(1234);
    const asked = ['actor', 'thread', 'day', 'tier'].flatMap((by) =>
      [minute(0), day, noon].map((since) => ['--by', by, '--since', since.toISOString()]),
    );
    const all = async (): Promise<Cost[]> => {
      const costs: Cost[] = [];
      for (const options of asked) costs.push(await cost(host, ...options));
      return costs;
    };
    writeFileSync(path, lines.slice(0, 2000).join(''));
    await all();
    expect(readdirSync(folder)).toHaveLength(3);
    // A line that a crash has cut off, and more of them.
    writeFileSync(path, `${lines.join('')}\n{"at":"${noon.toISOString()}","id":"cut`);
    const kept = await all();
    for (const name of readdirSync(folder))
      if (!name.endsWith('.jsonl')) rmSync(join(folder, name));
    expect(await all()).toEqual(kept);
    for (const one of kept.filter(({ since }) => since === minute(0).toISOString()))
      expect(one).toMatchObject({
        total: { runs: 3000, failed: 429, usd: 2.7283635 },
        unstated: 273,
      });
    const since = kept.filter((one) => one.since === noon.toISOString());
    expect(since.map(({ total }) => total.runs)).toEqual([1766, 1766, 1766, 1766]);
    expect(kept[3]?.rows).toHaveLength(50);
  },
);

it('sums that are damaged, older or of another ledger are made anew', async () => {
  const { host, folder, path, day } = await withLedger();
  const lines = (count: number, first = 0): string =>
    Array.from({ length: count }, (_, n) => lineOf(first + n, day)).join('');
  const runs = async (by: string): Promise<number> => (await cost(host, '--by', by)).total.runs;
  for (const [by, file] of [
    ['actor', '.sums'],
    ['thread', '.threads'],
  ] as const) {
    writeFileSync(path, lines(2000));
    const sums = path.replace('.jsonl', file);
    for (const text of ['', '{', '{"bytes":5,"sums":[null]}', 'x\n{"bytes":5,"groups":[]}']) {
      writeFileSync(sums, text);
      expect(await runs(by)).toBe(2000);
    }
    const good = readFileSync(sums, 'utf8');
    writeFileSync(sums, good.replace(',10,', ',11,').replace(/\d\]/, '9]'));
    expect(await runs(by)).toBe(2000);
    // The ledger was restored, and is longer again by now.
    writeFileSync(path, lines(3000, 5000));
    expect(await runs(by)).toBe(3000);
    rmSync(sums);
  }
  expect(readdirSync(folder).filter((name) => name.endsWith('.tmp'))).toEqual([]);
});

it('a line is counted that stands in the file of a later month, and one that is no line is not', async () => {
  const { host, path, day } = await withLedger();
  const before = new Date(Date.UTC(day.getUTCFullYear(), day.getUTCMonth(), 0, 23, 50));
  const spoilt = { at: before.toISOString(), id: 'spoilt', thread: null };
  writeFileSync(path, `${lineOf(1, before)}\n${JSON.stringify(spoilt)}\n${lineOf(2, day)}`);
  const earlier = new Date(before.getTime() - 60_000).toISOString();
  for (const by of ['actor', 'thread', 'day'])
    expect((await cost(host, '--by', by, '--since', earlier)).total.runs).toBe(2);
});

it('the alias of a machine is its own, however long ago it ran anything', async () => {
  const { host, path } = await withLedger();
  writeFileSync(path, lineOf(1, new Date()));
  const soon = new Date(Date.now() + DAY_MS).toISOString();
  expect(await cost(host, '--since', soon)).toMatchObject({
    total: { runs: 0 },
    partly_known: [],
  });
});

it.each([
  ['a negative count', '{input: -5, cached: 0, output: 1, ms: 1}', undefined],
  ['more than anything uses', '{input: 1e308, cached: 0, output: 1, ms: 1}', undefined],
  ['no number', '{input: .nan, cached: 0, output: NaN, ms: 1}', undefined],
  ['a list', '[1, 2, 3, 4]', undefined],
  ['halves', '{input: 1.5, cached: 0.25, output: 1, ms: 1}', { input: 2, cached: 0, usd: null }],
  ['a debt', '{input: 1, cached: 0, output: 1, ms: 1, usd: -3}', { input: 1, usd: null }],
])(
  'what an answer of another host says of its usage is %s',
  { tags: 'long' },
  async (_, usage, expected) => {
    const host = await new Bus().host('front', { worker: claude('answer') });
    const [path, text] = byHand(host.channel(), 1, 'x', 'alice');
    const others = Array.from({ length: 12 }, (__, n) => `h${String(n).padStart(2, '0')}`);
    const file = (alias: string): [string, string] => [
      `hosts/${alias}.md`,
      `---\nalias: ${alias}\nactors:\n  a:\n    default: "true"\n---\n`,
    ];
    host.edit({
      ...Object.fromEntries(others.map(file)),
      [path]: text.replace('---\n\n', `usage: ${usage}\nhost: h00\n---\n\n`),
    });
    const { rows, partly_known: known } = await cost(host, '--since', '2026-01-01');
    expect(rows).toMatchObject(expected === undefined ? [] : [{ what: 'alice', ...expected }]);
    // The look at the remote has brought them, and they are named all the same.
    expect(known).toEqual(['front', ...others]);
    expect((await host.run('cost')).err).toContain('h06 and 5 more) only the runs');
  },
);

it(
  'the bill of a thread is whole where the clock of its first message is ahead',
  { tags: 'long' },
  async () => {
    const host = await new Bus().host('front', { worker: claude('answer') });
    await host.once();
    const ahead = new Date(Date.now() + 30 * DAY_MS).toISOString();
    const [path, text] = byHand(host.channel(), 1, 'part', 'worker');
    host.edit({ [path]: text.replace(/^timestamp: .*$/m, `timestamp: ${ahead}`) });
    await host.once();
    const { out } = await host.run('thread', path.split('/').slice(3).join('/'), '--cost');
    expect(out).toMatch(/^1 run {2}30 in {2}3,000 cached {2}12 out {2}\$0\.2500$/m);
  },
);
