import { expect, it } from 'vitest';
import type { Message } from '../../src/protocol/message.ts';
import { Bus } from '../support/bus.ts';
import { failedOn, put } from '../support/by-hand.ts';
import { until } from '../support/wait.ts';
import { sample } from '../support/form.ts';

interface Replied {
  state: string;
  replies: { from: string; interim?: boolean; failed?: object }[];
  failures: { actor: string; host: string; reason: string; attempts: number }[];
  held_up: string[];
}

it(
  'a word on the way to an answer ends no waiting, except for the first that comes',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const front = await bus.host('front', { idle: 'true' });
    await bus.host('back', { worker: 'true' });
    const question = await front.send('worker', 'how many?');
    put(front, { from: 'worker', host: 'back', re: [question], interim: true, body: 'I ask.\n' });

    const now = await front.run('replies', question);
    expect(now.code).toBe(0);
    expect(now.out).toMatch(
      new RegExp(`^PENDING ${question}\n {2}from worker \\S+ \\(interim\\)\n {2}I ask.\n$`),
    );
    for (const command of [['replies', '--wait'], ['wait']])
      expect((await front.run(...command, '--timeout', '0.2', question)).code).toBe(3);
    expect(await front.run('wait', '--any', question)).toMatchObject({ code: 0, out: now.out });
    expect((await front.run('thread', question)).out).toMatch(
      /worker → operator {2}\S+ {2}interim/,
    );

    const waiting = front.run('wait', '--timeout', '100', question);
    put(front, { from: 'worker', host: 'back', re: [question], body: 'Three.\n' });
    const both = await waiting;
    expect(both.code).toBe(0);
    expect(both.out).toMatch(
      /^REPLIED .*\n.*\(interim\)\n {2}I ask.\n {2}from worker \S+\n {2}Three.\n$/,
    );
  },
);

it(
  'the notice of a failure ends the waiting with its reason, until an answer comes after all',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const front = await bus.host('front', { idle: 'true' });
    await bus.host('back', { worker: 'true' });
    const question = await front.send('worker', 'how many?');
    const waiting = front.run('wait', '--timeout', '100', question);
    put(front, { from: 'worker', re: [question], ...failedOn('back') });

    const ended = await waiting;
    expect(ended.code).toBe(1);
    expect(ended.out).toMatch(new RegExp(`^FAILED ${question}\n`));
    expect(ended.out).toContain(
      'worker failed on back after 3 attempts: the command failed: worker failed: exit code 7',
    );
    expect(ended.err).toContain('dlq --show 01J00000000000000000000000');
    expect((await front.run('replies', question)).code).toBe(0);
    const [json] = JSON.parse((await front.run('replies', '--json', question)).out) as Replied[];
    expect(json).toMatchObject({
      state: 'FAILED',
      replies: [{ from: 'worker', failed: { reason: 'exit_code' } }],
      failures: [{ actor: 'worker', host: 'back', reason: 'exit_code', attempts: 3 }],
    });
    expect((await front.run('thread', question)).out).toContain('failed on back');

    put(front, { from: 'worker', host: 'back', re: [question], body: 'Three.\n' });
    expect(await front.run('wait', question)).toMatchObject({ code: 0, err: '' });
    expect((await front.run('replies', question)).out).toMatch(/^REPLIED /);
  },
);

it(
  'a failure ends the waiting only once no other host owes an answer',
  { tags: 'slow' },
  async () => {
    const bus = new Bus();
    const front = await bus.host('front', { idle: 'true' });
    await bus.host('one', { worker: 'true' });
    await bus.host('two', { worker: 'true' });
    const question = await front.send('worker', 'how many?');
    put(front, { from: 'worker', re: [question], ...failedOn('one') });
    expect((await front.run('wait', '--timeout', '0.2', question)).code).toBe(3);
    expect((await front.run('replies', question)).out).toMatch(/^PENDING .*\n.* failed on one/);
    put(front, { from: 'worker', re: [question], ...failedOn('two') });
    const ended = await front.run('wait', question);
    expect(ended.code).toBe(1);
    expect(ended.out.match(/failed on (one|two)/g)).toEqual(['failed on one', 'failed on two']);
  },
);

it.each(
  sample([
    ['somebody who was not asked', { from: 'mallory', ...failedOn('back') }],
    ['another host', { from: 'worker', ...failedOn('elsewhere') }],
    [
      'another host in the name of the one asked',
      { from: 'worker', ...failedOn('back'), host: 'front' },
    ],
    ['nobody’s host', { from: 'worker', failed: failedOn('back').failed }],
  ] as [string, Partial<Message> & { from: string }][]),
)('the notice of %s ends no waiting', { tags: 'sampled' }, async (_, notice) => {
  const bus = new Bus();
  const front = await bus.host('front', { idle: 'true' });
  await bus.host('back', { worker: 'true' });
  const question = await front.send('worker', 'how many?');
  put(front, { ...notice, re: [question] });
  expect(await front.run('wait', '--timeout', '0.2', question)).toMatchObject({ code: 3 });
  expect((await front.run('replies', question)).out).toMatch(/^PENDING /);
});

it(
  'a dead letter of this machine ends the waiting at once, and a retry goes on',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: { default: { cli: 'exit 7', attempts: 1 } } });
    const question = await host.send('worker', 'how many?');
    const waiting = host.run('wait', '--timeout', '100', question);
    await host.once();
    const ended = await waiting;
    expect(ended.code).toBe(1);
    expect(ended.out).toMatch(/^FAILED .*\n {2}worker failed on front after 1 attempt: /);

    host.declare({ worker: 'echo three' });
    await host.approve();
    await host.run('dlq', '--retry', 'all');
    const again = host.run('wait', '--timeout', '100', question);
    await host.once();
    expect((await again).out).toMatch(/^REPLIED .*\n(.*\n)* {2}three\n$/);
  },
);

it('an actor here that chose to say nothing owes nothing more', { tags: 'long' }, async () => {
  const bus = new Bus();
  const host = await bus.host('front', { quiet: 'true' });
  const both = [await host.send('quiet', 'a note'), await host.send('quiet', 'another note')];
  const waiting = host.run('wait', '--timeout', '100', ...both);
  await host.once();
  const ended = await waiting;
  expect(ended).toMatchObject({ code: 1, out: both.map((one) => `PENDING ${one}\n`).join('') });
  expect(ended.err).toContain(`${both[0]!}: quiet has dealt with it, and had nothing to say\n`);
});

it(
  'an actor that gave a task to another, in whatever channel, may still have something to say',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', {
      lead: 'crosstalk send --channel side --to friend "your part" >&2',
      friend: 'sleep 60',
    });
    await host.run('channel', 'create', 'side');
    const question = await host.send('lead', 'do it');
    await host.start().saw('dispatch_silent');
    await until('the task', () => bus.from('lead').length > 0);
    expect((await host.run('wait', '--timeout', '1.5', question)).code).toBe(3);
  },
);
