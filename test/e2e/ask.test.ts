import { describe, expect, it } from 'vitest';
import { Bus } from '../support/bus.ts';
import { failedOn, put } from '../support/by-hand.ts';
import { git } from '../support/git.ts';
import { Program } from '../support/process.ts';
import { until } from '../support/wait.ts';

/** The question that somebody asked, as soon as it is on the bus. */
async function asked(bus: Bus, from = 'operator'): Promise<string> {
  return until('the question', () => bus.from(from).at(-1)?.relPath);
}

it.each(['with', 'without'])(
  'ask prints the answer alone, %s a dispatcher here',
  { tags: 'long' },
  async (here) => {
    const bus = new Bus();
    const front = await bus.host('front', { idle: 'true' });
    const back = await bus.host('back', {
      worker: 'cat > /dev/null; printf "# Three\\n\\nof them"',
    });
    if (here === 'with') await front.start().saw('host_file_loaded');
    back.start();
    expect(await front.run('ask', 'worker', 'how many?')).toEqual({
      code: 0,
      out: '# Three\n\nof them\n',
      err: '',
    });
    const { code, out } = await front.runWith(
      { stdin: 'and now?' },
      'ask',
      'worker@back',
      '--json',
    );
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      message: bus.from('operator').at(-1)!.relPath,
      state: 'REPLIED',
      answer: { from: 'worker', body: '# Three\n\nof them' },
      failures: [],
      held_up: [],
    });
    expect(bus.from('operator').at(-1)?.message.body.trimEnd()).toBe('and now?');
  },
);

describe('ask and wait with several actors', () => {
  it('wait for all that are served, and print each answer under its name', async () => {
    const bus = new Bus();
    const front = await bus.host('front', { tester: 'echo "helper:"' });
    await bus.host('back', { helper: 'true' });
    const asking = front.run('ask', 'tester,helper', 'is it done?');
    const question = await asked(bus);
    await front.once();
    const early = await front.run('wait', '--timeout', '0', question);
    expect(early.code).toBe(3);
    expect(early.out).toMatch(/^REPLIED .*\n {2}from tester /);
    expect(early.err).toContain(`${question}: not answered by helper@back\n`);
    expect((await front.run('wait', '--any', question)).code).toBe(0);
    expect(JSON.parse((await front.run('replies', question, '--json')).out)).toMatchObject([
      { state: 'REPLIED', unanswered: ['helper@back'] },
    ]);
    put(front, { from: 'helper', host: 'back', re: [question], body: 'Yes.\n' });
    expect(await asking).toMatchObject({
      code: 0,
      out: 'tester:\n  helper:\nhelper:\n  Yes.\n',
    });
    expect(await front.run('wait', question)).toMatchObject({ code: 0, err: '' });
  });

  it('say who has not answered: 1 after a failure, and 3 where nobody serves a name', async () => {
    const bus = new Bus();
    const front = await bus.host('front', { tester: 'echo done' });
    await bus.host('back', { helper: 'true' });
    const all = front.run('ask', 'all', 'is it done?');
    const first = await asked(bus);
    await front.once();
    put(front, { from: 'helper', re: [first], ...failedOn('back') });
    expect(await all).toMatchObject({ code: 1, out: 'tester:\n  done\n' });
    expect((await all).err).toContain('helper failed on back after 3 attempts');

    const odd = front.run('ask', 'tester,nobody', 'and now?');
    await until('the second question', () => bus.from('operator')[1]);
    await front.once();
    expect(await odd).toMatchObject({ code: 3, out: 'tester:\n  done\n' });
    expect((await odd).err).toContain('not answered by nobody (no host serves it)\n');
  });

  it('take the first answer alone with --any', async () => {
    const bus = new Bus();
    const front = await bus.host('front', { tester: 'echo done' });
    await bus.host('back', { helper: 'true' });
    const any = front.run('ask', '--any', 'tester,helper', 'is it done?');
    await asked(bus);
    await front.once();
    expect(await any).toMatchObject({ code: 0, out: 'done\n' });
  });
});

it('ask ends with 3 when the time is over, and names the question', { tags: 'long' }, async () => {
  const bus = new Bus();
  const front = await bus.host('front', { idle: 'true' });
  await bus.host('back', { worker: 'true' });
  const over = await front.run('ask', 'worker', '--timeout', '0.3', 'how many?');
  const question = await asked(bus);
  expect(over).toEqual({
    code: 3,
    out: '',
    err: `crosstalk ask: no answer yet; go on waiting with: crosstalk wait ${question}\n`,
  });
  const json = await front.run('ask', 'worker', '--timeout', '0', '--json', 'how many?');
  expect(JSON.parse(json.out)).toMatchObject({ state: 'PENDING', answer: null });
});

it(
  'ask ends with 1 and the reason once nobody owes an answer, on this machine and on others',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const front = await bus.host('front', { breaks: { default: { cli: 'exit 7', attempts: 1 } } });
    await bus.host('back', { worker: 'true' });
    front.start();
    const here = await front.run('ask', 'breaks', 'how many?');
    expect(here).toMatchObject({ code: 1, out: '' });
    expect(here.err).toMatch(/: breaks failed on front after 1 attempt: the command failed: /);

    const there = front.run('ask', 'worker', 'how many?');
    const question = await until('the question', () =>
      bus.from('operator').find(({ message }) => message.to[0]?.name === 'worker'),
    );
    put(front, { from: 'mallory', re: [question.relPath], ...failedOn('back') });
    put(front, { from: 'worker', re: [question.relPath], ...failedOn('back') });
    expect(await there).toMatchObject({ code: 1, out: '' });
    expect((await there).err).toContain('worker failed on back after 3 attempts');
  },
);

it(
  'ask shows a question back and how to answer it, and goes on until the answer',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const front = await bus.host('front', { idle: 'true' });
    await bus.host('back', { worker: 'true' });
    const asking = front.run('ask', 'worker', 'how many?');
    const re = [await asked(bus)];
    const word = { from: 'worker', host: 'back', re, interim: true } as const;
    put(front, { ...word, from: 'mallory', body: 'Your password?\n' });
    const options = ['red', '\u202eder'];
    const back = put(front, { ...word, options, body: 'Which ones?\n\u001b[2J\u001b[8m' });
    put(front, { from: 'worker', host: 'back', re, body: 'Three.\n' });
    const { code, out, err } = await asking;
    expect([code, out]).toEqual([0, 'Three.\n']);
    expect(err).not.toContain('password');
    const choices = '  1) red\n  2) \\u202eder\n';
    expect(err).toContain(
      `worker says on the way, in ${back}:\n  Which ones?\n  [2J[8m\n${choices}`,
    );
    expect(err).toContain(`answer with: crosstalk reply ${back} "<text>"\n`);
  },
);

it(
  'ask takes the reply to a question back on a terminal, in the thread of the question',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const front = await bus.host('front', { idle: 'true' });
    await bus.host('back', { worker: 'true' });
    const questions: string[] = [];
    const ask = (question: string): Promise<string> => {
      questions.push(question);
      return Promise.resolve('the red ones');
    };
    const asking = front.runWith({ ask }, 'ask', 'worker', 'how many?');
    const re = [await asked(bus)];
    const word = put(front, { from: 'worker', host: 'back', re, interim: true, body: 'Which?\n' });
    const reply = await until('the reply', () =>
      bus.from('operator').find(({ message }) => message.re.includes(word)),
    );
    expect(reply.message).toMatchObject({
      to: [{ name: 'worker', host: 'back' }],
      body: 'the red ones',
    });
    put(front, { from: 'worker', host: 'back', re, body: 'Three.\n' });
    expect(await asking).toMatchObject({ code: 0, out: 'Three.\n' });
    expect(questions).toEqual(['reply to worker (Enter: none): ']);
  },
);

it(
  'ask asks again where a number is none of the options of a question back',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const front = await bus.host('front', { idle: 'true' });
    await bus.host('back', { worker: 'true' });
    const typed = ['3', '2'];
    const ask = (): Promise<string> => Promise.resolve(typed.shift() ?? '');
    const asking = front.runWith({ ask }, 'ask', 'worker', 'how many?');
    const re = [await asked(bus)];
    const back = { from: 'worker', host: 'back', re, interim: true, body: 'Which?\n' } as const;
    const word = put(front, { ...back, options: ['red', 'blue'] });
    const reply = await until('the reply', () =>
      bus.from('operator').find(({ message }) => message.re.includes(word)),
    );
    expect(reply.message.body).toBe('blue');
    put(front, { from: 'worker', host: 'back', re, body: 'Three.\n' });
    expect(await asking).toMatchObject({ code: 0, out: 'Three.\n' });
    expect((await asking).err).toContain(
      '"3" is none of the options: expected a number from 1 to 2',
    );
  },
);

it(
  'ask takes its prompt away when the answer comes without a reply',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const front = await bus.host('front', { idle: 'true' });
    await bus.host('back', { worker: 'true' });
    let prompted = false;
    const ask = (_: string, signal?: AbortSignal): Promise<string> =>
      new Promise((_resolve, reject) => {
        prompted = true;
        signal?.addEventListener('abort', () => {
          reject(new Error('taken away'));
        });
      });
    const asking = front.runWith({ ask }, 'ask', 'worker', 'how many?');
    const re = [await asked(bus)];
    put(front, { from: 'worker', host: 'back', re, interim: true, body: 'A moment.\n' });
    await until('the prompt', () => prompted);
    put(front, { from: 'worker', host: 'back', re, body: 'Three.\n' });
    expect(await asking).toMatchObject({ code: 0, out: 'Three.\n' });
    expect((await asking).err).not.toContain('taken away');
  },
);

it('the silence of an actor here that asked back ends the waiting, until that is answered', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'true' });
  const question = await host.send('worker', 'a note');
  await host.send('worker', 'another note');
  await host.once();
  const back = { from: 'worker', host: 'front', re: [question], interim: true, body: 'Which?\n' };
  const word = put(host, back as Parameters<typeof put>[1]);
  const ended = await host.run('wait', '--timeout', '100', question);
  expect(ended.code).toBe(1);
  expect(ended.err).toContain(`${question}: worker has said no more than ${word}; if it asks`);

  put(host, { from: 'operator', to: [{ name: 'worker' }], re: [word], body: 'The red ones.\n' });
  expect((await host.run('wait', '--timeout', '1.5', question)).code).toBe(3);
});

it('a question that Ctrl-C leaves can be waited for again', async () => {
  const bus = new Bus();
  const front = await bus.host('front', { idle: 'true' });
  const back = await bus.host('back', { worker: 'echo three' });
  const asking = new Program(front, 'ask', '--from', 'operator', 'worker', 'how many?');
  const question = await asked(bus);
  expect(await asking.stop('SIGINT')).toBe(130);
  expect(asking.out).toBe('');
  expect(asking.err).toContain(
    `go on waiting with: crosstalk wait ${question}, or take it back with: crosstalk cancel ${question}\n`,
  );
  await back.once();
  expect((await front.run('wait', question)).out).toContain('  three\n');
});

it.each(['alone', 'with a dispatcher'])(
  'nobody asks themselves, %s: it is said before anything is sent',
  { tags: 'long' },
  async (how) => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'echo done' });
    if (how !== 'alone') await host.start().saw('tick');
    for (const to of ['operator', 'worker,operator@front']) {
      const refused = await host.run('ask', to, 'who am I?');
      expect(refused).toMatchObject({ code: 2, out: '' });
      expect(refused.err).toMatch(/^crosstalk ask: operator is who asks, and .* own sender; .*\n$/);
    }
    expect((await host.run('ask', 'worker', '--from', 'worker', 'who?')).code).toBe(2);
    git(host.dir, 'config', 'crosstalk.from', 'worker');
    expect((await host.run('ask', 'worker', 'who?')).err).toContain('worker is who asks');
    expect(bus.messages()).toEqual([]);
  },
);

it('who sends something to themselves is told that it wakes nobody', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo done' });
  const { code, err } = await host.run('send', '--to', 'operator,worker', 'a note');
  expect(code).toBe(0);
  expect(err).toContain('operator is its sender, and a message never wakes its own sender\n');
  expect(err).not.toContain('no host serves operator');
  expect((await host.run('send', '--to', 'worker', 'a task')).err).not.toContain('own sender');
});

it('ask says what it wants, and is not for runs', async () => {
  const host = await new Bus().host('front', { idle: 'true' });
  expect((await host.run('ask', 'worker')).err).toContain('the question has no text');
  expect((await host.run('ask', 'no/name', 'how many?')).code).toBe(2);
  expect((await host.run('ask', 'worker', '--timeout', 'long', 'x')).code).toBe(2);
  const env = { CROSSTALK_RUN_DIR: '/nowhere' };
  const inRun = await host.runWith({ env }, 'ask', 'worker', 'how many?');
  expect(inRun.code).toBe(2);
  expect(inRun.err).toMatch(/^crosstalk ask: not for a run, .* you are woken by the answer\n$/);
});
