import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { clockOf } from '../../src/actions/clock.ts';
import { Bus } from '../support/bus.ts';
import { put } from '../support/by-hand.ts';
import { until } from '../support/wait.ts';

const inHours = (hours: number): ReturnType<typeof clockOf> => ({
  ...clockOf({}),
  now: () => new Date(Date.now() + hours * 3_600_000),
});
const IDLE =
  'no dispatcher is running here, so mail for front waits; start one with: crosstalk dispatch';

it('waiting says that no dispatcher runs here, and sending says so after the message is sent', async () => {
  const bus = new Bus();
  const front = await bus.host('front', { worker: 'echo done' });
  const back = await bus.host('back', { other: 'echo done' });
  let shown = '';
  const tell = (text: string): void => {
    shown += text;
  };
  const sent = await front.runWith({ onOut: tell, onErr: tell }, 'send', '--to', 'worker', 'hi');
  expect(shown).toMatch(new RegExp(`^Sent: \\S+\ncrosstalk send: ${IDLE}\n$`));
  expect((await front.run('send', '--to', 'other', 'hi')).err).toBe('');
  expect((await back.run('send', '--to', 'worker', 'hi')).err).toBe('');
  expect((await front.run('send', '--to', 'worker@back', 'hi')).err).not.toContain('dispatcher');

  const question = /Sent: (\S+)/.exec(sent.out)![1]!;
  const over = await front.run('wait', '--timeout', '0.2', question);
  expect(over).toMatchObject({ code: 3, err: `crosstalk wait: ${IDLE}\n` });
  expect((await front.run('thread', question)).out).toContain(`waiting for worker: ${IDLE}`);
  const asked = await front.run('ask', 'worker', '--timeout', '0.2', 'hi');
  expect(asked.err.split(IDLE)).toHaveLength(2);

  await front.start().saw('host_file_loaded');
  expect((await front.run('send', '--to', 'worker', 'hi')).err).toBe('');
  expect(await front.run('wait', question)).toMatchObject({ code: 0, err: '' });
});

it(
  'waiting says that nobody serves the name, and which was probably meant',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const front = await bus.host('front', { idle: 'true' });
    await bus.host('back', { concierge: 'true' });
    const line =
      'no host serves concirge; the message waits until one does; did you mean concierge?';
    const asked = await front.run('ask', 'concirge', '--timeout', '0.2', 'hi');
    expect(asked.code).toBe(3);
    expect(asked.err.split(line)).toHaveLength(2);
    const question = bus.from('operator')[0]!.relPath;
    const [json] = JSON.parse(
      (await front.run('wait', '--json', '--timeout', '0', question)).out,
    ) as { held_up: string[] }[];
    expect(json?.held_up).toEqual([line]);
    expect((await front.run('thread', question)).out).toContain(`waiting for concirge: ${line}`);
  },
);

it('of a person nobody is told that no host serves them', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { idle: 'true' });
  await host.run('send', '--from', 'anna', '--to', 'idle', 'hello');
  const sent = await host.run('send', '--to', 'anna', 'tea?');
  const question = bus.from('operator')[0]!.relPath;
  const waited = await host.run('wait', '--timeout', '0.2', question);
  const shown = await host.run('thread', question);
  const line = 'anna is a person, and finds it with: crosstalk inbox';
  expect(waited.err).toContain(line);
  expect(shown.out).toContain(`waiting for anna: ${line}`);
  const chat = await host.runWith({ stdin: 'tea?\n' }, 'chat', '--to', 'anna', '--timeout', '0.1');
  const status = await host.run('status');
  for (const { out, err } of [sent, waited, shown, chat, status])
    expect(out + err).not.toContain('no host serves');
});

it('of a person who has written nothing yet, and approves plans, neither', async () => {
  const bus = new Bus();
  const gate = { gate: 'ben', gate_plan: 'echo a plan' };
  const host = await bus.host('front', { builder: { default: { cli: 'true', ...gate } } });
  const sent = await host.run('send', '--to', 'ben', 'welcome');
  expect(sent.err).not.toContain('no host serves');
  const shown = await host.run('thread', bus.from('operator')[0]!.relPath);
  expect(shown.out).toContain(
    'waiting for ben: ben is a person, and finds it with: crosstalk inbox',
  );
});

it('a thread says when the host was heard of that has the work, and what it does by the bell', async () => {
  const bus = new Bus();
  const front = await bus.host('front', { idle: 'true' });
  const back = await bus.host('back', { tester: 'echo done' });
  const first = await front.send('tester', 'one');
  const state = async (question: string): Promise<string> =>
    (await front.runWith({ clock: inHours(3) }, 'thread', question)).out;
  expect(await state(first)).toContain('waiting for tester (nothing heard from back lately)  one');
  await back.once();
  const second = await front.send('tester', 'two');
  expect(await state(second)).toContain('waiting for tester (last heard from back 3 h ago)  two');

  const at = new Date(Date.now() + 3 * 3_600_000).toISOString();
  const machine = { host: 'back', version: '6.1.0', every: 60, running: ['tester'], held: 0, at };
  const beat = { pid: 1, at, interval: 60, host: 'front', running: [], parked: [] };
  writeFileSync(
    join(front.state, 'heartbeat.json'),
    JSON.stringify({ ...beat, bell: { servers: '', machines: [machine] } }),
  );
  expect(await state(second)).toContain('waiting for tester (tester is at work on back)  two');
});

it('while the remote is away, ask and status say that work of this machine waits for it too', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo done' });
  const running = host.start();
  await running.saw('tick');
  bus.unplug();
  await running.saw('fetch_failed');
  const line =
    /the remote cannot be reached since .+, and all mail waits for it, also that of this machine for itself: /;
  await until('its heartbeat', async () => line.test((await host.run('status')).out));
  const asked = await host.run('ask', 'worker', '--timeout', '1', 'hi');
  expect(asked.err).toMatch(line);
  bus.plug();
});

it('waiting says that the other host has not been heard of since, once that says something', async () => {
  const bus = new Bus();
  const front = await bus.host('front', { idle: 'true' });
  await bus.host('back', { worker: 'true' });
  const first = await front.send('worker', 'one');
  const wait = async (hours: number, question: string): Promise<string> => {
    const options = { clock: inHours(hours) };
    return (await front.runWith(options, 'wait', '--timeout', '0.2', question)).err;
  };
  expect(await wait(0, first)).toBe('');
  expect(await wait(3, first)).toContain('back, which serves worker, has not been heard of lately');
  put(front, { from: 'worker', host: 'back', re: [first] });
  const second = await front.send('worker', 'two');
  expect(await wait(3, second)).toContain('has not been heard of for 3 h');
  put(front, { from: 'worker', host: 'back', re: [first] });
  expect(await wait(3, second)).toBe('');
});

it(
  'waiting says that mail is held on this machine, and that it has failed and is tried again',
  { tags: 'long' },
  async () => {
    const host = await new Bus().host('front', {
      worker: { default: { cli: 'exit 7', retry_delay: '10m' } },
    });
    const dispatcher = host.start();
    const question = await host.send('worker', 'one');
    await dispatcher.saw('dead_letter');
    const failing = await host.run('wait', '--timeout', '0.2', question);
    expect(failing.code).toBe(3);
    expect(failing.err).toMatch(
      /worker has failed, attempt 1 of 3: .*; it is tried again at \d{4}-/,
    );
    await host.run('pause');
    const held = await host.run('wait', '--timeout', '0.2', question);
    expect(held.err).toMatch(
      /paused by \S+, so mail for worker waits; go on with: crosstalk resume/,
    );
  },
);

it('mail that nobody serves makes the verdict unhealthy after an hour, unless it was answered', async () => {
  const host = await new Bus().host('front', { worker: 'echo done' });
  await host.start().saw('host_file_loaded');
  const sent = await host.run('send', '--to', 'wroker', 'hi');
  const first = async (hours: number): Promise<string> => {
    const ran = await host.runWith({ clock: inHours(hours) }, 'status', '--json');
    const { health } = JSON.parse(ran.out) as { health: { problems: string[] } };
    return health.problems.filter((problem) => problem.includes('wroker')).join('\n');
  };
  expect(await first(0)).toBe('');
  expect(await first(1.1)).toMatch(
    /^mail waits for an hour and longer: 1 message, .*; no host serves wroker; did you mean worker\?; /,
  );
  // Older mail than that of the last days is not worth a warning.
  expect(await first(24 * 8)).toBe('');
  const question = /Sent: (\S+)/.exec(sent.out)![1]!;
  put(host, { from: 'bea', re: [question], body: 'I do it.\n' });
  await host.run('sync');
  expect(await first(1.1)).toBe('');
});
