import { expect, it } from 'vitest';
import { Bus, type Host } from '../support/bus.ts';
import { git } from '../support/git.ts';

const WORKER = { worker: 'cat >/dev/null; echo done' };

/** Answers every question on the terminal, and keeps them. */
function terminal(answer = ''): { ask: (question: string) => Promise<string>; asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    ask: (question) => {
      asked.push(question);
      return Promise.resolve(answer);
    },
  };
}

async function machine(): Promise<{ bus: Bus; host: Host }> {
  const bus = new Bus();
  return { bus, host: await bus.host('front', WORKER) };
}

it('a name that nobody serves is refused on a terminal, with the nearest one, and goes with --anyway', async () => {
  const { bus, host } = await machine();
  const { ask } = terminal();
  for (const words of [
    ['send', '--to', 'wroker', 'hello'],
    ['ask', 'wroker', 'hello'],
  ]) {
    const refused = await host.runWith({ ask }, ...words);
    expect([refused.code, refused.out]).toEqual([1, '']);
    expect(refused.err).toContain(
      'no host serves wroker; did you mean worker?; nothing was sent. Send it to one of worker, or with --anyway',
    );
  }
  expect(bus.messages()).toEqual([]);
  const sent = await host.runWith({ ask }, 'send', '--to', 'wroker', '--anyway', 'hello');
  expect([sent.code, sent.out]).toEqual([0, expect.stringMatching(/^Sent: /)]);
  expect(sent.err).toContain('no host serves wroker; the message waits until one does');
});

it('a script is told of a name that nobody serves, and refused with --strict', async () => {
  const { bus, host } = await machine();
  const strict = await host.run('send', '--to', 'wroker', '--strict', 'hello');
  expect([strict.code, strict.out]).toEqual([1, '']);
  expect(strict.err).toContain('did you mean worker?; nothing was sent');
  expect(bus.messages()).toEqual([]);
  const sent = await host.run('send', '--to', 'wroker', 'hello');
  expect([sent.code, sent.out]).toEqual([0, expect.stringMatching(/^Sent: /)]);
  expect(sent.err).toContain('the message waits until one does; did you mean worker?');
});

it('a person who has written here is nobody that a host has to serve', async () => {
  const { host } = await machine();
  await host.send('worker', 'hello', '--from', 'anna');
  const { ask } = terminal();
  const ran = await host.runWith({ ask }, 'send', '--to', 'anna', 'good morning');
  expect([ran.code, ran.err]).toEqual([0, '']);
  const asked = await host.runWith({ ask }, 'ask', 'anna', '--timeout', '0.2', 'lunch?');
  expect([asked.code, asked.err]).toEqual([3, expect.not.stringContaining('no host serves')]);
});

it('a /name that no skill has is asked about on a terminal before it is sent as text', async () => {
  const { bus, host } = await machine();
  const no = terminal();
  for (const words of [
    ['send', '--to', 'worker', '/reveiw this'],
    ['ask', 'worker', '/reveiw this'],
  ]) {
    const refused = await host.runWith(no, ...words);
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('nothing was sent')]);
  }
  expect(no.asked).toEqual(
    Array(2).fill('there is no skill reveiw; did you mean review? Send it as plain text? [y/N] '),
  );
  expect(bus.messages()).toEqual([]);
  const yes = terminal('y');
  for (const text of ['/reveiw this', '/review this', '/tmp/x is full'])
    expect((await host.runWith(yes, 'send', '--to', 'worker', text)).code).toBe(0);
  expect(yes.asked).toHaveLength(1);
  expect((await host.run('send', '--to', 'worker', '/reveiw this')).code).toBe(0);
});

it('an actor cannot be called as a person is', async () => {
  const { bus, host } = await machine();
  await host.send('worker', 'hello', '--from', 'anna');
  const add = (name: string): ReturnType<Host['run']> =>
    host.run('actor', 'add', name, '--cli', 'cat');
  expect(await add('anna')).toMatchObject({
    code: 1,
    err: expect.stringContaining('anna is a person who has written here') as string,
  });
  git(host.dir, 'config', 'crosstalk.from', 'ben');
  expect(await add('ben')).toMatchObject({
    code: 1,
    err: expect.stringContaining('ben is who writes in this clone') as string,
  });
  const init = (...words: string[]): ReturnType<Host['run']> =>
    host.run('init', `${bus.root}/${words.join('')}`, '--cli', 'cat', ...words);
  const joined = ['--remote', bus.hub, '--alias', 'second'];
  const cases: [words: string[], why: string][] = [
    [['--actor', 'operator'], 'you write as operator here, which is the name of the actor'],
    [[...joined, '--actor', 'anna'], 'anna is a person who has written here'],
    [[...joined, '--actor', 'other', '--from', 'worker'], 'worker is an actor here'],
  ];
  for (const [words, why] of cases)
    expect(await init(...words)).toMatchObject({
      code: 1,
      err: expect.stringContaining(why) as string,
    });
});

it('names that differ in upper and lower case alone are told of', async () => {
  const { bus, host } = await machine();
  const told = (a: string, b: string): string =>
    `${a} and ${b} differ in upper and lower case alone, and are two names`;
  const added = await host.run('actor', 'add', 'Worker', '--cli', 'cat');
  expect([added.code, added.err]).toEqual([0, expect.stringContaining(told('Worker', 'worker'))]);
  await host.run('channel', 'create', 'ops');
  const made = await host.run('channel', 'create', 'Ops');
  expect([made.code, made.err]).toEqual([0, expect.stringContaining(told('Ops', 'ops'))]);
  const init = await host.run('init', `${bus.root}/new`, '--cli', 'cat', '--actor', 'Operator');
  expect([init.code, init.err]).toEqual([0, expect.stringContaining(told('operator', 'Operator'))]);
});
