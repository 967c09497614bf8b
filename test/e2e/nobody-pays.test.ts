import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Bus, type Host } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { until } from '../support/wait.ts';

/** A host whose actor boss does something before it answers. */
async function machine(boss: string): Promise<{ bus: Bus; host: Host }> {
  const bus = new Bus();
  const host = await bus.host('front', {
    boss: `cat >/dev/null; ${boss}`,
    worker: 'cat >/dev/null; echo part',
  });
  return { bus, host };
}

async function stateOf(host: Host, question: string): Promise<unknown> {
  const { out } = await host.run('replies', '--json', question);
  return (JSON.parse(out) as { state: string }[])[0]?.state;
}

it('a run that misspells a peer is told the name that it meant, and its answer counts', async () => {
  const { bus, host } = await machine('crosstalk send --to wroker part 2>&1; echo "code $?"');
  const question = await host.send('boss', 'delegate it');
  await host.once();
  const [answer, ...others] = bus.from('boss');
  expect(answer?.message.body).toMatch(
    /no host serves wroker; did you mean worker\?; nothing was sent\. Send it to one of boss, worker, or with --anyway.*\ncode 1\n$/,
  );
  expect([answer?.message.interim, others]).toEqual([undefined, []]);
  expect(await stateOf(host, question)).toBe('REPLIED');
});

it(
  'a run that writes to all of a host that there is not is told so, and its answer counts',
  { tags: 'long' },
  async () => {
    const { bus, host } = await machine(
      'crosstalk send --to all@nowhere part 2>&1; echo "code $?"',
    );
    const question = await host.send('boss', 'delegate it');
    await host.once();
    expect(bus.from('boss').map(({ message }) => message.body)).toEqual([
      expect.stringMatching(/no host serves all@nowhere; nothing was sent.*\ncode 1\n$/),
    ]);
    expect(await stateOf(host, question)).toBe('REPLIED');
  },
);

it(
  'an actor without a profile, on a host that leaves while it owes its part, keeps no answer back',
  { tags: 'long' },
  async () => {
    const { bus, host } = await machine('true');
    const [sent, go] = ['sent', 'go'].map((name) => join(bus.root, name)) as [string, string];
    const other = await bus.host('other', { helper: 'true' });
    host.declare({
      boss: `cat >/dev/null; crosstalk send --to helper@other part; touch ${sent}; while [ ! -e ${go} ]; do sleep 0.1; done; echo done`,
    });
    await host.approve();
    const question = await host.send('boss', 'delegate it');
    const pass = host.once();
    await until('the part', () => existsSync(sent));
    other.remove('hosts/other.md');
    await host.news();
    writeFileSync(go, '');
    await pass;
    expect(await stateOf(host, question)).toBe('REPLIED');
  },
);

it('what goes to nobody all the same is owed by nobody, so the answer counts', async () => {
  const { bus, host } = await machine('crosstalk send --to wroker --anyway part 2>&1; echo done');
  const question = await host.send('boss', 'delegate it');
  await host.once();
  expect(bus.messages().filter(({ message }) => message.to[0]?.name === 'wroker')).toHaveLength(1);
  expect(bus.from('boss').at(-1)?.message).toMatchObject({ re: [question] });
  expect(await stateOf(host, question)).toBe('REPLIED');
});

it(
  'what goes to nobody all the same goes to nobody else, whose debt would be lost with it',
  { tags: 'long' },
  async () => {
    const { bus, host } = await machine(
      'crosstalk send --to worker,wroker --anyway part 2>&1; echo "code $?"',
    );
    await host.send('boss', 'delegate it');
    await host.once();
    expect(bus.from('boss').map(({ message }) => message.body)).toEqual([
      'crosstalk send: --anyway is for wroker, which nobody serves, and not for the others of --to; nothing was sent. Send to wroker in a message of its own\ncode 2\n',
    ]);
  },
);

it('who tells nobody but a name that nobody serves, and prints nothing, has given no answer', async () => {
  const { host } = await machine('crosstalk send --to wroker --anyway part');
  host.declare({
    boss: {
      default: {
        cli: 'cat >/dev/null; crosstalk send --to wroker --anyway part > /dev/null',
        attempts: 1,
      },
    },
  });
  await host.approve();
  const question = await host.send('boss', 'delegate it');
  await host.once();
  expect(await stateOf(host, question)).toBe('FAILED');
});

it('a run may ask a person, who has written before, and waits for what that one says', async () => {
  const { bus, host } = await machine(
    'crosstalk send --to carl "which?" 2>&1 > /dev/null && echo I have asked carl',
  );
  await host.send('worker', 'hello', '--from', 'carl');
  const question = await host.send('boss', 'decide', '--from', 'anna');
  await host.once();
  const said = bus.from('boss').map(({ message }) => [message.body.trim(), message.interim]);
  expect(said.sort()).toEqual([
    ['I have asked carl', true],
    ['which?', undefined],
  ]);
  expect(await stateOf(host, question)).toBe('PENDING');
});

it(
  'a run may write to the operator of its machine, who has never written',
  { tags: 'long' },
  async () => {
    const { bus, host } = await machine('crosstalk send --to dora report 2>&1; echo "code $?"');
    git(host.dir, 'config', 'crosstalk.from', 'dora');
    await host.send('boss', 'report', '--from', 'schedule');
    await host.once();
    expect(bus.from('boss').map(({ message }) => message.body)).toContain('report');
  },
);

it('an actor that is removed while it owes its part keeps no answer back', async () => {
  const { bus, host } = await machine('true');
  const [sent, go] = ['sent', 'go'].map((name) => join(bus.root, name)) as [string, string];
  const waits = `cat >/dev/null; crosstalk send --to helper part; touch ${sent}; while [ ! -e ${go} ]; do sleep 0.1; done; echo done`;
  const other = await bus.host('other', { helper: 'true' });
  other.edit({ 'local/actors/helper.md': '---\nname: helper\n---\n' });
  host.declare({ boss: { default: waits } });
  await host.approve();
  host.start();
  const question = await host.send('boss', 'delegate it');
  await until('the part', () => existsSync(sent));
  other.remove('hosts/other.md');
  await host.run('sync');
  writeFileSync(go, '');
  await until('the answer', () => bus.from('boss').length === 2);
  expect(bus.from('boss').at(-1)?.message).toMatchObject({ re: [question] });
  expect(bus.from('boss').at(-1)?.message.interim).toBeUndefined();
  expect(await stateOf(host, question)).toBe('REPLIED');
});
