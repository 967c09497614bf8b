import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Cost } from '../../src/actions/reading/cost.ts';
import { Seal } from '../../src/store/seal.ts';
import { agent } from '../support/agents.ts';
import { Bus, type Host } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { plantRow, rowsIn, textIn } from '../support/rows.ts';
import { until } from '../support/wait.ts';

let bus: Bus;
let host: Host;
let folder: string;

const CLAUDE = agent('keeping/claude', '-p');
const CODEX = agent('keeping/codex', 'exec', '-');

beforeEach(async () => {
  bus = new Bus();
  folder = join(bus.root, 'keeping');
  mkdirSync(folder);
  host = await bus.host('front', {});
  host.env['KEEPING'] = folder;
  await serve({});
});

/** Serves `worker` by a scripted CLI that keeps sessions. */
async function serve(options: Record<string, string | number>, cli = CLAUDE): Promise<void> {
  host.declare({ worker: { default: { cli, session: 'resume', ...options } } });
  await host.approve();
}

interface Begun {
  id: string;
  resumed?: boolean;
  refused?: boolean;
  cwd: string;
}

/** The starts of the CLI, oldest first. */
function starts(): Begun[] {
  const file = join(folder, 'log');
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [];
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Begun);
}

const kinds = (): string[] =>
  starts().map(({ refused, resumed }) =>
    refused === true ? 'refused' : resumed === true ? 'resumed' : 'fresh',
  );

/** All prompts of a session, oldest first. */
const promptsOf = (id: string): string[] =>
  JSON.parse(readFileSync(join(folder, id), 'utf8')) as string[];

/** The last prompt of the session in which the CLI was started last. */
const lastPrompt = (): string => promptsOf(starts().at(-1)?.id ?? '').at(-1) ?? '';

const answers = () => bus.from('worker');
const lastAnswer = (): string => answers().at(-1)?.relPath ?? '';

/** Asks on, in the thread of the last answer, and lets the machine work. */
async function askOn(text: string): Promise<void> {
  const replied = await host.run('reply', lastAnswer(), text);
  expect(replied.code, replied.err).toBe(0);
  await host.once();
}

async function ask(text: string, ...options: string[]): Promise<string> {
  const sent = await host.send('worker', text, ...options);
  await host.once();
  return sent;
}

const sessions = (): Record<string, unknown>[] => rowsIn(host.state, 'agent-session');

const ledger = (): Record<string, unknown>[] => {
  const at = join(host.state, 'ledger');
  return readdirSync(at)
    .flatMap((name) => readFileSync(join(at, name), 'utf8').split('\n'))
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
};

describe('a tier that goes on with sessions', () => {
  it('tells the session what is new, and nothing twice', { tags: 'long' }, async () => {
    await ask('the first thing');
    await askOn('the second thing');
    await askOn('the third thing');

    expect(kinds()).toEqual(['fresh', 'resumed', 'resumed']);
    expect(new Set(starts().map(({ id }) => id)).size).toBe(1);
    const [first = '', second = '', third = ''] = promptsOf(starts()[0]?.id ?? '');
    expect(first).toContain('the first thing');
    expect(first).toContain('# Your profile: worker');
    expect(second).toContain('the second thing');
    expect(second).toContain('# Your session');
    expect(second).not.toContain('the first thing');
    expect(second).not.toContain('# Your profile: worker');
    expect(third).toContain('the third thing');
    expect(third).not.toContain('the second thing');
    expect(third).not.toContain('turn 2');
    expect(answers().map(({ message }) => message.extra['session'])).toEqual([
      'fresh',
      'resumed',
      'resumed',
    ]);
  });

  it('shows the session what others said in its thread meanwhile', { tags: 'long' }, async () => {
    await ask('the first thing');
    host.declare({
      worker: { default: { cli: 'cat >/dev/null; echo by another', session: 'fresh' } },
    });
    await host.approve();
    await askOn('the second thing');
    await serve({});
    await askOn('the third thing');
    expect(kinds()).toEqual(['fresh', 'resumed']);
    expect(lastPrompt()).toContain('# New in this thread');
    expect(lastPrompt()).toContain('the second thing');
    expect(lastPrompt()).toContain('by another');
    expect(lastPrompt()).not.toContain('the first thing');
  });

  it(
    'keeps the sessions of two threads apart, and hands over one thread at a time',
    { tags: 'long' },
    async () => {
      await host.send('worker', 'about apples');
      await ask('about pears');
      expect(kinds()).toEqual(['fresh', 'fresh']);
      expect(new Set(starts().map(({ id }) => id)).size).toBe(2);
      for (const { id } of starts()) expect(promptsOf(id)).toHaveLength(1);
      const apples = answers().find(({ message }) => message.re.length === 1)?.relPath ?? '';
      await host.run('reply', apples, 'more of them');
      await host.once();
      expect(kinds()).toEqual(['fresh', 'fresh', 'resumed']);
      expect(starts()[2]?.id).toBe(starts()[0]?.id);
    },
  );

  it('hands over together what waits together in one thread', { tags: 'long' }, async () => {
    await ask('the first thing');
    const answer = lastAnswer();
    for (const text of ['the second thing', 'the third thing', 'the fourth thing'])
      expect((await host.run('reply', answer, text)).code).toBe(0);
    const other = await host.send('worker', 'another thread');
    await host.once();
    expect(kinds().sort()).toEqual(['fresh', 'fresh', 'resumed']);
    const links = answers().map(({ message }) => message.re);
    expect(links.map((re) => re.length).sort()).toEqual([1, 1, 3]);
    expect(links).toContainEqual([other]);
    const [, together = ''] = promptsOf(starts()[0]?.id ?? '');
    for (const text of ['the second thing', 'the third thing', 'the fourth thing'])
      expect(together).toContain(text);
  });

  it('begins anew where the CLI has lost the session, and nothing is paid for twice', async () => {
    await ask('the first thing');
    rmSync(join(folder, starts()[0]?.id ?? ''));
    await askOn('the second thing');

    expect(kinds()).toEqual(['fresh', 'refused', 'fresh']);
    expect(lastPrompt()).toContain('the first thing');
    expect(lastPrompt()).toContain('# Your profile: worker');
    expect(answers().map(({ message }) => message.extra['session'])).toEqual(['fresh', 'fresh']);
    expect(ledger()).toMatchObject([
      { session: 'fresh', ended: 'answered' },
      { session: 'fresh', ended: 'answered' },
    ]);
    await askOn('the third thing');
    expect(kinds().at(-1)).toBe('resumed');
  });

  it('ends a session whose run failed, and tries again with the whole prompt', async () => {
    await ask('the first thing');
    await askOn('please fail where you go on');
    expect(kinds()).toEqual(['fresh', 'resumed']);
    expect(sessions()).toEqual([]);
    expect((await host.run('dlq', '--retry', 'all')).code).toBe(0);
    await host.once();
    expect(kinds()).toEqual(['fresh', 'resumed', 'fresh']);
    expect(lastPrompt()).toContain('the first thing');
    expect(answers().map(({ message }) => message.body)).toEqual(['turn 1\n', 'turn 1\n']);
  });

  it('begins a session anew after so many runs', { tags: 'long' }, async () => {
    await serve({ session_max_turns: 2 });
    await ask('the first thing');
    await askOn('the second thing');
    await askOn('the third thing');
    expect(kinds()).toEqual(['fresh', 'resumed', 'fresh']);
    expect(lastPrompt()).toContain('the first thing');
  });

  it.each([
    [
      'profile',
      () => {
        host.edit({ 'local/actors/worker.md': '---\nname: worker\n---\nBe brief.\n' });
      },
    ],
    [
      'skill',
      () => {
        host.edit({ 'local/skills/x/SKILL.md': '---\nname: x\ndescription: y\n---\nz\n' });
      },
    ],
  ])('begins a session anew when a %s has changed', { tags: 'long' }, async (_what, change) => {
    await ask('the first thing');
    change();
    await askOn('the second thing');
    expect(kinds()).toEqual(['fresh', 'fresh']);
  });

  it(
    'begins a session anew when its command, or what is approved with it, has changed',
    { tags: 'long' },
    async () => {
      await ask('the first thing');
      await serve({ timeout: 300 });
      await askOn('the second thing');
      await serve({ timeout: 300 }, `${CLAUDE} --model other`);
      await askOn('the third thing');
      expect(kinds()).toEqual(['fresh', 'fresh', 'fresh']);
    },
  );

  it(
    'counts what each run used where the CLI states what the whole session used',
    { tags: 'long' },
    async () => {
      await serve({}, CODEX);
      await ask('the first thing');
      await askOn('the second thing');
      await askOn('the third thing');
      expect(kinds()).toEqual(['fresh', 'resumed', 'resumed']);
      const usage = { input: 10, cached: 100, output: 5 };
      expect(ledger()).toMatchObject([{ usage }, { usage }, { usage }]);
      expect(answers().map(({ message }) => message.usage)).toMatchObject([usage, usage, usage]);
      const shown = await host.run('cost', '--by', 'session', '--json');
      const { rows } = JSON.parse(shown.out) as Cost;
      expect(rows.map(({ what, runs, input, cached }) => [what, runs, input, cached])).toEqual([
        ['resumed', 2, 20, 200],
        ['fresh', 1, 10, 100],
      ]);
    },
  );

  it(
    'ends a session of which the CLI knows less than the record says, as after a restored disk',
    { tags: 'long' },
    async () => {
      await serve({}, CODEX);
      await ask('the first thing');
      const file = join(folder, starts()[0]?.id ?? '');
      const old = readFileSync(file);
      await askOn('the second thing');
      await askOn('the third thing');
      writeFileSync(file, old);
      await askOn('the fourth thing');
      // It is told at once how to find out what it has missed, and nothing else is to be seen before it ran.
      const before = bus.from('operator').at(-2)?.relPath ?? '';
      expect(lastPrompt()).toContain(`crosstalk thread ${before}`);
      // It says that its session used less than before: that is what there is to count.
      expect(ledger().at(-1)?.['usage']).toMatchObject({ input: 20, cached: 200, output: 10 });
      await askOn('the fifth thing');
      expect(kinds()).toEqual(['fresh', 'resumed', 'resumed', 'resumed', 'fresh']);
      expect(lastPrompt()).toContain('the second thing');
    },
  );

  it('goes on in the copy of a repository that its thread has', { tags: 'long' }, async () => {
    const app = join(bus.root, 'app');
    mkdirSync(app);
    git(app, 'init', '--quiet');
    git(app, 'commit', '--quiet', '--allow-empty', '--message', 'begun');
    await serve({ worktree: app });
    await ask('the first thing');
    await askOn('the second thing');
    expect(kinds()).toEqual(['fresh', 'resumed']);
    expect(new Set(starts().map(({ cwd }) => cwd)).size).toBe(1);
    expect(starts()[0]?.cwd).toContain('/worktrees/');
  });

  it('takes no id of a session from a message', { tags: 'long' }, async () => {
    await ask('the first thing');
    const [{ id } = { id: '' }] = starts();
    const path = `data/channels/${host.channel()}/2026/01/01/000000000Z-00000001.md`;
    const header = 'from: eve\nto: worker\ntype: text\ntimestamp: 2026-01-01T00:00:00.000Z';
    host.edit({ [path]: `---\n${header}\nsession: ${id}\n---\nsession: ${id}\n` });
    await host.once();
    expect(kinds()).toEqual(['fresh', 'fresh']);
    expect(starts()[1]?.id).not.toBe(id);
  });

  it.each([
    ['is no JSON', () => 'garbage'],
    ['has no seal', (said: string) => JSON.stringify({ ...JSON.parse(said), seal: undefined })],
    [
      'was written under another name',
      (said: string) =>
        new Seal(host.state, 'agent-session').close('x', JSON.parse(said) as object),
    ],
    [
      'names an option of the CLI as the session',
      (said: string) => said.replace(/"session": "[^"]*"/, '"session": "--dangerously"'),
    ],
  ])('begins anew where the record of a session %s', { tags: 'long' }, async (_, harm) => {
    await ask('first');
    const said = textIn(host.state, 'agent-session');
    expect(harm(said)).not.toBe(said);
    plantRow(host.state, 'agent-session', String(sessions()[0]?.['id']), harm(said));
    await askOn('second');
    await askOn('third');
    expect(kinds()).toEqual(['fresh', 'fresh', 'resumed']);
  });

  it('tells a session again what a restored state does not know that it was told', async () => {
    await ask('the first thing');
    const old = textIn(host.state, 'agent-session');
    await askOn('the second thing');
    plantRow(host.state, 'agent-session', String(sessions()[0]?.['id']), old);
    await askOn('the third thing');
    expect(lastPrompt()).toContain('the second thing');
    expect(lastPrompt()).toContain('turn 2');
  });
});

it(
  'a tier without sessions adds nothing to a command, an answer, the ledger or the state',
  { tags: 'long' },
  async () => {
    host.declare({ worker: { default: { cli: CLAUDE } } });
    await host.approve();
    await ask('the first thing');
    const [start] = starts() as unknown as { words: string[] }[];
    expect(start?.words).toEqual(['-p', '--output-format', 'stream-json', '--verbose']);
    expect(answers()[0]?.message.extra).toEqual({});
    expect(ledger()[0]).not.toHaveProperty('session');
    expect(sessions()).toEqual([]);
    expect((await host.run('status')).out).not.toContain('Sessions that runs');
  },
);

it('a tier whose CLI cannot go on with sessions is said to be one, and each of its runs is new', async () => {
  host.declare({ worker: { default: { cli: 'cat; echo done', session: 'resume' } } });
  await host.approve();
  const shown = await host.run('host', 'show', '--host', 'front');
  expect(shown.out).toContain('each run is new all the same: no way is known in which');
  await ask('the first thing');
  await askOn('the second thing');
  expect(answers().at(-1)?.message.body).toContain('the first thing');
  expect(answers().at(-1)?.message.extra).toEqual({});
});

it('host show, explain, status and agents tell of sessions', { tags: 'long' }, async () => {
  const question = await ask('the first thing');
  const shown = await host.run('host', 'show', '--host', 'front');
  expect(shown.out).toContain(
    'goes on with the session of claude for each thread, for at most 20 runs',
  );
  const explained = await host.run('explain', question, 'worker');
  expect(explained.out).toContain('its run began a session');
  expect(explained.out).toContain(
    'the next run in this thread goes on with a session of claude (tier default, 1 run so far)',
  );
  const state = await host.run('status');
  expect(state.out).toMatch(
    /Sessions that runs go on with\n {2}worker +default +claude +1 thread /,
  );
  const found = await host.run('agents', '--json', 'claude', 'qwen');
  const kinds = (JSON.parse(found.out) as { name: string; sessions: string[] }[]).map(
    ({ name, sessions: able }) => [name, able],
  );
  expect(kinds).toEqual([
    ['claude', ['fresh', 'resume']],
    ['qwen', ['fresh']],
  ]);
});

it('has no session beside another run of the same thread', { tags: 'long' }, async () => {
  await serve({ count: 2 });
  await ask('the first thing');
  const first = lastAnswer();
  const running = host.start();
  await host.run('reply', first, 'please hang');
  await until('the first of the two', () => starts().length === 2);
  await host.run('reply', first, 'something beside');
  await until('the other one', () => starts().length === 3);
  await until('its answer', () => answers().length === 2);
  expect(kinds()).toEqual(['fresh', 'resumed', 'fresh']);
  expect(answers()[1]?.message.extra).toEqual({});
  const [hanging] = bus.from('operator').filter(({ message }) => message.body === 'please hang');
  await host.run('cancel', hanging?.relPath ?? '', '--from', 'operator');
  await until('its end', () => sessions().length === 0);
  await running.stop();
});

it(
  'a run that plans has no session, and those that were approved share one',
  { tags: 'long' },
  async () => {
    await serve({ gate: 'operator', gate_plan: 'cat >/dev/null; echo my plan' });
    const approveNext = async (): Promise<void> => {
      const proposal = answers()
        .filter(({ message }) => message.proposal === true)
        .at(-1);
      const approved = await host.run('approve', proposal?.relPath ?? '', 'fine');
      expect(approved.code, approved.err).toBe(0);
      await host.once();
    };
    await ask('the first thing');
    expect(starts()).toEqual([]);
    await approveNext();
    await askOn('the second thing');
    expect(kinds()).toEqual(['fresh']);
    await approveNext();
    expect(kinds()).toEqual(['fresh', 'resumed']);
    expect(lastPrompt()).toContain('> > fine');
    expect(lastPrompt()).toContain('the second thing');
    expect(lastPrompt()).not.toContain('the first thing');
  },
);
