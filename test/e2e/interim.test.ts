import { expect, it } from 'vitest';
import { agent } from '../support/agents.ts';
import { Bus, type Stored } from '../support/bus.ts';

const finals = (bus: Bus, question: string): Stored[] =>
  bus
    .messages()
    .filter(({ message }) => message.re.includes(question) && message.interim === undefined);

/** Delegates and says so; sums up what it gets. */
const CHATTY = `p=$(cat); case $p in *'done by'*) echo summary ;; *) crosstalk send --to worker part >&2; echo 'I have asked the worker.' ;; esac`;

it(
  'what a run prints while a peer still owes its part is a word on the way, and the answer follows',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const front = await bus.host('front', { boss: CHATTY });
    const back = await bus.host('back', { worker: 'echo "done by me"' });
    const question = await front.send('boss', 'goal');

    await front.once();

    expect(bus.from('boss').map(({ message }) => [message.interim, message.re])).toEqual([
      [undefined, []],
      [true, [question]],
    ]);
    await bus.rest([front, back]);
    expect(finals(bus, question).map(({ message }) => message.body)).toEqual(['summary\n']);
  },
);

it(
  'what is said on the way to an actor wakes nobody, and the actor gets the answer',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const front = await bus.host('front', {
      lead: `p=$(cat); case $p in *summary*) echo 'all is done' ;; *) crosstalk send --to boss goal >&2 ;; esac`,
    });
    const middle = await bus.host('middle', { boss: CHATTY });
    const back = await bus.host('back', { worker: 'echo "done by me"' });
    const question = await front.send('lead', 'do it');
    const runs: string[] = [];
    for (let round = 0; round < 8; round++)
      for (const host of [front, middle, back])
        for (const { event, actor } of await host.once())
          if (event === 'dispatch_start') runs.push(String(actor));

    expect(runs).toEqual(['lead', 'boss', 'worker', 'boss', 'lead']);
    const [task] = bus.from('boss');
    const interim = bus.from('boss').find(({ message }) => message.interim === true);
    expect(interim?.message).toMatchObject({
      to: [{ name: 'lead', host: 'front' }],
      re: [task?.relPath],
      body: 'I have asked the worker.\n',
    });
    expect(finals(bus, question).map(({ message }) => message.body)).toEqual(['all is done\n']);
  },
);

it(
  'where nothing is added once nobody owes anything, the last word on the way is the answer',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const front = await bus.host('front', {
      boss: `p=$(cat); case $p in *'done by'*) ;; *) crosstalk send --to worker part >&2; echo 'It is on its way, take this for an answer.' ;; esac`,
    });
    const back = await bus.host('back', { worker: 'echo "done by me"' });
    const question = await front.send('boss', 'goal');

    await bus.rest([front, back]);

    const word = bus.from('boss').find(({ message }) => message.interim === true);
    expect(finals(bus, question).map(({ message }) => [message.final, message.body])).toEqual([
      [word?.relPath, 'It is on its way, take this for an answer.\n'],
    ]);
    expect((await front.run('dlq', '--json')).out.trim()).toBe('[]');
  },
);

it(
  'a question that a run sends back leaves its task open, and the reply goes on with it',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const front = await bus.host('front', { boss: agent('boss') });
    const back = await bus.host('back', { worker: agent('asks-back') });
    const question = await front.send('boss', 'paint it');

    await bus.rest([front, back]);

    const back1 = bus.from('worker')[0]?.message;
    expect(back1).toMatchObject({ interim: true, body: 'which colour?' });
    expect(back1).not.toHaveProperty('printed');
    expect(finals(bus, question).map(({ message }) => message.body)).toEqual([
      expect.stringContaining('boss reports: painted blue'),
    ]);
  },
);

it('a worker that asks a person back and ends waits for the reply, whatever else comes', async () => {
  const bus = new Bus();
  const host = await bus.host('front', {
    worker: `p=$(cat); case $p in *staging*) echo 'done on staging' ;; *'part is'*) ;; *) crosstalk send --to operator 'which one?' >&2; crosstalk send --to helper part >&2 ;; esac`,
    helper: 'echo "part is done"',
  });
  const question = await host.send('worker', 'deploy');
  await bus.rest([host]);
  expect(finals(bus, question)).toEqual([]);
  expect((await host.run('dlq', '--json')).out.trim()).toBe('[]');
  const asked = bus.from('worker').find(({ message }) => message.interim === true);
  expect(asked?.message).toMatchObject({ to: [{ name: 'operator' }], re: [question] });
});

it('after the state is lost an answer on the way does not stand for the answer', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'cat' });
  const question = await host.send('worker', 'hello');
  const head = `from: worker\nto: operator\nhost: front\nre: ${question}\ntype: text\ntimestamp: 2026-11-22T12:00:00Z\n`;
  host.edit({
    [`data/channels/${host.channel()}/2099/01/01/000000001Z-bbbbbbbb.md`]: `---\n${head}interim: true\n---\n\na moment\n`,
  });
  await host.once();
  expect(finals(bus, question)).toHaveLength(1);
});
