import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { Bus, type Host, type Stored } from '../support/bus.ts';
import { putRow, rowsIn } from '../support/rows.ts';

const notices = (bus: Bus): Stored[] =>
  bus.messages().filter(({ message }) => message.failed !== undefined);

async function letters(host: Host): Promise<{ id: string; state: string }[]> {
  return JSON.parse((await host.run('dlq', '--json')).out) as { id: string; state: string }[];
}

it('the asker on another machine is told once that a worker failed, and gets the answer of a later retry', async () => {
  const bus = new Bus();
  const flag = join(bus.root, 'flag');
  const front = await bus.host('front', { other: 'cat' });
  const cli = `test -e ${flag} && echo done`;
  const back = await bus.host('back', { worker: { default: { cli, attempts: 1 } } });
  const question = await front.send('worker', 'do it');

  await back.once();

  const [letter] = await letters(back);
  const [notice] = notices(bus);
  expect(notice?.message).toMatchObject({
    from: 'worker',
    host: 'back',
    to: [{ name: 'operator' }],
    re: [question],
    failed: { reason: 'exit_code', attempts: 1, host: 'back', dead_letter: letter?.id },
  });
  expect(notice?.message.body).toBe(
    `worker on back gives no answer: the command failed (1 attempt). It is tried again only when somebody on back calls: crosstalk dlq --retry ${letter?.id ?? ''}\n`,
  );

  expect((await front.run('inbox')).out).toMatch(/ {2}failed: the command failed\n/);
  const there = await front.run('wait', question);
  expect(there.err).toContain(
    'worker failed on back after 1 attempt: the command failed: It is tried again only when',
  );

  await back.run('dlq', '--retry', 'all');
  await back.once();
  expect(notices(bus)).toHaveLength(1);

  writeFileSync(flag, '');
  await back.run('dlq', '--retry', 'all');
  await back.once();
  expect(await letters(back)).toEqual([]);
  expect(bus.from('worker').map(({ message }) => message.failed === undefined)).toEqual([
    false,
    true,
  ]);
  expect(bus.from('worker')[1]?.message).toMatchObject({ re: [question], body: 'done\n' });
});

it(
  'a coordinator is woken by the notice, and its answer goes to the first asker',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const boss = `p=$(cat); case $p in *'gives no answer:'*) echo 'the worker failed' ;; *) crosstalk send --to worker part >&2 ;; esac`;
    const front = await bus.host('front', { boss });
    const back = await bus.host('back', { worker: 'no-such-program' });
    const question = await front.send('boss', 'goal');

    await bus.rest([front, back]);

    expect(bus.from('boss').at(-1)?.message).toMatchObject({
      to: [{ name: 'operator' }],
      re: [question],
      body: 'the worker failed\n',
    });
    const [task] = bus.from('boss');
    expect(notices(bus).map(({ message }) => message.re)).toEqual([[task?.relPath]]);
    expect(notices(bus)[0]?.message.to).toEqual([{ name: 'boss', host: 'front' }]);
  },
);

it('an actor that asks again each time it hears of a failure comes to rest, and the operator is told', async () => {
  const bus = new Bus();
  const runs = join(bus.root, 'runs');
  const front = await bus.host('front', {
    boss: `cat >/dev/null; echo run >> ${runs}; crosstalk send --to worker again >&2`,
  });
  const back = await bus.host('back', { worker: 'no-such-program' });
  const question = await front.send('boss', 'goal');

  await bus.rest([front, back]);

  expect(readFileSync(runs, 'utf8').split('\n').length - 1).toBe(3);
  expect(notices(bus).map(({ message }) => message.to[0]?.name)).toEqual([
    'boss',
    'boss',
    'operator',
  ]);
  expect(notices(bus)[2]?.message.re).toEqual([question]);
});

it(
  'a thread that an actor began on its own comes to rest too, although that actor asks again',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const again = `*'gives no answer:'*) crosstalk send --to boss again >&2 ;;`;
    const front = await bus.host('front', {
      boss: 'cat >/dev/null; crosstalk send --to worker again >&2',
      starter: `p=$(cat); case $p in ${again} *) crosstalk send --new --to boss go >&2; echo ok ;; esac`,
    });
    const back = await bus.host('back', { worker: 'no-such-program' });
    await front.send('starter', 'begin');
    await bus.rest([front, back]);
    const told = notices(bus).map(({ message }) => message.to[0]?.name);
    expect(told).toEqual(['boss', 'boss', 'starter', 'starter', 'starter', 'starter']);
  },
);

it('a thread that is too deep is parked, and its asker is told', { tags: 'long' }, async () => {
  const bus = new Bus();
  const host = await bus.host('front', {
    a: 'cat >/dev/null; crosstalk send --to b deeper >&2',
    b: { default: { cli: 'echo never', max_depth: 1 } },
  });
  await host.send('a', 'go');
  await bus.rest([host]);
  const states = (await letters(host)).map(({ state }) => state);
  expect(new Set(states)).toEqual(new Set(['parked']));
  expect(notices(bus)[0]?.message).toMatchObject({
    from: 'b',
    to: [{ name: 'a', host: 'front' }],
    failed: { reason: 'too_deep', attempts: 0 },
  });
});

it('dead letters of an older version tell nobody', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: { default: { cli: 'exit 1', attempts: 2 } } });
  await host.send('worker', 'hello');
  await host.once();
  const [written] = rowsIn(host.state, 'dead-letter');
  const id = String(written?.['id']);
  delete written?.['seal'];
  delete written?.['next_retry_at'];
  putRow(host.state, 'dead-letter', { ...written, id, state: 'quarantined' });

  await host.once();

  expect(await letters(host)).toMatchObject([{ id, state: 'quarantined' }]);
  expect(notices(bus)).toEqual([]);
});

it(
  'a notice waits for the remote, and is not written twice by a restart',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'no-such-program' });
    await host.send('worker', 'hello');
    const running = host.start();
    await running.saw('failure_told');
    await running.stop();
    await host.once();
    await host.once();
    expect(notices(bus)).toHaveLength(1);
  },
);

it.each(['.', 'ledger', 'outbox', 'outbox/files', 'profiles', 'runs', 'secrets'])(
  'what a killed process was writing in %s is swept at the next start, also where its number is taken',
  { tags: 'long' },
  async (folder) => {
    const host = await new Bus().host('front', { worker: 'true' });
    const other = spawn('sleep', ['60'], { stdio: 'ignore' });
    onTestFinished(() => {
      other.kill();
    });
    mkdirSync(join(host.state, folder), { recursive: true });
    const left = (pid: number | undefined, at: Date): string => {
      const path = join(host.state, folder, `X.json.${String(pid)}.1.tmp`);
      writeFileSync(path, 'half');
      utimesSync(path, at, at);
      return path;
    };
    const dead = left(spawnSync('true').pid, new Date());
    const earlier = left(other.pid, new Date(Date.now() - 60_000));
    const written = left(process.pid, new Date());
    // Nothing of ours, and it stops nobody.
    mkdirSync(join(host.state, folder, `Y.json.${String(spawnSync('true').pid)}.2.tmp`));
    await host.once();
    expect([dead, earlier, written].filter((path) => existsSync(path))).toEqual(
      process.platform === 'linux' ? [written] : [earlier, written],
    );
  },
);
