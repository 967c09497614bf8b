import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { findBackend } from '../../src/runner/sandbox/bubblewrap.ts';
import { agent } from '../support/agents.ts';
import { Bus, type Host, type Running, type Stored } from '../support/bus.ts';
import { Program } from '../support/process.ts';
import { putRow, rowsIn } from '../support/rows.ts';
import { until } from '../support/wait.ts';

const CLAUDE = agent('asking/claude', '-p');

let bus: Bus;
let host: Host;
beforeEach(async () => {
  bus = new Bus();
  host = await bus.host('laptop', { worker: { default: { cli: CLAUDE, permit: 'anna' } } });
  host.env['CROSSTALK_FROM'] = 'anna';
});

interface Step {
  tool: string;
  input: Record<string, unknown>;
  until?: string;
}

const write = (name: string, content = 'hello\n'): Step => ({
  tool: 'Write',
  input: { file_path: join(bus.root, name), content },
});

const task = (...steps: (Step | Step[])[]): string => `STEPS ${JSON.stringify(steps)}`;

/** The questions for permission on the remote, oldest first. */
const questions = (): Stored[] =>
  bus.messages().filter(({ message }) => message.permission !== undefined);

/** What takes a question back. */
const takenBack = (question: Stored | undefined): Stored[] =>
  bus.messages().filter(({ message }) => message.cancels === question?.relPath);

const asked = (count: number): Promise<Stored[]> =>
  until(`question ${String(count)}`, () => {
    const found = questions();
    return found.length >= count && found;
  });

async function decide(
  word: 'approve' | 'deny',
  question: Stored | undefined,
  note = '',
): Promise<void> {
  await host.news();
  const words = note === '' ? [] : [note];
  const ran = await host.run(word, question?.relPath ?? '', ...words);
  expect(ran.code, ran.err).toBe(0);
}

async function answerTo(relPath: string): Promise<string> {
  const replied = await host.run('replies', '--wait', '--timeout', '100', relPath);
  expect(replied.code, replied.err).toBe(0);
  return replied.out;
}

const noLeft = (running: Running): void => {
  const bad = running.events.filter(({ event }) => /failed|error|processes_ended/.test(event));
  // A git that was killed with its dispatcher leaves a lock, which is got over a moment later.
  expect(bad.filter(({ kind }) => kind !== 'contention')).toEqual([]);
  expect(rowsIn(host.state, 'permission')).toEqual([]);
  const folder = join(host.state, 'run');
  expect(existsSync(folder) ? readdirSync(folder) : []).toEqual([]);
};

describe('a run asks for permission', () => {
  it(
    'once, and what was shown is done: it is a word on the way for who waits',
    { tags: 'long' },
    async () => {
      const running = host.start();
      const relPath = await host.send('worker', task(write('a.txt')), '--from', 'carl');
      const [question] = await asked(1);
      expect(question?.message).toMatchObject({
        from: 'worker',
        host: 'laptop',
        to: [{ name: 'anna' }],
        re: [relPath],
        interim: true,
        proposal: true,
        options: ['once', 'deny'],
        permission: {
          tool: 'Write',
          input: JSON.stringify(write('a.txt').input),
          marks: ['dangerous'],
        },
      });
      expect(question?.message.body).toContain('outside of the working directory');
      const shown = await host.run('inbox', '--questions', '--json');
      expect(shown.out).toContain(question?.relPath);
      const words = await host.run('inbox', '--questions');
      expect(words.out).toContain(`\n      Write: ${JSON.stringify(write('a.txt').input)}\n`);
      expect(existsSync(join(bus.root, 'a.txt'))).toBe(false);
      await decide('approve', question);
      expect(await answerTo(relPath)).toContain('yes: ');
      expect(readFileSync(join(bus.root, 'a.txt'), 'utf8')).toBe('hello\n');
      expect((await host.run('inbox', '--questions', '--json')).out).not.toContain(
        question?.relPath,
      );
      await running.stop();
      noLeft(running);
      // The decision has woken nobody.
      expect(running.count('dispatch_start')).toBe(1);
      expect(takenBack(question)).toEqual([]);
    },
  );

  it('and is denied with a note, which reaches the model', { tags: 'long' }, async () => {
    const running = host.start();
    const relPath = await host.send('worker', task(write('a.txt'), write('b.txt')));
    await decide('deny', (await asked(1))[0], 'write into drafts instead');
    await decide('approve', (await asked(2))[1]);
    const out = await answerTo(relPath);
    expect(out).toContain('no: denied by anna: write into drafts instead');
    expect(out).toContain('yes: ');
    expect([existsSync(join(bus.root, 'a.txt')), existsSync(join(bus.root, 'b.txt'))]).toEqual([
      false,
      true,
    ]);
    await running.stop();
    noLeft(running);
  });

  it('and who may decide does so with the number of an option, by reply or in ask', async () => {
    const running = host.start();
    const typed = ['3', '1'];
    const prompts: string[] = [];
    const ask = (question: string): Promise<string> => {
      prompts.push(question);
      return Promise.resolve(typed.shift() ?? '');
    };
    const asking = host.runWith({ ask }, 'ask', 'worker', task(write('a.txt')));
    expect((await asking).code).toBe(0);
    expect((await asking).out).toContain('yes: ');
    expect((await asking).err).toContain('input: {"file_path"');
    expect(prompts).toEqual(Array(2).fill('decide (a number; Enter: later): '));

    const relPath = await host.send('worker', task(write('b.txt')));
    const question = (await asked(2))[1]?.relPath ?? '';
    await host.news();
    const others = await host.run('reply', '--option', '1', question, '--from', 'carl');
    expect(others).toMatchObject({ code: 2, out: '' });
    expect(others.err).toContain('asks anna to decide, not carl');
    const denied = await host.run('reply', '--option', '2', question, 'into drafts');
    expect(denied).toMatchObject({ code: 0, out: `Denied: ${question}\n` });
    expect(await answerTo(relPath)).toContain('no: denied by anna: into drafts');
    await running.stop();
    noLeft(running);
  });

  it('and is denied when nobody answers; the question is taken back', async () => {
    host.declare({ worker: { default: { cli: CLAUDE, permit: 'anna', permit_timeout: '300ms' } } });
    await host.approve();
    const running = host.start();
    const relPath = await host.send('worker', task(write('a.txt')));
    expect(await answerTo(relPath)).toContain('nobody answered within 1 s');
    const [question] = questions();
    await until('the question is taken back', () => takenBack(question).length === 1);
    await host.news();
    expect((await host.run('inbox', '--questions', '--json')).out).not.toContain(question?.relPath);
    expect(existsSync(join(bus.root, 'a.txt'))).toBe(false);
    await running.stop();
    noLeft(running);
  });

  it('five times at most, also all at once', async () => {
    const running = host.start();
    const steps = Array.from({ length: 7 }, (_, at) => write(`${String(at)}.txt`));
    const relPath = await host.send('worker', task(steps));
    const five = await asked(5);
    for (const question of five) await decide('approve', question);
    const out = await answerTo(relPath);
    expect(out.match(/yes: /g)).toHaveLength(5);
    expect(out.match(/no: denied: a run may ask 5 times/g)).toHaveLength(2);
    await running.stop();
    noLeft(running);
    expect(questions()).toHaveLength(5);
    expect(running.count('permission_denied')).toBe(2);
  });
});

describe('while a question waits', () => {
  it(
    'who asks and waits is told who decides, and how, and gets the answer',
    { tags: 'long' },
    async () => {
      const running = host.start();
      const told: string[] = [];
      const asking = host.runWith(
        { onErr: (text) => told.push(text) },
        ...['ask', 'worker', '--from', 'carl', '--timeout', '100', '--'],
        task(write('a.txt')),
      );
      const [question] = await asked(1);
      await until('it is said', () =>
        told.join('').includes(`anna decides, with: crosstalk approve ${question?.relPath ?? ''}`),
      );
      await decide('approve', question);
      expect((await asking).out).toContain('yes: ');
      await running.stop();
    },
  );

  it(
    'status, explain and watch say so, and nothing of it afterwards',
    { tags: 'long' },
    async () => {
      const running = host.start();
      const relPath = await host.send('worker', task(write('a.txt')));
      const [question] = await asked(1);
      const status = await host.run('status');
      expect(status.out).toMatch(
        /Waiting for permission\n +worker +Write +dangerous +anna decides/,
      );
      const explained = await host.run('explain', relPath, 'worker');
      expect(explained.out).toContain(
        `running, waits for anna to decide whether it may use Write, as ${question?.relPath ?? ''} asks`,
      );
      await decide('approve', question);
      await answerTo(relPath);
      expect((await host.run('status')).out).not.toContain('Waiting for permission');
      const watched = await host.run('watch', relPath);
      expect(watched.out).toContain(
        `→ asks anna whether it may use Write: ${question?.relPath ?? ''}`,
      );
      expect(watched.out).toContain('→ it is allowed once');
      await running.stop();
    },
  );

  it('a dispatcher that stops takes it back, and the next one asks anew; the old answer permits nothing', async () => {
    const first = host.start('--grace', '0');
    const relPath = await host.send('worker', task(write('a.txt')));
    const [old] = await asked(1);
    await first.stop();
    await until('it is taken back', () => takenBack(old).length === 1);
    await host.news();
    const late = await host.run('approve', old?.relPath ?? '');
    expect(late).toMatchObject({
      code: 1,
      err: expect.stringContaining('waits for nobody any more') as string,
    });
    const second = host.start();
    const [, anew] = await asked(2);
    expect(anew?.relPath).not.toBe(old?.relPath);
    expect(existsSync(join(bus.root, 'a.txt'))).toBe(false);
    await decide('deny', anew, 'no');
    expect(await answerTo(relPath)).toContain('denied by anna: no');
    expect(existsSync(join(bus.root, 'a.txt'))).toBe(false);
    await second.stop();
    noLeft(second);
  });

  it(
    'a dispatcher is killed: the next one takes it back, and the old approval permits nothing',
    { tags: 'long' },
    async () => {
      const first = new Program(host, 'dispatch', '--interval', '0.2');
      const relPath = await host.send('worker', task(write('a.txt')));
      const [old] = await asked(1);
      await first.stop('SIGKILL');
      // The question is still on record as open, so it can be approved; nobody waits for that.
      await decide('approve', old);
      const second = host.start();
      const [, anew] = await asked(2);
      await until('the first is taken back', () => takenBack(old).length === 1);
      await second.saw('tick');
      expect(existsSync(join(bus.root, 'a.txt'))).toBe(false);
      await decide('deny', anew);
      expect(await answerTo(relPath)).toContain('denied by anna');
      expect(existsSync(join(bus.root, 'a.txt'))).toBe(false);
      await second.stop();
      noLeft(second);
    },
  );

  it('an older state that has it open takes back nothing that was answered since', async () => {
    const first = host.start();
    const relPath = await host.send('worker', task(write('a.txt')));
    const [question] = await asked(1);
    const [older] = rowsIn(host.state, 'permission');
    await decide('approve', question);
    expect(await answerTo(relPath)).toContain('yes: ');
    await first.stop();
    putRow(host.state, 'permission', { ...older, id: String(older?.['id']) });
    const second = host.start();
    await second.saw('tick');
    await second.stop();
    expect(takenBack(question)).toEqual([]);
    noLeft(second);
  });

  it('its task is cancelled: the run ends, and the question is taken back', async () => {
    const running = host.start();
    const relPath = await host.send('worker', task(write('a.txt')));
    const [question] = await asked(1);
    expect((await host.run('cancel', relPath)).code).toBe(0);
    await until('it is taken back', () => takenBack(question).length === 1);
    await running.stop();
    expect(rowsIn(host.state, 'permission')).toEqual([]);
    expect(existsSync(join(bus.root, 'a.txt'))).toBe(false);
  });
});

describe('a tier that asks', () => {
  it('is refused for a CLI that cannot ask, by whichever command', { tags: 'long' }, async () => {
    for (const cli of ['codex exec -', 'claude -p --dangerously-skip-permissions', 'my-own-cli']) {
      host.declare({ worker: { default: { cli } } });
      await host.approve();
      const set = await host.run('actor', 'set', 'worker', 'permit=anna');
      expect(set).toMatchObject({
        code: 1,
        err: expect.stringContaining('it has permit, and') as string,
      });
    }
    host.declare({ worker: { default: { cli: CLAUDE, permit: 'anna' } } });
    await host.approve();
    const added = await host.run('actor', 'add', 'worker', '--replace', '--cli', 'codex exec -');
    expect(added).toMatchObject({
      code: 1,
      err: expect.stringContaining('it has permit, and') as string,
    });
    const timed = await host.run('actor', 'set', 'worker', 'permit_timeout=soon');
    expect(timed.err).toContain('permit_timeout is "soon", expected a duration');
    const actor = await host.run('actor', 'set', 'worker', 'permit=worker');
    expect(actor.err).toContain('only a person can decide');
  });

  it('does not come into force if it was pushed with a CLI that cannot ask, which says why', async () => {
    host.declare({ worker: { default: { cli: 'codex exec -', permit: 'anna' } } });
    const shown = await host.run('host', 'show', '--json');
    const { held } = JSON.parse(shown.out) as { held: { refused?: string }[] };
    expect(held[0]?.refused).toContain('it has permit, and no way is known in which this CLI asks');
    const running = host.start('--trust-host-file');
    await running.saw('host_change_held');
    await running.saw('tick');
    const relPath = await host.send('worker', 'anything');
    await until('the message was scanned', () =>
      running.events.some(({ event, added }) => event === 'tick' && added === 1),
    );
    expect((await host.run('replies', relPath)).out).toContain('PENDING');
    await running.stop();
    expect(running.count('dispatch_start')).toBe(0);
  });

  it('asks whoever began the thread, if it says so', { tags: 'long' }, async () => {
    host.declare({ worker: { default: { cli: CLAUDE, permit: 'asker' } } });
    await host.approve();
    const running = host.start();
    const relPath = await host.send('worker', task(write('a.txt')), '--from', 'carl');
    const [question] = await asked(1);
    expect(question?.message.to).toEqual([{ name: 'carl' }]);
    await host.news();
    // anna may not decide for carl.
    expect((await host.run('approve', question?.relPath ?? '')).code).toBe(2);
    expect((await host.run('approve', question?.relPath ?? '', '--from', 'carl')).code).toBe(0);
    expect(await answerTo(relPath)).toContain('yes: ');
    await running.stop();
  });

  it(
    'wakes nobody, even if an actor of another machine is to decide, and has asked',
    { tags: 'long' },
    async () => {
      const other = await bus.host('tower', {
        anna: 'cat > /dev/null; crosstalk send --to worker - < "$ASKS" > /dev/null',
      });
      const steps = join(bus.root, 'steps');
      writeFileSync(steps, task(write('a.txt')));
      other.env['ASKS'] = steps;
      host.declare({
        worker: { default: { cli: CLAUDE, permit: 'anna', permit_timeout: '500ms' } },
      });
      await host.approve();
      const running = host.start();
      await other.send('anna', 'ask the worker', '--from', 'carl');
      await other.runWith({ cwd: bus.root }, 'dispatch', '--once', '--host', 'tower');
      const [question] = await asked(1);
      const passes = await other.once();
      expect(passes.filter(({ event }) => event === 'dispatch_start')).toEqual([]);
      const why = await other.run('explain', question?.relPath ?? '', 'anna');
      expect(why.out).toContain('does not wake anna: it asks a person to decide');
      await until('it is taken back', () => takenBack(question).length === 1);
      await running.stop();
    },
  );

  it(
    'plans first without asking where it has a gate, and asks when it does what was approved',
    { tags: 'long' },
    async () => {
      const gated = { cli: CLAUDE, permit: 'anna', gate: 'anna' };
      host.declare({ worker: { default: gated } });
      await host.approve();
      const running = host.start();
      const relPath = await host.send('worker', task(write('a.txt')));
      const plan = await until('a plan', () =>
        bus.messages().find(({ message }) => message.proposal === true),
      );
      expect(plan.message.permission).toBeUndefined();
      await decide('approve', plan);
      await decide('approve', (await asked(1))[0]);
      expect(await answerTo(relPath)).toContain('yes: ');
      expect(existsSync(join(bus.root, 'a.txt'))).toBe(true);
      await running.stop();
    },
  );

  it('adds nothing to a run where nobody is to be asked', async () => {
    host.declare({ worker: { default: { cli: 'cat > /dev/null; ls -A "$CROSSTALK_RUN_DIR"' } } });
    await host.approve();
    const relPath = await host.send('worker', 'look');
    await host.once();
    const out = await answerTo(relPath);
    expect(out).toContain('batch');
    expect(out).not.toContain('permission');
    expect(rowsIn(host.state, 'permission')).toEqual([]);
  });
});

describe('a question', () => {
  it('is not asked when its input is too long, or looks like a secret', async () => {
    const running = host.start();
    const secret = `-----BEGIN RSA PRIVATE KEY-----\n${'MIIEowIBAAKCAQEA'.repeat(20)}\n-----END RSA PRIVATE KEY-----\n`;
    const steps = [write('a.txt', 'x'.repeat(20_000)), write('b.txt', secret)];
    const out = await answerTo(await host.send('worker', task(...steps), '--allow-secret'));
    expect(out).toContain('nobody is asked about more than 16384; do it in smaller steps');
    expect(out).toContain('the question would carry a secret');
    await running.stop();
    noLeft(running);
    expect(questions()).toEqual([]);
    expect(rowsIn(host.state, 'outbox')).toEqual([]);
  });

  it('that its CLI gives up is taken back, and the run goes on', async () => {
    const running = host.start();
    const go = join(bus.root, 'go');
    const relPath = await host.send('worker', task({ ...write('a.txt'), until: go }));
    const [question] = await asked(1);
    writeFileSync(go, '');
    expect(await answerTo(relPath)).toContain('given up');
    await until('it is taken back', () => takenBack(question).length === 1);
    await running.stop();
    noLeft(running);
  });

  it('has an answer of its own, whichever of two is decided first', { tags: 'long' }, async () => {
    const running = host.start();
    const relPath = await host.send('worker', task([write('a.txt', 'a\n'), write('b.txt', 'b\n')]));
    const both = await asked(2);
    const about = (name: string): Stored | undefined =>
      both.find(({ message }) => message.permission?.input.includes(name));
    await decide('approve', about('b.txt'));
    await decide('deny', about('a.txt'));
    const out = await answerTo(relPath);
    expect(out).toMatch(/no: denied by anna\n +yes: .*b\.txt/);
    // Who replies instead of deciding is told how to decide.
    const replied = await host.run('reply', about('a.txt')?.relPath ?? '', 'yes');
    expect(replied).toMatchObject({
      code: 2,
      err: expect.stringContaining('crosstalk approve') as string,
    });
    expect([existsSync(join(bus.root, 'a.txt')), existsSync(join(bus.root, 'b.txt'))]).toEqual([
      false,
      true,
    ]);
    await running.stop();
  });

  it(
    'comes through the drop folder too, where a socket would have too long a path',
    { tags: 'long' },
    async () => {
      const long = join(bus.root, 'a-long-name-of-a-folder-'.repeat(4));
      mkdirSync(long);
      renameSync(host.state, join(long, 'state'));
      host.env['CROSSTALK_STATE_DIR'] = join(long, 'state');
      const running = host.start();
      const relPath = await host.send('worker', task(write('a.txt')));
      await decide('approve', (await asked(1))[0]);
      expect(await answerTo(relPath)).toContain('yes: ');
      await running.stop();
      expect(rowsIn(join(long, 'state'), 'permission')).toEqual([]);
    },
  );

  const backend = findBackend(process.env);
  it('comes out of a sandbox', { tags: 'long' }, async ({ skip }) => {
    if (!(await backend).ok) skip();
    const sandbox = { net: ['none'], write: [bus.root] };
    host.declare({ worker: { default: { cli: CLAUDE, permit: 'anna', sandbox } } });
    await host.approve();
    const running = host.start();
    const relPath = await host.send('worker', task(write('a.txt'), write('b.txt')));
    await decide('approve', (await asked(1))[0]);
    await decide('deny', (await asked(2))[1], 'enough');
    const out = await answerTo(relPath);
    expect(out).toContain('yes: ');
    expect(out).toContain('denied by anna: enough');
    await running.stop();
    noLeft(running);
  });
});
