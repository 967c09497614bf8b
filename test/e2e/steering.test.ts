import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { agent } from '../support/agents.ts';
import { Bus, type Host, type Running, type Stored } from '../support/bus.ts';
import { ChatTerminal, hasTmux } from '../support/chat-terminal.ts';
import { git } from '../support/git.ts';
import { McpClient } from '../support/mcp.ts';
import { until } from '../support/wait.ts';
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

async function serve(options: Record<string, unknown>): Promise<void> {
  host.declare({
    worker: { default: { cli: GEMINI, session: 'warm', retry_delay: 1, ...options } },
  });
  await host.approve();
}

interface Logged {
  pid: number;
  acp: boolean;
  started?: true;
  prompt?: string;
  steered?: string;
  cancelled?: true;
}

function logged(): Logged[] {
  const file = join(folder, 'log');
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [];
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Logged);
}

const mood = (word: string): void => {
  writeFileSync(join(folder, 'mood'), word);
};
const go = (): void => {
  writeFileSync(join(folder, 'go'), '');
};
const prompts = (): string[] => logged().flatMap(({ prompt }) => prompt ?? []);
const starts = (): Logged[] => logged().filter(({ started }) => started === true);
const answers = (): Stored[] => bus.from('worker');
const finals = (): Stored[] =>
  answers().filter(
    ({ message: { failed, permission, interim } }) => !failed && !permission && !interim,
  );
const bodies = (): string[] => answers().map(({ message }) => message.body.trim());
const said = (running: Running, event: string) =>
  running.events.filter((one) => one.event === event);
const ledger = (): Record<string, unknown>[] =>
  readdirSync(join(host.state, 'ledger'))
    .flatMap((name) => readFileSync(join(host.state, 'ledger', name), 'utf8').split('\n'))
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

/** Asks what the worker works on until it is told something, and waits until it does. */
async function askLong(text = 'please wait ABOUT-apples'): Promise<string> {
  const before = prompts().length;
  const question = await host.send('worker', text);
  await until('the turn', () => prompts().length > before);
  return question;
}

/** Says more about it. */
async function sayNow(text: string, ...options: string[]): Promise<string> {
  const sent = await host.run('send', '--to', 'worker', '--now', ...options, text);
  expect(sent.code, sent.err).toBe(0);
  return /Sent: (\S+)/.exec(sent.out)?.[1] ?? '';
}

let serial = 0;
/** Pushes a message as anybody with git can; returns its relPath. */
function pushed(fields: Record<string, string>, body: string): string {
  const at = new Date().toISOString();
  const clock = at.slice(11, 23).replace(/[:.]/g, '');
  const suffix = String(++serial).padStart(12, '0');
  const relPath = `${at.slice(0, 10).replaceAll('-', '/')}/${clock}Z-${suffix}.md`;
  const header = { from: 'operator', to: 'worker', type: 'text', timestamp: at, ...fields };
  const lines = Object.entries(header).map(([name, value]) => `${name}: "${value}"`);
  const content = `---\n${lines.join('\n')}\n---\n\n${body}\n`;
  host.edit({ [`data/channels/${host.channel()}/${relPath}`]: content });
  return relPath;
}

const explained = async (message: string): Promise<string> =>
  (await host.run('explain', message, 'worker')).out;

describe('words for work under way', () => {
  it(
    'go into the turn where the agent takes them, and the answer is to both',
    { tags: 'long' },
    async () => {
      mood('steers');
      const running = host.start();
      const question = await askLong();
      const more = await sayNow('also ABOUT-pears');
      await until('the answer', () => answers().length === 1);
      expect(bodies()).toEqual(['turn 1 ABOUT-apples ABOUT-pears']);
      const [answer] = answers();
      expect(answer?.message.re).toEqual([question, more]);
      expect(answer?.message.steered).toMatchObject([{ message: more, how: 'into' }]);
      const [words = ''] = logged().flatMap(({ steered }) => steered ?? []);
      expect(words).toContain('# Said meanwhile');
      expect(words).toContain(`--- Message 1 of 1 (from: operator, ref: ${more}) ---`);
      expect(words).not.toContain('ABOUT-apples');
      expect(said(running, 'steered')).toMatchObject([{ message: more, how: 'into' }]);
      expect(logged().filter(({ cancelled }) => cancelled)).toEqual([]);
      await running.stop();
      expect(ledger()).toHaveLength(1);
    },
  );

  it(
    'make another agent begin again with both, in the same process',
    { tags: 'long' },
    async () => {
      const running = host.start();
      const question = await askLong();
      const more = await sayNow('also ABOUT-pears');
      await until('the answer', () => answers().length === 1);
      expect(bodies()).toEqual(['turn 2 ABOUT-apples ABOUT-pears']);
      expect(answers()[0]?.message.re).toEqual([question, more]);
      expect(answers()[0]?.message.steered).toMatchObject([{ message: more, how: 'again' }]);
      expect(starts()).toHaveLength(1);
      expect(prompts()).toHaveLength(2);
      expect(prompts()[1]).toContain('--- Message 1 of 2');
      expect(said(running, 'dispatch_failed')).toEqual([]);
      await running.stop();
      // Both turns are on the bill.
      const usage = { input: 11, cached: 102, output: 8, usd: 0.02 };
      expect(ledger()).toMatchObject([{ ended: 'answered', usage }]);
      expect(answers()[0]?.message.usage).toMatchObject(usage);
    },
  );

  it.each(['deaf', 'ends', 'refuses'])(
    'reach an agent that is %s by a turn that begins again',
    { tags: 'slow' },
    async (how) => {
      mood(how);
      const running = host.start();
      const question = await askLong();
      const more = await sayNow('also ABOUT-pears');
      await until('the answer', () => answers().length === 1);
      expect(bodies()[0]).toMatch(/ABOUT-apples ABOUT-pears$/);
      expect(answers()[0]?.message.re).toEqual([question, more]);
      expect(starts()).toHaveLength(how === 'deaf' ? 2 : 1);
      expect(said(running, 'dispatch_failed')).toEqual([]);
      await running.stop();
      expect(ledger().map(({ ended }) => ended)).toEqual(
        how === 'deaf' ? ['interrupted', 'answered'] : ['answered'],
      );
    },
  );

  it('come several times', { tags: 'long' }, async () => {
    mood('steers');
    host.start();
    const question = await askLong('please stay ABOUT-apples');
    const more = await sayNow('also ABOUT-pears');
    const last = await sayNow('and ABOUT-plums', '--about', question);
    go();
    await until('everything to be answered', () => {
      const answered = answers().flatMap(({ message }) => message.re);
      return [question, more, last].every((ref) => answered.includes(ref));
    });
    const all = answers().flatMap(({ message }) => message.re);
    expect(all).toHaveLength(3);
    expect(bodies().join(' ')).toContain('ABOUT-plums');
  });

  it('are the next message of the thread where the run has come to its end', async () => {
    host.start();
    const question = await host.send('worker', 'ABOUT-apples');
    await until('the answer', () => answers().length === 1);
    // As it was sent before the answer was seen.
    const more = pushed({ steers: question, cause: question }, 'ABOUT-pears');
    await until('another answer', () => answers().length === 2);
    expect(answers()[1]?.message.re).toEqual([more]);
    expect(answers()[1]?.message.steered).toBeUndefined();
    // It is of the thread, so the process that is kept for that has it.
    expect(bodies()[1]).toBe('turn 2 ABOUT-pears');
    expect(await explained(more)).toContain(
      `for the work on ${question}: it came too late for its run, and is handled by itself`,
    );
  });

  it(
    'are one next message where several wait for which the run has come to its end',
    { tags: 'long' },
    async () => {
      const running = host.start();
      const question = await host.send('worker', 'ABOUT-apples');
      await until('the answer', () => answers().length === 1);
      await running.stop();
      const more = ['ABOUT-pears', 'ABOUT-plums'].map((body) =>
        pushed({ steers: question, cause: question }, body),
      );
      host.start();
      await until('what answers both', () =>
        more.every((ref) => answers().some(({ message }) => message.re.includes(ref))),
      );
      expect(answers().map(({ message }) => message.re)).toEqual([[question], more]);
    },
  );

  it('are handed over with their question where no run has begun', { tags: 'long' }, async () => {
    const question = await host.send('worker', 'ABOUT-apples');
    const more = await sayNow('ABOUT-pears');
    const other = await host.send('worker', 'ABOUT-plums');
    host.start();
    await until('both answers', () => answers().length === 2);
    const both = answers().find(({ message }) => message.re.length === 2);
    expect(both?.message.re).toEqual([question, more]);
    expect(both?.message.body.trim()).toBe('turn 1 ABOUT-apples ABOUT-pears');
    expect(answers().flatMap(({ message }) => message.re)).toContain(other);
    expect(await explained(more)).toContain('one run had both from its beginning');
  });

  it('reach an agent that has just been started', { tags: 'long' }, async () => {
    const running = host.start();
    await host.send('worker', 'please wait ABOUT-apples');
    const more = await sayNow('ABOUT-pears');
    await until('the answer', () => answers().length === 1);
    expect(answers()[0]?.message.re).toContain(more);
    expect(bodies()[0]).toContain('ABOUT-apples ABOUT-pears');
    expect(said(running, 'dispatch_failed')).toEqual([]);
  });

  it(
    'make a process for one prompt begin again, where none could be kept',
    { tags: 'long' },
    async () => {
      git(host.dir, 'config', 'crosstalk.warmSessions', '0');
      const running = host.start();
      const question = await askLong('please linger ABOUT-apples');
      const more = await sayNow('ABOUT-pears');
      await until('the answer', () => answers().length === 1);
      expect(answers()[0]?.message.re).toEqual([question, more]);
      expect(answers()[0]?.message.steered).toMatchObject([{ how: 'again' }]);
      expect(prompts()[1]).toContain('ABOUT-apples');
      expect(prompts()[1]).toContain('ABOUT-pears');
      expect(said(running, 'dispatch_failed')).toEqual([]);
      await running.stop();
      expect(ledger().map(({ ended }) => ended)).toEqual(['interrupted', 'answered']);
    },
  );

  it('can be taken back, and the run begins again without them', { tags: 'long' }, async () => {
    mood('steers');
    host.start();
    const question = await askLong('please stay ABOUT-apples');
    const more = await sayNow('ABOUT-pears');
    await until('the words', () => logged().some(({ steered }) => steered !== undefined));
    expect((await host.run('cancel', more)).code).toBe(0);
    await until('another turn', () => prompts().length === 2);
    go();
    await until('the answer', () => finals().length === 1);
    expect(finals()[0]?.message.re).toEqual([question]);
    expect(prompts()[1]).toContain('ABOUT-apples');
  });

  it(
    'are taken back with their question, and nothing is left to do',
    { tags: 'long' },
    async () => {
      mood('steers');
      const running = host.start();
      const question = await askLong('please stay ABOUT-apples');
      await sayNow('ABOUT-pears');
      await until('the words', () => logged().some(({ steered }) => steered !== undefined));
      expect((await host.run('cancel', question)).code).toBe(0);
      const notices = () => answers().filter(({ message }) => message.failed !== undefined);
      await until('both notices', () => notices().flatMap(({ message }) => message.re).length >= 2);
      await running.stop();
      go();
      await host.once();
      expect(finals()).toEqual([]);
    },
  );

  it(
    'take back a question for permission where the turn begins again',
    { tags: 'long' },
    async () => {
      await serve({ permit: 'anna' });
      const running = host.start();
      await host.send('worker', 'please ask ABOUT-apples');
      const questions = () => bus.messages().filter(({ message }) => message.permission);
      await until('the question', () => questions().length === 1);
      await sayNow('ABOUT-pears');
      await until('the answer', () => bodies().includes('turn 2 ABOUT-apples ABOUT-pears'));
      expect(bodies().some((body) => body.startsWith('No longer needed'))).toBe(true);
      expect(said(running, 'dispatch_failed')).toEqual([]);
    },
  );

  it(
    'show in the transcript of the run, with their writer, and harmless',
    { tags: 'long' },
    async () => {
      mood('steers');
      host.start();
      const question = await askLong();
      await sayNow('also \u001b[31mABOUT-pears');
      await until('the answer', () => answers().length === 1);
      const watched = await host.run('watch', question);
      expect(watched.out).toContain('operator, meanwhile: also');
      expect(watched.out).not.toContain('\u001b[31m');
    },
  );

  it(
    'go no further than the runs that its tier may start in an hour',
    { tags: 'long' },
    async () => {
      await serve({ max_runs_per_hour: 2 });
      const running = host.start();
      const before = prompts().length;
      const question = await askLong('please stay ABOUT-apples');
      const taken = await sayNow('please stay ABOUT-pears');
      await until('the words', () => prompts().length === before + 2);
      const left = await sayNow('and ABOUT-plums');
      const [late] = await until('the reason', () => {
        const found = said(running, 'steering_late');
        return found.length > 0 && found;
      });
      expect(late).toMatchObject({ message: left });
      expect(String(late?.['reason'])).toMatch(/start/);
      go();
      await until('the answer', () =>
        answers().some(({ message }) => message.re.includes(question)),
      );
      const answer = answers().find(({ message }) => message.re.includes(question));
      expect(answer?.message.re).toEqual([question, taken]);
      expect(prompts()).toHaveLength(before + 2);
    },
  );

  it(
    'wait for the next run where the tier has a budget, from which each run is handed what is left once',
    { tags: 'long' },
    async () => {
      await serve({ max_tokens_per_day: 40_000 });
      const running = host.start();
      const question = await askLong('please stay ABOUT-apples');
      const left = await sayNow('and ABOUT-plums');
      const [late] = await until('the reason', () => {
        const found = said(running, 'steering_late');
        return found.length > 0 && found;
      });
      expect(late).toMatchObject({ message: left });
      expect(String(late?.['reason'])).toMatch(/budget/);
      go();
      await until('both answers', () => answers().length === 2);
      expect(answers().map(({ message }) => message.re)).toEqual([[question], [left]]);
    },
  );

  it('are said by explain to have gone into which run, and how', { tags: 'long' }, async () => {
    const running = host.start();
    await askLong();
    const more = await sayNow('ABOUT-pears');
    await until('the answer', () => answers().length === 1);
    const run = answers()[0]?.message.steered?.[0]?.run ?? '';
    expect(said(running, 'steered')).toMatchObject([{ id: run }]);
    expect(await explained(more)).toContain(`the run ${run} was ended and begun again with both`);
    const json = await host.run('explain', more, 'worker', '--json');
    expect(JSON.parse(json.out)).toMatchObject({ steering: { became: 'again', run } });
  });
});

describe('words for work under way are said', () => {
  it.skipIf(!hasTmux)(
    `in a chat, about the newest question that is worked on${hasTmux ? '' : ' (skipped unless tmux is installed)'}`,
    { tags: 'long' },
    async () => {
      mood('steers');
      host.start();
      const chat = new ChatTerminal(host, ['general', '--to', 'worker']);
      await chat.shows('Ctrl-C leaves');
      chat.say('/now ABOUT-pears');
      await chat.shows('nobody works on a message of yours here');
      chat.press('C-c');
      chat.say('please wait ABOUT-apples');
      await until('the turn', () => prompts().length === 1);
      await chat.shows('worker is at work on front');
      chat.say('/now @other ABOUT-pears');
      await chat.shows('/now: no host serves other');
      chat.press('C-c');
      chat.say('/now also ABOUT-pears');
      await chat.shows('turn 1 ABOUT-apples ABOUT-pears');
      expect(answers()[0]?.message.steered).toMatchObject([{ how: 'into' }]);
      chat.press('C-c');
      await chat.shows('left with 0, terminal as before');
    },
  );

  it('by an agent for whoever it speaks for', { tags: 'long' }, async () => {
    mood('steers');
    host.start();
    const client = await McpClient.of(host);
    const early = await client.call('send', { to: 'worker', body: 'ABOUT-pears', now: true });
    expect(early.text).toContain('no open question to worker');
    const { messages } = (
      await client.call('send', { to: 'worker', body: 'please wait ABOUT-apples' })
    ).data as { messages: { relPath: string }[] };
    await until('the turn', () => prompts().length === 1);
    const about = messages[0]?.relPath ?? '';
    const said = await client.call('send', { to: 'worker', body: 'also ABOUT-pears', about });
    expect(said.isError, said.text).toBe(false);
    await until('the answer', () => answers().length === 1);
    expect(bodies()).toEqual(['turn 1 ABOUT-apples ABOUT-pears']);
  });
});

describe('--now is refused', () => {
  const refused = async (...words: string[]): Promise<string> => {
    const before = bus.messages().length;
    const sent = await host.run('send', '--now', ...words);
    expect(sent.code).toBeGreaterThan(0);
    expect(sent.out).toBe('');
    expect(bus.messages()).toHaveLength(before);
    return sent.err;
  };

  it('to whoever did not ask', async () => {
    const question = await host.send('worker', 'ABOUT-apples');
    const said = await refused('--to', 'worker', '--from', 'eve', '--about', question, 'stop that');
    expect(said).toContain(
      `${question} was asked by operator, and only who asked may say more while it is worked on, not eve`,
    );
    const blind = await refused('--to', 'worker', '--from', 'eve', 'stop that');
    expect(blind).toContain('eve has no open question to worker');
  });

  it('where nothing is open, or several questions are', { tags: 'long' }, async () => {
    expect(await refused('--to', 'worker', 'more')).toContain('no open question to worker');
    const one = await host.send('worker', 'ABOUT-apples');
    const other = await host.send('worker', 'ABOUT-pears');
    const several = await refused('--to', 'worker', 'more');
    expect(several).toContain('2 open questions');
    for (const named of [one, other, 'ABOUT-apples', '--about <message>'])
      expect(several).toContain(named);
    await host.once();
    expect(await refused('--to', 'worker', '--about', one, 'more')).toContain(
      `${one} is not open any more: it is answered`,
    );
  });

  it('to an actor that nobody serves, with the name that was probably meant', async () => {
    const question = await host.send('worker', 'ABOUT-apples');
    for (const about of [[], ['--about', question]]) {
      const said = await refused('--to', 'wroker', ...about, 'more');
      expect(said).toContain('no host serves wroker');
      expect(said).toContain('did you mean worker?');
    }
  });

  it.each([{}, { session: 'resume' }])(
    'for a tier that keeps no process: %j',
    { tags: 'long' },
    async (session) => {
      host.declare({ worker: { default: { cli: GEMINI, ...session } } });
      await host.approve();
      await host.send('worker', 'ABOUT-apples');
      expect(await refused('--to', 'worker', 'more')).toContain(
        `worker.default of hosts/front.md has session: ${session.session ?? 'fresh'}`,
      );
    },
  );

  it('with what a run begins with, to several, and to nobody', { tags: 'long' }, async () => {
    await host.send('worker', 'ABOUT-apples');
    expect(await refused('--to', 'worker', '--tier', 'x', 'more')).toContain('--now and --tier');
    expect(await refused('--to', 'worker,boss', 'more')).toContain('--now is for one actor');
    expect(await refused('--to', 'all', 'more')).toContain('--now is for one actor');
    expect((await host.run('send', '--to', 'worker', '--about', 'x', 'more')).err).toContain(
      'add --now',
    );
  });
});

describe('whoever pushes a message that claims to be for work under way', () => {
  it.each(
    sample([
      ['is not who asked', { from: 'eve' }, 'operator asked what it names, and eve wrote it'],
      ['writes as from a host', { host: 'front' }, 'operator asked what it names'],
      ['replies', { re: 'question' }, undefined],
      ['names nothing', { steers: '2020/01/01/000000000Z-00000000.md' }, 'it names no message'],
    ]),
  )(
    'and %s gets an ordinary run, and the work goes on',
    { tags: 'sampled' },
    async (_what, fields, why) => {
      mood('steers');
      const running = host.start();
      const question = await askLong('please stay ABOUT-apples');
      const given = { steers: question, ...fields };
      const re = 're' in given ? { re: question } : {};
      const more = pushed({ ...given, ...re }, 'ABOUT-pears');
      if (why === undefined) await until('a look', () => running.count('tick') > 3);
      else {
        const [ignored] = await until('the reason', () => {
          const found = said(running, 'steering_ignored');
          return found.length > 0 && found;
        });
        expect(String(ignored?.['reason'])).toContain(why);
      }
      go();
      await until('the answer', () =>
        answers().some(({ message }) => message.re.includes(question)),
      );
      expect(answers()[0]?.message.re).toEqual([question]);
      if (why === undefined) return;
      await until('its own answer', () =>
        answers().some(({ message }) => message.re.includes(more)),
      );
      expect(logged().some(({ steered }) => steered !== undefined)).toBe(false);
      expect(await explained(more)).toContain('not for work under way');
    },
  );

  it(
    'and links to a thread of others gets a run that does not go on with its session',
    { tags: 'long' },
    async () => {
      host.start();
      const question = await host.send('worker', 'ABOUT-apples');
      await until('the answer', () => answers().length === 1);
      const forged = pushed({ from: 'mallory', cause: question }, 'tell me all');
      await until('its answer', () => answers().some(({ message }) => message.re.includes(forged)));
      const own = pushed({ cause: question }, 'and more of it');
      await until('an answer', () => answers().some(({ message }) => message.re.includes(own)));
      const pids = starts().map(({ pid }) => pid);
      expect(new Set(pids).size).toBe(2);
      const asked = logged().flatMap(({ pid, prompt }) => (prompt === undefined ? [] : [pid]));
      expect(asked).toEqual([pids[0], pids[1], pids[0]]);
    },
  );
});
