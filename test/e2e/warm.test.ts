import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { WebSessions } from '../../src/api/api.ts';
import { agent } from '../support/agents.ts';
import { Bus, type Host, type Running, type Stored } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { rowsIn } from '../support/rows.ts';
import { profileWith, vault } from '../support/tools.ts';
import { until } from '../support/wait.ts';
import { Web } from '../support/web.ts';
import { sample } from '../support/form.ts';

let bus: Bus;
let host: Host;
let folder: string;

const GEMINI = agent('warm/gemini', '--skip-trust');

beforeEach(async () => {
  bus = new Bus();
  folder = join(bus.root, 'keeping');
  mkdirSync(folder);
  host = await bus.host('front', {});
  host.env['KEEPING'] = folder;
  await serve({});
});

type Options = Record<string, string | number>;

/** Serves `worker` by a scripted CLI whose process is kept. */
async function serve(options: Options, cli = GEMINI): Promise<void> {
  host.declare({ worker: { default: { cli, session: 'warm', retry_delay: 1, ...options } } });
  await host.approve();
}

interface Logged {
  pid: number;
  acp: boolean;
  started?: true;
  prompt?: string;
  session?: string;
  run?: string;
  id?: string;
  re?: string;
  words?: string[];
  opened?: Record<string, unknown>;
}

/** What the scripted CLI has noted, oldest first. */
function logged(): Logged[] {
  const file = join(folder, 'log');
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [];
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Logged);
}

const starts = (): Logged[] => logged().filter(({ started }) => started === true);
const prompts = (): Logged[] => logged().filter(({ prompt }) => prompt !== undefined);
const lastPrompt = (): string => prompts().at(-1)?.prompt ?? '';
const answers = (): Stored[] => bus.from('worker');
const bodies = (): string[] => answers().map(({ message }) => message.body.trim());
const kinds = (): unknown[] => answers().map(({ message }) => message.extra['session']);

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};
const isGone = (pid: number | undefined) =>
  until(`the end of ${String(pid)}`, () => pid === undefined || !isAlive(pid));

/** Asks, and waits for the answer. */
async function ask(text: string, ...options: string[]): Promise<string> {
  const before = answers().length;
  const sent = await host.send('worker', text, ...options);
  await until(`an answer to ${text}`, () => answers().length > before);
  return sent;
}

/** Asks on in the thread of an answer, the last one by default, and waits for the answer. */
async function askOn(text: string, answer = answers().at(-1)?.relPath ?? ''): Promise<void> {
  const before = answers().length;
  const replied = await host.run('reply', answer, text);
  expect(replied.code, replied.err).toBe(0);
  await until(`an answer to ${text}`, () => answers().length > before);
}

const kept = () => rowsIn(host.state, 'kept-process');

const ledger = (): Record<string, unknown>[] =>
  readdirSync(join(host.state, 'ledger'))
    .flatMap((name) => readFileSync(join(host.state, 'ledger', name), 'utf8').split('\n'))
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

const said = (running: Running, event: string) =>
  running.events.filter((one) => one.event === event);

function edit(path: string, content: string): Promise<void> {
  host.edit({ [path]: content });
  return Promise.resolve();
}

describe('a tier whose process is kept', () => {
  it(
    'gives the second prompt to the same process, with nothing that it knows',
    { tags: 'long' },
    async () => {
      const running = host.start();
      await ask('the first thing');
      await askOn('the second thing');
      await askOn('the third thing');
      expect(bodies()).toEqual(['turn 1', 'turn 2', 'turn 3']);
      expect(kinds()).toEqual(['fresh', 'warm', 'warm']);
      expect(starts()).toHaveLength(1);
      const [first = '', second = '', third = ''] = prompts().map(({ prompt }) => prompt);
      expect(first).toContain('# Your profile: worker');
      expect(second).toContain('the second thing');
      expect(second).toContain('# Your session');
      expect(second).not.toContain('the first thing');
      expect(second).not.toContain('# Your profile: worker');
      expect(third).not.toContain('turn 2');
      const usage = { input: 10, cached: 100, output: 5, usd: 0.01 };
      expect(ledger()).toMatchObject([
        { session: 'fresh', usage, agent: 'gemini' },
        { session: 'warm', usage },
        { session: 'warm', usage },
      ]);
      expect(kept()).toMatchObject([{ turns: 3, context: { used: 300, size: 1000 } }]);
      await running.stop();
      await isGone(starts()[0]?.pid);
      expect(kept()).toEqual([]);
      expect(readdirSync(join(host.state, 'run'))).toEqual([]);
    },
  );

  it('names the session in its variables, and no message', { tags: 'long' }, async () => {
    host.start();
    await ask('the first thing');
    const [start] = starts();
    expect(start?.words).toEqual(['--skip-trust', '--acp']);
    expect(start?.id).toBe(kept()[0]?.['id']);
    expect(start?.re).toBe('');
    const [opened] = logged().flatMap((one) => one.opened ?? []);
    expect(opened).toMatchObject({ cwd: expect.stringContaining('/work/worker/') as string });
  });

  it('links what a turn sends to the messages of that turn', { tags: 'long' }, async () => {
    host.declare({ boss: 'true' }, 'away');
    host.start();
    await ask('please call first-word');
    const second = answers().at(-1)?.relPath ?? '';
    await askOn('please call second-word', second);
    await until('both turns', () => answers().length === 4);
    expect(starts()).toHaveLength(1);
    const asked = bus.from('operator').map(({ relPath }) => relPath);
    const sent = answers().filter(({ message }) => message.to.some(({ name }) => name === 'boss'));
    expect(sent.map(({ message }) => [message.body.trim(), message.cause])).toEqual([
      ['first-word', [asked[0]]],
      ['second-word', [asked[1]]],
    ]);
  });

  it(
    'keeps a process for each thread, also where both are asked at once',
    { tags: 'long' },
    async () => {
      host.start();
      await Promise.all([host.send('worker', 'about apples'), host.send('worker', 'about pears')]);
      await until('two answers', () => answers().length === 2);
      const [one, other] = answers();
      await askOn('more', one?.relPath);
      await askOn('more', other?.relPath);
      expect(starts()).toHaveLength(2);
      const sessions = prompts().map(({ session, prompt = '' }) => [
        session,
        /apples|pears/.exec(prompt)?.[0],
      ]);
      expect(new Set(sessions.map(([session]) => session)).size).toBe(2);
      expect(prompts()).toHaveLength(4);
      expect(bodies()).toEqual(['turn 1', 'turn 1', 'turn 2', 'turn 2']);
    },
  );

  it.each([
    ['profile', () => edit('local/actors/worker.md', '---\nname: worker\n---\nBe brief.\n')],
    ['skill', () => edit('local/skills/x/SKILL.md', '---\nname: x\ndescription: y\n---\nz\n')],
    ['command', () => serve({}, `${GEMINI} --model other`)],
    ['approved option', () => serve({ timeout: 300 })],
  ])(
    'ends it before the next turn when a %s has changed',
    { tags: 'long' },
    async (_what, change) => {
      host.start();
      await ask('the first thing');
      await change();
      await askOn('the second thing');
      expect(starts()).toHaveLength(2);
      expect(kinds()).toEqual(['fresh', 'fresh']);
      expect(lastPrompt()).toContain('the first thing');
      await isGone(starts()[0]?.pid);
      expect(kept()).toHaveLength(1);
    },
  );

  it.each(
    sample([
      ['is killed', 'please die'],
      ['speaks broken JSON', 'please babble'],
      ['reports an error', 'please fail'],
      ['prints without end', 'please flood'],
      ['tells of a tool in lists within lists', 'please nest'],
      ['answers its prompt with nothing', 'please void', 'something else than the protocol has'],
    ]),
  )(
    'a process that %s in a turn is ended, and the turn made again from the start',
    { tags: 'sampled' },
    async (_what, text, why?: string) => {
      const running = host.start();
      await ask('the first thing');
      const sent = await host.run('reply', answers().at(-1)?.relPath ?? '', text);
      expect(sent.code).toBe(0);
      await until('the failure', () => said(running, 'dispatch_failed').length > 0);
      expect(JSON.stringify(said(running, 'dispatch_failed'))).toContain(why ?? '');
      await isGone(starts()[0]?.pid);
      await until('another turn', () => new Set(prompts().map(({ pid }) => pid)).size > 1);
      expect(lastPrompt()).toContain('the first thing');
      await running.stop();
      for (const { pid } of starts()) await isGone(pid);
      expect(bodies()).toEqual(['turn 1']);
    },
  );

  it(
    'a process that hangs is ended with its turn, and so is one whose turn is cancelled',
    { tags: 'slow' },
    async () => {
      await serve({ timeout: 2, attempts: 1 });
      host.start();
      await ask('the first thing');
      await askOn('please hang');
      expect(answers().at(-1)?.message.failed).toMatchObject({ reason: 'timed_out' });
      await isGone(starts()[0]?.pid);
      await serve({ timeout: 600 });
      await ask('another thing');
      await host.run('reply', answers().at(-1)?.relPath ?? '', 'please hang too');
      const hanging = await until('the turn', () =>
        prompts().find(({ prompt = '' }) => prompt.includes('please hang too')),
      );
      const question = bus
        .from('operator')
        .find(({ message }) => message.body.trim() === 'please hang too');
      expect((await host.run('cancel', question?.relPath ?? '', '--from', 'operator')).code).toBe(
        0,
      );
      await isGone(hanging.pid);
    },
  );

  it('a process that grows without bound is ended, with the reason', { tags: 'slow' }, async () => {
    git(host.dir, 'config', 'crosstalk.warmMemory', '300');
    const running = host.start();
    await ask('the first thing');
    await host.run('reply', answers().at(-1)?.relPath ?? '', 'please grow');
    const [failed] = await until('the failure', () => {
      const found = said(running, 'dispatch_failed');
      return found.length > 0 && found;
    });
    expect(String(failed?.['detail'])).toContain('git config crosstalk.warmMemory');
    await isGone(starts()[0]?.pid);
  });

  it(
    'what a process has left outside of its group ends with its session',
    { tags: 'long' },
    async () => {
      const running = host.start();
      await ask('please leave something');
      const [{ run = '' } = {}] = starts();
      expect(of(run)).toBeGreaterThan(1);
      await running.stop();
      await until('nothing left', () => of(run) === 0);
    },
  );

  it('a process that died while it waited costs a new one, and no answer', async () => {
    host.start();
    await ask('the first thing');
    const [{ pid } = { pid: 0 }] = starts();
    process.kill(pid, 'SIGKILL');
    await isGone(pid);
    await askOn('the second thing');
    expect(kinds()).toEqual(['fresh', 'fresh']);
    expect(lastPrompt()).toContain('the first thing');
    expect(ledger().map(({ ended }) => ended)).toEqual(['answered', 'answered']);
  });

  it('a process that prints text on other lines is kept', async () => {
    writeFileSync(join(folder, 'mood'), 'chats');
    host.start();
    await ask('the first thing');
    await askOn('the second thing');
    expect(bodies()).toEqual(['turn 1', 'turn 2']);
    expect(starts()).toHaveLength(1);
  });

  it.each(['missing', 'babbles'])(
    'mail is answered by a process of its own where the protocol is %s',
    async (mood) => {
      writeFileSync(join(folder, 'mood'), mood);
      const running = host.start();
      await ask('the first thing');
      expect(bodies()).toEqual(['by a process of its own']);
      expect(kinds()).toEqual([undefined]);
      expect(said(running, 'session_refused')).toHaveLength(1);
      expect(said(running, 'dispatch_failed')).toEqual([]);
      expect(kept()).toEqual([]);
      for (const { pid } of starts()) await isGone(pid);
      rmSync(join(folder, 'mood'));
      await askOn('the second thing');
      expect(bodies().at(-1)).toBe('turn 1');
      expect(lastPrompt()).toContain('the first thing');
    },
  );

  it(
    'ends the one that was used least recently where one more would be too many',
    { tags: 'long' },
    async () => {
      git(host.dir, 'config', 'crosstalk.warmSessions', '2');
      const running = host.start();
      await ask('about apples');
      await ask('about pears');
      const [apples, pears] = answers();
      await askOn('more', apples?.relPath);
      await ask('about plums');
      expect(kept()).toHaveLength(2);
      expect(said(running, 'session_ended')).toMatchObject([{ reason: 'room', turns: 1 }]);
      await askOn('more', apples?.relPath);
      expect(kinds().at(-1)).toBe('warm');
      await askOn('more', pears?.relPath);
      expect(kinds().at(-1)).toBe('fresh');
      expect(lastPrompt()).toContain('about pears');
    },
  );

  it(
    'keeps as many as the machine may for all of its transports together',
    { tags: 'long' },
    async () => {
      const other = new Bus();
      const elsewhere = await other.host('front', {});
      elsewhere.env['KEEPING'] = folder;
      elsewhere.declare({ worker: { default: { cli: GEMINI, session: 'warm' } } });
      await elsewhere.approve();
      for (const { dir } of [host, elsewhere]) git(dir, 'config', 'crosstalk.warmSessions', '2');
      const running = host.start();
      const there = elsewhere.start();
      await ask('about apples');
      await elsewhere.send('worker', 'about pears');
      await until('the answer there', () => other.from('worker').length === 1);
      const [apples, pears] = starts().map(({ pid }) => pid);

      await elsewhere.send('worker', 'about plums');
      await until('the other answer there', () => other.from('worker').length === 2);
      await isGone(apples);
      expect(isAlive(pears ?? 0)).toBe(true);
      await until('the end to be seen', () => said(running, 'session_ended').length === 1);
      expect(said(there, 'session_ended')).toEqual([]);

      await askOn('more', answers()[0]?.relPath);
      expect(kinds().at(-1)).toBe('fresh');
      await isGone(pears);
      expect(starts().filter(({ pid }) => isAlive(pid))).toHaveLength(2);
      await there.stop();
    },
  );

  it('keeps none where the machine keeps none', { tags: 'long' }, async () => {
    git(host.dir, 'config', 'crosstalk.warmSessions', '0');
    host.start();
    await ask('the first thing');
    expect(bodies()).toEqual(['by a process of its own']);
  });

  it(
    'refuses what the CLI asks for where nobody is to be asked, and offers it no files',
    { tags: 'long' },
    async () => {
      host.start();
      await ask('please ask');
      await askOn('please read');
      expect(bodies()).toEqual(['turn 1 no', 'turn 2 was not read']);
    },
  );

  it('a pass of the dispatcher leaves no process behind', { tags: 'long' }, async () => {
    await host.send('worker', 'the first thing');
    await host.once();
    expect(bodies()).toEqual(['turn 1']);
    for (const { pid } of starts()) await isGone(pid);
    expect(kept()).toEqual([]);
  });
});

/** How many processes have a directory of a run in their environment. */
function of(run: string): number {
  return readdirSync('/proc').filter((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      return readFileSync(`/proc/${name}/environ`, 'latin1').includes(`CROSSTALK_RUN_DIR=${run}\0`);
    } catch {
      return false;
    }
  }).length;
}

it(
  'host show, explain, status, agents and doctor tell of what is kept',
  { tags: 'long' },
  async () => {
    const shown = await host.run('host', 'show', '--host', 'front');
    expect(shown.out).toContain(
      `keeps a process for each thread, for at most 20 runs: ${GEMINI} --acp`,
    );
    expect((await host.run('status')).out).not.toContain('kept warm');
    host.start();
    const question = await ask('the first thing');
    const explained = await host.run('explain', question, 'worker');
    expect(explained.out).toContain('its run began a session');
    expect(explained.out).toContain('goes on with a session of gemini whose process is kept');
    const state = await host.run('status');
    expect(state.out).toMatch(
      /Sessions kept warm, with \d+ MiB of memory\n {2}worker +default +gemini +1 run +100 of 1000 tokens +\d+ MiB /,
    );
    const found = await host.runWith(
      { env: { PATH: '/usr/bin:/bin' } },
      ...['agents', '--json', 'gemini', 'claude'],
    );
    expect(JSON.parse(found.out)).toMatchObject([
      { sessions: ['fresh', 'resume', 'warm'], adapter: null },
      { sessions: ['fresh', 'resume'], adapter: { name: 'claude-agent-acp', path: null } },
    ]);
    await serve({}, 'claude -p');
    const examined = await host.runWith({ env: { PATH: '/usr/bin:/bin' } }, 'doctor');
    expect(examined.out).toContain('claude-agent-acp, by which claude is kept, is not on the PATH');
    expect(examined.out).toContain('npm install --global @agentclientprotocol/claude-agent-acp');
  },
);

it('a tier whose process cannot be kept is said to be one, and each of its runs is new', async () => {
  await serve({}, `${GEMINI} --yolo`);
  const shown = await host.run('host', 'show', '--host', 'front');
  expect(shown.out).toContain('each run is new all the same: its command has the word --yolo');
  host.start();
  await ask('the first thing');
  expect(bodies()).toEqual(['by a process of its own']);
});

it(
  'asks a person for what its process asks, and passes the answer on, once',
  { tags: 'long' },
  async () => {
    await serve({ permit: 'anna' });
    const shown = await host.run('host', 'show', '--host', 'front');
    expect(shown.out).toContain('asks for permission with: the Agent Client Protocol');
    host.start();
    const questions = () =>
      bus.messages().filter(({ message }) => message.permission !== undefined);
    const decide = async (word: 'approve' | 'deny', count: number): Promise<void> => {
      await until(`question ${String(count)}`, () => questions().length === count);
      const question = questions().at(-1);
      expect(question?.message.permission?.tool).toBe('Bash');
      expect(question?.message.permission?.input).toContain('rm -rf build');
      await host.news();
      const decided = await host.runWith(
        { env: { CROSSTALK_FROM: 'anna' } },
        word,
        question?.relPath ?? '',
      );
      expect(decided.code, decided.err).toBe(0);
    };
    await host.send('worker', 'please ask');
    await decide('approve', 1);
    const said = () => answers().filter(({ message }) => message.body.startsWith('turn'));
    await until('an answer', () => said().length === 1);
    await host.run('reply', said()[0]?.relPath ?? '', 'please ask');
    await decide('deny', 2);
    await until('another answer', () => said().length === 2);
    expect(said().map(({ message }) => message.body.trim())).toEqual(['turn 1 yes', 'turn 2 no']);
  },
);

it(
  'session end and the page end one that waits, and none that is at work',
  { tags: 'long' },
  async () => {
    host.start();
    const web = await Web.start(host);
    expect(await web.get<WebSessions>('/api/sessions')).toEqual({ sessions: [] });
    expect((await host.run('session', 'list')).out.trim()).toBe('none is kept');
    await ask('the first thing');
    const listed = await host.run('session', 'list', '--json');
    const [one] = JSON.parse(listed.out) as WebSessions['sessions'];
    expect(one).toMatchObject({ actor: 'worker', agent: 'gemini', turns: 1 });
    expect(await web.get<WebSessions>('/api/sessions')).toMatchObject({
      sessions: [{ id: one?.id, context: { used: 100, size: 1000 } }],
    });
    const ended = await host.run('session', 'end', one?.id ?? '');
    expect(ended.out).toContain('Ended: the session of worker with gemini');
    await isGone(starts()[0]?.pid);
    await askOn('the second thing');
    expect(kinds()).toEqual(['fresh', 'fresh']);
    const [other] = (await web.get<WebSessions>('/api/sessions')).sessions;
    await web.post(`/api/sessions/${other?.id ?? ''}/end`, {});
    await isGone(starts()[1]?.pid);
    expect((await host.run('session', 'end', one?.id ?? '')).err).toContain('keeps no session');
    await askOn('the third thing');
    await host.run('reply', answers().at(-1)?.relPath ?? '', 'please hang');
    await until('the turn', () => lastPrompt().includes('please hang'));
    const [last] = (await web.get<WebSessions>('/api/sessions')).sessions;
    const refused = await host.run('session', 'end', last?.id ?? '');
    expect(refused.err).toContain('the session is at work on');
    expect(isAlive(starts().at(-1)?.pid ?? 0)).toBe(true);
    await host.run('cancel', bus.from('operator').at(-1)?.relPath ?? '', '--from', 'operator');
  },
);

it(
  'gives its process the approved tools when it opens, and ends it when they or their secrets change',
  { tags: 'long' },
  async () => {
    const approved = async (mcps: unknown[]): Promise<void> => {
      host.edit({ 'local/actors/worker.md': profileWith('worker', mcps) });
      await host.approve();
    };
    await host.runWith({ stdin: 'a-secret-of-this-machine' }, 'secret', 'set', 'vault.key');
    await approved([vault({ KEY: '${vault.key}' })]);
    host.start();
    await ask('the first thing');
    const [opened] = logged().flatMap((one) => one.opened ?? []);
    const [{ run = '' } = {}] = starts();
    const script = join(run, 'mcp-vault.sh');
    const servers = [{ name: 'vault', command: '/bin/sh', args: [script], env: [] }];
    expect(opened).toMatchObject({ mcpServers: servers });
    // It may be started anew while the session lives; what belongs to the turn is gone.
    expect(readFileSync(script, 'utf8')).toContain('a-secret-of-this-machine');
    expect(readdirSync(run)).toEqual(['mcp-vault.sh']);
    await askOn('the second thing');
    expect(kinds()).toEqual(['fresh', 'warm']);
    await approved([vault({ KEY: '${vault.key}', MORE: 'x' })]);
    await askOn('the third thing');
    await host.runWith({ stdin: 'another-secret-of-it' }, 'secret', 'set', 'vault.key');
    await askOn('the fourth thing');
    expect(kinds()).toEqual(['fresh', 'warm', 'fresh', 'fresh']);
    expect(existsSync(run)).toBe(false);
  },
);
