import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { activation } from '../../src/protocol/activation.ts';
import { formatMessage } from '../../src/protocol/message.ts';
import { relPathAt } from '../../src/protocol/layout.ts';
import { Bus, type Host } from '../support/bus.ts';
import { put } from '../support/by-hand.ts';
import { fill, forget } from '../support/rows.ts';
import { until } from '../support/wait.ts';

/** A command that notes in a file of the bus that it was started. */
const noted = (bus: Bus, name: string, command: string): string =>
  `echo ${name} >> ${join(bus.root, 'runs')}; ${command}`;

/** The commands that were started, in order. */
function runs(bus: Bus): string[] {
  const path = join(bus.root, 'runs');
  return existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : [];
}

const DONE = 'cat > /dev/null; echo "done by me"';

/** The state and the failures that a question has for its asker. */
async function fate(host: Host, question: string): Promise<unknown[]> {
  const { out } = await host.run('replies', '--json', question);
  const [found] = JSON.parse(out) as { state: string; failures: { reason: string }[] }[];
  return [found?.state, found?.failures.map(({ reason }) => reason)];
}

/** Why what was cancelled was taken back, as the dead letters of a machine say it. */
async function reasons(host: Host): Promise<unknown[]> {
  const found = JSON.parse((await host.run('dlq', '--json')).out) as Record<string, unknown>[];
  return found.map(({ detail }) => detail);
}

async function letters(host: Host): Promise<unknown[]> {
  const found = JSON.parse((await host.run('dlq', '--json')).out) as Record<string, unknown>[];
  return found.map(({ state, reason, actor }) => [state, reason, actor]);
}

/** A message that takes back another one, as anybody can push it. */
const pushedCancel = (
  question: string,
  writer: { from: string; host?: string; as_operator?: true },
): string =>
  formatMessage({
    ...writer,
    to: [{ name: 'worker' }],
    type: 'text',
    timestamp: new Date().toISOString(),
    re: [question],
    cause: [],
    cancels: question,
    extra: {},
    body: 'stop\n',
  });

/** A CLI that goes on when it is asked to end, with a child and a grandchild in a session of its own. */
const STUBBORN = (marks: string): string =>
  `trap '' TERM; echo $$ >> ${marks}; sleep 300 & echo $! >> ${marks}; setsid sh -c 'trap "" TERM; echo $$ >> ${marks}; sleep 300' & sleep 300; sleep 300`;

const alive = (marks: string): number[] =>
  readFileSync(marks, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map(Number)
    .filter((pid) => {
      try {
        process.kill(pid, 0);
        return !readFileSync(`/proc/${String(pid)}/stat`, 'utf8').includes(') Z');
      } catch {
        return false;
      }
    });

it(
  'what waits is settled: nothing runs for it, then or later, and its asker is told once',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const front = await bus.host('front', { worker: noted(bus, 'worker', DONE) });
    await front.once();
    const question = await front.send('worker', 'part');
    const cancelled = await front.run('cancel', question, '--reason', 'not needed any more');

    expect(cancelled.out).toContain(`Cancelled: ${question}`);
    await front.once();
    await front.once();
    expect(await fate(front, question)).toEqual(['FAILED', ['cancelled']]);
    expect(await letters(front)).toEqual([['cancelled', 'cancelled', 'worker']]);
    expect(bus.from('worker').map(({ message }) => [message.re, message.body])).toEqual([
      [[question], 'worker on front gives no answer: it was cancelled.\n'],
    ]);
    const status = await front.run('status');
    expect(status.out).not.toContain('quarantined');
    const retried = await front.run('dlq', '--retry', 'all');
    expect(retried.out).not.toContain('Retrying');
    await front.once();
    expect(runs(bus)).toEqual([]);
  },
);

it(
  'a machine that lost its state, or has an old one, does not run what was cancelled',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const front = await bus.host('front', { worker: noted(bus, 'worker', DONE) });
    await front.once();
    const question = await front.send('worker', 'part');
    const old = join(bus.root, 'old-state');
    execFileSync('cp', ['-R', front.state, old]);
    await front.run('cancel', question);
    await front.once();

    rmSync(front.state, { recursive: true });
    execFileSync('cp', ['-R', old, front.state]);
    await front.once();
    expect(runs(bus)).toEqual([]);

    forget(front.state, 'cursors', 'dead-letter', 'notice');
    await front.once();
    expect(runs(bus)).toEqual([]);
    expect(bus.from('worker')).toHaveLength(1);
  },
);

it('what runs is ended with all that it started, although it ignores being asked, and stays so', async () => {
  const bus = new Bus();
  const marks = join(bus.root, 'marks');
  const front = await bus.host('front', { worker: noted(bus, 'worker', STUBBORN(marks)) });
  const running = front.start();
  const question = await front.send('worker', 'part');
  await until('three processes', () => existsSync(marks) && alive(marks).length === 3);
  const began = Date.now();
  await front.run('cancel', question);
  await until('no process', () => alive(marks).length === 0);

  expect(Date.now() - began).toBeLessThan(60_000);
  await until('the notice', async () => (await fate(front, question))[0] === 'FAILED');
  expect(await fate(front, question)).toEqual(['FAILED', ['cancelled']]);
  await running.stop();
  await front.once();
  expect(runs(bus)).toEqual(['worker']);
});

it('what runs goes on while the disk takes no record of its cancellation, and is never run again', async () => {
  const bus = new Bus();
  const marks = join(bus.root, 'marks');
  const front = await bus.host('front', { worker: noted(bus, 'worker', STUBBORN(marks)) });
  const running = front.start();
  const question = await front.send('worker', 'part');
  await until('three processes', () => existsSync(marks) && alive(marks).length === 3);
  // The remote is out of reach, so only the outbox of this machine tells of the cancellation.
  bus.unplug();
  const accept = fill(front.state, 'dead-letter');
  await front.run('cancel', question);
  for (let tries = 0; tries < 2; tries++)
    await running.saw('internal_error', ({ error }) => String(error).includes('ENOSPC'));
  expect(alive(marks)).toHaveLength(3);

  accept();
  await until('no process', () => alive(marks).length === 0);
  bus.plug();
  await until('the notice', async () => (await fate(front, question))[0] === 'FAILED');
  expect(await fate(front, question)).toEqual(['FAILED', ['cancelled']]);
  await running.stop();
  await front.once();
  expect(runs(bus)).toEqual(['worker']);
});

it(
  'a fan-out of five on another host ends with its question, and costs nothing after that',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const marks = join(bus.root, 'marks');
    const names = ['one', 'two', 'three', 'four', 'five'];
    const front = await bus.host('front', {
      boss: noted(
        bus,
        'boss',
        `p=$(cat); case $p in *"it was cancelled"*) echo sorry ;; *) for n in ${names.join(' ')}; do crosstalk send --to $n part >&2; done ;; esac`,
      ),
    });
    const back = await bus.host(
      'back',
      Object.fromEntries(names.map((name) => [name, noted(bus, 'part', STUBBORN(marks))])),
    );
    const [here, there] = [front.start(), back.start()];
    const question = await front.send('boss', 'goal');
    await until('fifteen processes', () => existsSync(marks) && alive(marks).length === 15);
    await front.run('cancel', question);
    await until('no process', () => alive(marks).length === 0);
    await until(
      'all notices',
      () => bus.messages().filter(({ message }) => message.failed).length === 6,
    );
    await here.stop();
    await there.stop();

    await front.once();
    await back.once();
    expect(runs(bus)).toEqual(['boss', 'part', 'part', 'part', 'part', 'part']);
    expect(await fate(front, question)).toEqual(['FAILED', ['cancelled']]);
  },
);

it('with --only the tasks that others were given go on', { tags: 'long' }, async () => {
  const bus = new Bus();
  const front = await bus.host('front', {
    boss: noted(bus, 'boss', 'cat > /dev/null; crosstalk send --to worker part >&2'),
  });
  const back = await bus.host('back', { worker: noted(bus, 'worker', DONE) });
  const question = await front.send('boss', 'goal');
  await front.once();
  await front.run('cancel', '--only', question);
  await front.once();

  await back.once();
  // Its answer is for a question that nobody asks any more.
  await front.once();
  expect(runs(bus)).toEqual(['boss', 'worker']);
  expect(await fate(front, question)).toEqual(['FAILED', ['cancelled']]);
});

it('what is retried or quarantined is not tried again', { tags: 'long' }, async () => {
  const bus = new Bus();
  const front = await bus.host('front', {
    worker: { default: { cli: noted(bus, 'worker', 'exit 3'), retry_delay: '10ms', attempts: 9 } },
    other: { default: { cli: noted(bus, 'other', 'exit 3'), attempts: 1 } },
  });
  const retried = await front.send('worker', 'part');
  const quarantined = await front.send('other', 'part');
  await front.once();
  await front.run('cancel', retried);
  await front.run('cancel', quarantined);
  await front.once();

  const before = runs(bus);
  await front.once();
  expect(runs(bus)).toEqual(before);
  expect(await letters(front)).toEqual(
    expect.arrayContaining([
      ['cancelled', 'cancelled', 'worker'],
      ['cancelled', 'cancelled', 'other'],
    ]),
  );
  expect(bus.from('other')).toHaveLength(1);
  const id = (JSON.parse((await front.run('dlq', '--json')).out) as { id: string }[])[0]?.id ?? '';
  const asked = await front.run('dlq', '--retry', id);
  expect([asked.code, asked.err]).toEqual([2, expect.stringContaining('was cancelled')]);
});

it(
  'nobody else can cancel a message, neither by the command nor by a push',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const front = await bus.host('front', { worker: noted(bus, 'worker', DONE) });
    const question = await front.send('worker', 'part', '--from', 'alice');
    const refused = await front.run('cancel', question, '--from', 'mallory');

    expect([refused.code, refused.out]).toEqual([2, '']);
    expect(refused.err).toContain(`${question} is from alice, and only its writer can cancel it`);
    const channel = front.channel();
    const path = (digit: string): string =>
      `data/channels/${channel}/${question.replace(/[^/]+$/, `235959999Z-${digit.repeat(8)}.md`)}`;
    front.edit({
      [path('a')]: pushedCancel(question, { from: 'mallory' }),
      [path('b')]: pushedCancel(question, { from: 'alice', host: 'elsewhere' }),
    });
    const log = await front.once();
    expect(runs(bus)).toEqual(['worker']);
    expect(log.filter(({ event }) => event === 'cancel_ignored')).toHaveLength(2);
  },
);

it('a cancellation cannot be cancelled, neither by the command nor by a push', async () => {
  const bus = new Bus();
  const front = await bus.host('front', { idle: 'true' });
  const back = await bus.host('back', { worker: DONE });
  await back.once();
  await front.run('cancel', await front.send('worker', 'part'));
  const first = bus.messages().find(({ message }) => message.cancels !== undefined);
  const cancel = first?.relPath ?? '';
  const again = await front.run('cancel', cancel);
  expect(again).toMatchObject({ code: 2, out: '' });
  expect(again.err).toContain('which cannot be undone; send that message again');
  front.edit({
    [`data/channels/${front.channel()}/${relPathAt(new Date(), 'abcdef012345')}`]: `---\nfrom: operator\nto: worker\ntype: text\ntimestamp: ${new Date().toISOString()}\nre: ${cancel}\ncancels: ${cancel}\n---\nno\n`,
  });
  await front.run('sync');
  await back.once();
  expect(await letters(back)).toEqual([['cancelled', 'cancelled', 'worker']]);
});

it('of two questions in one run the other one is answered', { tags: 'long' }, async () => {
  const bus = new Bus();
  const gate = join(bus.root, 'gate');
  const front = await bus.host('front', {
    worker: `cat > /dev/null; test -e ${gate} && { echo done; exit 0; }; touch ${gate}; sleep 300`,
  });
  await front.once();
  const first = await front.send('worker', 'one');
  const second = await front.send('worker', 'two');
  const running = front.start();
  await until('the run', () => existsSync(gate));
  await front.run('cancel', first);
  await until('the answer', () =>
    bus.from('worker').some(({ message }) => message.failed === undefined),
  );
  await running.stop();

  expect(await fate(front, first)).toEqual(['FAILED', ['cancelled']]);
  expect(await fate(front, second)).toEqual(['REPLIED', []]);
});

it('a plain 6.0 host is not woken by a cancellation', async () => {
  const bus = new Bus();
  const front = await bus.host('front', { worker: DONE });
  const question = await front.send('worker', 'part');
  await front.run('cancel', question);
  const senders = new Map(bus.messages().map(({ relPath, message }) => [relPath, message.from]));
  const cancel = bus.messages().find(({ message }) => message.cancels !== undefined)?.message;

  expect(cancel).toBeDefined();
  if (cancel !== undefined)
    expect(activation(cancel, 'worker', 'front', (relPath) => senders.get(relPath)).wakes).toBe(
      false,
    );
});

it(
  'of hundreds of cancellations that say the same each kind is looked at once',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const front = await bus.host('front', { worker: noted(bus, 'worker', DONE), other: DONE });
    const question = await front.send('worker', 'part', '--from', 'alice');
    const channel = front.channel();
    const at = (n: number): string =>
      `data/channels/${channel}/${question.replace(/[^/]+$/, `235959999Z-${String(n).padStart(8, '0')}.md`)}`;
    const files = Array.from({ length: 300 }, (_, n): [string, string] => [
      at(n),
      pushedCancel(question, { from: 'mallory' }),
    ]);
    front.edit(Object.fromEntries(files));

    const log = await front.once();

    expect(log.filter(({ event }) => event === 'cancel_ignored')).toHaveLength(1);
    expect(runs(bus)).toEqual(['worker']);
  },
);

it(
  'a reply that is taken back leaves its question open, and the next one is heard',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const cli = `p=$(cat); case $p in *ZULU*) echo done ;; *) crosstalk send --to operator 'which?' >&2 ;; esac`;
    const front = await bus.host('front', { worker: cli });
    const question = await front.send('worker', 'deploy');
    await front.once();
    const back = bus.from('worker')[0]?.relPath ?? '';
    await front.run('reply', back, 'a wrong one');
    const wrong = bus.from('operator').at(-1)?.relPath ?? '';
    await front.run('cancel', wrong);
    await front.once();
    await front.once();
    expect(await fate(front, question)).toEqual(['PENDING', []]);
    await front.run('reply', back, 'ZULU');
    await front.once();
    expect(await fate(front, question)).toEqual(['REPLIED', []]);
  },
);

it(
  'a task for two questions goes on when one of them is taken back',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const front = await bus.host('front', {
      boss: `p=$(cat); case $p in *'done by'*) echo summary ;; *) crosstalk send --to worker part >&2 ;; esac`,
    });
    const back = await bus.host('back', { worker: noted(bus, 'worker', DONE) });
    const first = await front.send('boss', 'one');
    const second = await front.send('boss', 'two');
    await front.once();
    await front.run('cancel', first);
    await front.once();
    await bus.rest([front, back]);
    expect(runs(bus)).toEqual(['worker']);
    expect((await fate(front, second))[0]).toBe('REPLIED');
  },
);

it(
  'a run that is ended sends nothing more, and a failure that comes late is not tried again',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const marks = join(bus.root, 'marks');
    const sent = join(bus.root, 'sent');
    const front = await bus.host('front', {
      worker: {
        default: {
          cli: noted(
            bus,
            'worker',
            `trap 'crosstalk send --to other late > ${sent} 2>&1; exit 3' TERM; touch ${marks}; sleep 300 & wait`,
          ),
          retry_delay: '10ms',
        },
      },
      other: DONE,
    });
    const running = front.start();
    const question = await front.send('worker', 'part');
    await until('the run', () => existsSync(marks));
    await front.run('cancel', question);
    await until('the end of the run', () => existsSync(sent));
    await until('the notice', async () => (await fate(front, question))[0] === 'FAILED');
    await running.stop();
    await front.once();
    expect(bus.from('worker').map(({ message }) => message.failed?.reason)).toEqual(['cancelled']);
    expect(runs(bus)).toEqual(['worker']);
    expect(await letters(front)).toEqual([['cancelled', 'cancelled', 'worker']]);
  },
);

it(
  'a cancellation that comes before its message is kept until it is there',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const front = await bus.host('front', { worker: noted(bus, 'worker', DONE) });
    await front.send('worker', 'first');
    const running = front.start();
    await until('the first answer', () => bus.from('worker').length === 1);
    const channel = front.channel();
    const day = new Date().toISOString().slice(0, 10).replaceAll('-', '/');
    const late = `${day}/000000001Z-aaaaaaaaaaaa.md`;
    const file = (relPath: string): string => `data/channels/${channel}/${relPath}`;
    front.edit({
      [file(`${day}/000000002Z-bbbbbbbbbbbb.md`)]: pushedCancel(late, { from: 'alice' }),
    });
    await front.send('worker', 'second');
    await until('the second answer', () => bus.from('worker').length === 2);
    front.edit({
      [file(late)]: formatMessage({
        from: 'alice',
        to: [{ name: 'worker' }],
        type: 'text',
        timestamp: new Date().toISOString(),
        re: [],
        cause: [],
        extra: {},
        body: 'late\n',
      }),
    });
    await until('the notice', () => bus.from('worker').some(({ message }) => message.failed));
    await running.stop();

    expect(runs(bus)).toEqual(['worker', 'worker']);
    expect(await letters(front)).toEqual([['cancelled', 'cancelled', 'worker']]);
  },
);

it(
  'of the answers that were parked together only the one that is taken back is cancelled',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const boss = `p=$(cat); case $p in *PART*) echo "sum of $(echo "$p" | grep -c '^PART')" ;; *) for n in alice bob; do crosstalk send --to $n part >&2; done ;; esac`;
    const front = await bus.host('front', { boss: { default: { cli: boss, max_depth: 2 } } });
    front.declare({ alice: 'true', bob: 'true' }, 'away');
    await front.once();
    const question = await front.send('boss', 'goal');
    await front.once();
    const answers: string[] = [];
    for (const { relPath, message } of bus.from('boss')) {
      const name = message.to[0]?.name ?? '';
      const sent = await front.run('reply', '--from', name, relPath, `PART of ${name}`);
      answers.push(/^Sent: (.+)$/m.exec(sent.out)?.[1] ?? '');
    }
    await front.once();
    expect(await letters(front)).toEqual([['parked', 'too_deep', 'boss']]);

    await front.run('cancel', '--from', 'alice', answers[0] ?? '');
    await front.once();
    expect(await letters(front)).toEqual([
      ['parked', 'too_deep', 'boss'],
      ['cancelled', 'cancelled', 'boss'],
    ]);
    await front.run('dlq', '--retry', answers[1] ?? '');
    await front.once();
    const last = bus.from('boss').at(-1)?.message;
    expect([last?.re, last?.body]).toEqual([[question], 'sum of 1\n']);
  },
);

it('what nobody serves is cancelled at once, wherever one looks', async () => {
  const bus = new Bus();
  const front = await bus.host('front', { worker: DONE });
  await front.once();
  const question = await front.send('ghost', 'part');
  await front.run('cancel', question, '--reason', 'misspelt');

  const replies = await front.run('replies', question);
  expect(replies.out).toContain(`FAILED ${question}\n  cancelled by operator\n`);
  const thread = await front.run('thread', question);
  expect(thread.out).toMatch(/ {2}cancelled {2}part\n/);
  const explained = await front.run('explain', question, 'ghost');
  expect(explained.out).toContain('on the bus, cancelled by ');
  const waited = await front.run('wait', question, '--timeout', '20');
  expect(waited.code).toBe(1);
  expect(waited.err).toContain(`${question}: cancelled by operator`);
  for (const { out, err } of [replies, thread, explained, waited])
    expect(out + err).not.toContain('no host serves');
});

it('an operator takes back what others wrote and nobody serves, and nothing else', async () => {
  const bus = new Bus();
  const front = await bus.host('front', { worker: noted(bus, 'worker', DONE) });
  put(front, { from: 'boss', host: 'back', re: [], to: [{ name: 'ghost' }], body: 'part\n' });
  await front.run('sync');
  const question = bus.from('boss')[0]!.relPath;
  const refused = await front.run('cancel', question);
  expect(refused.err).toContain('is from boss@back, and only its writer can cancel it');
  const own = await front.send('worker', 'part', '--from', 'anna');
  const kept = await front.run('cancel', own, '--as-operator');
  expect(kept).toMatchObject({ code: 2, out: '' });
  expect(kept.err).toContain('front serves worker, so only its writer can cancel it');

  expect((await front.run('cancel', question, '--as-operator')).out).toContain('Cancelled: ');
  expect((await front.run('thread', question)).out).toMatch(/ {2}cancelled {2}part\n/);
  const { unserved } = JSON.parse((await front.run('status', '--json')).out) as Told;
  expect(unserved).toEqual([]);
  // Whoever comes to serve the name does nothing for it.
  front.declare({ worker: DONE, ghost: noted(bus, 'ghost', DONE) });
  await front.approve();
  await front.once();
  expect(runs(bus)).not.toContain('ghost');
});

it('what an operator took back stays so wherever it is shown, when its addressee is served later', async () => {
  const bus = new Bus();
  const front = await bus.host('front', { worker: DONE });
  const question = await front.send('ghost', 'part');
  await front.run('cancel', question, '--as-operator', '--from', 'anna');
  front.declare({ worker: DONE, ghost: DONE });
  await front.approve();
  await front.once();
  const { out } = await front.run('thread', question);
  expect(out).toMatch(/ {2}cancelled {2}part\n/);
  expect(out).toMatch(/anna.* cancels it {2}/);
  expect((await front.run('read', question)).out).toMatch(/^cancelled +by /m);
  expect((await front.run('replies', question)).out).not.toContain('has no force');
});

it('what a host serves is not taken back by whoever says to be an operator', async () => {
  const bus = new Bus();
  const front = await bus.host('front', { worker: noted(bus, 'worker', DONE) });
  await front.once();
  const question = await front.send('worker', 'part');
  front.edit({
    [`data/channels/${front.channel()}/${relPathAt(new Date(), 'beefbeefbeef')}`]: pushedCancel(
      question,
      { from: 'mallory', as_operator: true },
    ),
  });
  await front.run('sync');
  expect((await front.run('thread', question)).out).toMatch(/ {2}waiting for worker.* {2}part\n/);
  expect((await front.run('explain', question, 'worker')).out).not.toContain('cancelled');
  expect((await front.run('replies', '--json', question)).out).not.toContain('"cancelled"');
  await front.once();
  expect(runs(bus)).toEqual(['worker']);
  expect(await fate(front, question)).toEqual(['REPLIED', []]);
  expect(await letters(front)).toEqual([]);
});

it('what waits to be pushed is cancelled at once on its machine, wherever one looks', async () => {
  const bus = new Bus();
  const front = await bus.host('front', { worker: DONE });
  const asked = await front.send('ghost', 'part');
  bus.unplug();
  const queued = await front.run('send', '--to', 'ghost', '--no-wait', 'more');
  const later = /^Queued: (.+)$/m.exec(queued.out)?.[1] ?? '';
  const told = await front.run('explain', later, 'ghost');
  expect(told.out).toContain('state: queued here, not on the bus');
  for (const question of [asked, later]) {
    expect((await front.run('cancel', '--no-wait', question)).out).toContain('Cancelled: ');
    expect((await front.run('replies', question)).out).toContain(
      `FAILED ${question}\n  cancelled by operator, which is not on the remote yet\n`,
    );
    expect((await front.run('thread', question)).out).toMatch(/ {2}cancelled {2}(?:part|more)\n/);
    expect((await front.run('explain', question, 'ghost')).out).toContain('cancelled by ');
  }
  bus.plug();
  await front.run('sync');
  expect((await front.run('replies', later)).out).toContain(
    `FAILED ${later}\n  cancelled by operator\n`,
  );
});

interface Told {
  unserved: object[];
}

it('what a host has ended is told as cancelled, and not as failed', async () => {
  const bus = new Bus();
  const front = await bus.host('front', { worker: DONE });
  await front.once();
  const question = await front.send('worker', 'part');
  await front.run('cancel', question);
  await front.once();

  const thread = await front.run('thread', question);
  expect(thread.out).toMatch(/ {2}cancelled {2}part\n/);
  const explained = await front.run('explain', question, 'worker');
  expect(explained.out).toContain('cancelled by ');
  const replies = await front.run('replies', question);
  expect(replies.out).toContain(`FAILED ${question}\n  cancelled by operator\n`);
  const inbox = await front.run('inbox');
  expect(inbox.out).toMatch(/ {2}cancelled\n/);
  for (const { out } of [thread, explained, replies, inbox])
    expect(out).not.toMatch(/failed|dead letter|after 0 attempts/);
});

it('who answers what was taken back is told so', async () => {
  const front = await new Bus().host('front', { worker: DONE });
  const question = await front.send('operator', 'when?', '--from', 'anna');
  const answer = await front.run('reply', question, 'at noon');
  expect(answer.err).not.toContain('taken back');
  const other = await front.send('operator', 'where?', '--from', 'anna');
  await front.run('cancel', '--from', 'anna', other);
  const late = await front.run('reply', other, 'here');
  expect(late).toMatchObject({ code: 0 });
  expect(late.err).toMatch(
    new RegExp(
      `^crosstalk reply: ${other} was taken back, in \\S+, and nobody waits for an answer`,
    ),
  );
});

it('the reason is on record on every host, however it learns of it', { tags: 'long' }, async () => {
  const bus = new Bus();
  const front = await bus.host('front', { idle: 'true' });
  const back = await bus.host('back', { worker: DONE });
  await back.once();
  const first = await front.send('worker', 'part');
  await front.run('cancel', first, '--reason', 'the \u001b[8mtests are fixed');
  await back.once();
  expect(await reasons(back)).toEqual(['operator took it back: the \\u001b[8mtests are fixed']);
  const there = await front.run('wait', first);
  expect(there.err).toContain(`${first}: cancelled by operator`);
  expect(there.err).not.toContain('failed');

  const second = await back.send('worker', 'part');
  await back.run('pause');
  const running = back.start();
  await running.saw('parked');
  await back.run('cancel', second);
  await running.saw('cancelled');
  expect((await reasons(back)).at(-1)).toBe('operator took it back');
});

it('who cancels what was answered is told that the answer stays', { tags: 'long' }, async () => {
  const bus = new Bus();
  const front = await bus.host('front', { worker: DONE });
  const [answered, open] = [await front.send('worker', 'one'), await front.send('worker', 'two')];
  const note = 'was answered before; the answer stays';
  expect((await front.run('cancel', open)).err).not.toContain(note);
  await front.once();
  const late = await front.run('cancel', answered);
  expect([late.code, late.err]).toEqual([0, expect.stringContaining(`${answered} ${note}`)]);
  await front.once();
  expect(await fate(front, answered)).toEqual(['REPLIED', []]);
});

it('what is cancelled says so wherever it is shown, and is not cancelled twice', async () => {
  const bus = new Bus();
  const front = await bus.host('front', { worker: DONE });
  const question = await front.send('worker', 'part');
  await front.run('cancel', question);
  const [cancel] = bus.from('operator').filter(({ message }) => message.cancels === question);
  const by = cancel!.relPath;
  expect((await front.run('read', question)).out).toMatch(new RegExp(`^cancelled +by ${by}$`, 'm'));
  const [, short] = /-([0-9a-f]+)\.md$/.exec(by) ?? [];
  expect((await front.run('log')).out).toContain(`  cancelled by ${short!.slice(0, 8)}`);
  for (const command of [['read', question], ['log']])
    expect((await front.run(...command, '--json')).out).toMatch(
      new RegExp(`"cancelled_by": ?"${by}"`),
    );

  const again = await front.run('cancel', question, '--reason', 'once more');
  expect(again).toMatchObject({ code: 0, out: `Cancelled: ${question}\n` });
  expect(again.err).toContain(`${question} is cancelled already, by ${by}`);
  const wider = await front.send('worker', 'more');
  await front.run('cancel', '--only', wider);
  expect((await front.run('cancel', wider)).err).not.toContain('already');
  expect(bus.from('operator').filter(({ message }) => message.cancels !== undefined)).toHaveLength(
    3,
  );
});

it('a cancellation says that it has no force, or that it came after the answer', async () => {
  const bus = new Bus();
  const front = await bus.host('front', { worker: DONE });
  const question = await front.send('worker', 'part');
  await front.once();
  await front.run('cancel', question);
  const foreign = relPathAt(new Date(), 'beefbeefbeef');
  front.edit({
    [`data/channels/${front.channel()}/${foreign}`]: pushedCancel(question, { from: 'mallory' }),
  });
  await front.run('sync');
  const shown = [await front.run('thread', question), await front.run('log')];
  for (const { out } of shown) {
    expect(out).toMatch(/mallory.* would cancel it, but has no force/);
    expect(out).toMatch(/operator.* cancels it after the answer, which stays/);
  }
  expect((await front.run('replies', question)).out).toContain(
    '(would cancel it, but has no force)',
  );
  expect((await front.run('read', foreign)).out).toContain(`${question}, which has no force`);
  expect((await front.run('read', question)).out).toMatch(
    /^cancelled +by \S+, after the answer, which stays$/m,
  );
});
