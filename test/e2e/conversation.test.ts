import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Bus } from '../support/bus.ts';
import { agent } from '../support/agents.ts';
import { until } from '../support/wait.ts';

it(
  'a question is answered across machines, and replies goes from PENDING to REPLIED',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const front = await bus.host('front', { other: 'cat' });
    const back = await bus.host('back', { concierge: 'echo "it is green"' });
    const question = await front.send('concierge', 'how is the build?');
    expect((await front.run('replies', question)).out).toBe(`PENDING ${question}\n`);

    await back.once();

    const [reply] = bus.from('concierge');
    expect(reply?.message).toMatchObject({
      to: [{ name: 'operator' }],
      re: [question],
      host: 'back',
      body: 'it is green\n',
    });
    expect((await front.run('replies', question)).out).toBe(
      `REPLIED ${question}\n  from concierge ${reply?.relPath ?? ''}\n  it is green\n`,
    );
  },
);

it(
  'a fan-out to three workers on another host ends in one summary to the asker, by plain stdout',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const gate = join(bus.root, 'gate');
    const front = await bus.host('front', { concierge: agent('coordinator', 'w1', 'w2', 'w3') });
    const back = await bus.host('back', {
      w1: 'echo one',
      w2: `while test ! -e ${gate}; do sleep 0.05; done; echo two`,
      w3: 'echo three',
    });
    const [a, b] = [front.start(), back.start()];
    const question = await front.send('concierge', 'ask everybody');
    await until('two of three answers', () => bus.from('w1').length + bus.from('w3').length === 2);
    writeFileSync(gate, '');

    const replied = await front.run('replies', '--wait', '--timeout', '100', question);

    expect(replied.out).toContain('one two three');
    expect(
      bus.from('concierge').filter(({ message }) => message.re.includes(question)),
    ).toHaveLength(1);
    expect(bus.from('w1')[0]?.message.to).toEqual([{ name: 'concierge', host: 'front' }]);
    await a.stop();
    await b.stop();
    expect([...a.events, ...b.events].filter(({ event }) => event === 'dispatch_failed')).toEqual(
      [],
    );
  },
);

it('name@host is served by that host alone; the other one logs that it skipped it', async () => {
  const bus = new Bus();
  const front = await bus.host('front', { worker: 'echo from front' });
  const back = await bus.host('back', { worker: 'echo from back' });
  await front.send('worker@back', 'which machine?');
  const log = await front.once();
  await back.once();
  expect(bus.from('worker').map(({ message }) => message.body)).toEqual(['from back\n']);
  expect(log).toContainEqual(expect.objectContaining({ event: 'route_skipped', actor: 'worker' }));
});

it('a bare name that both hosts serve is answered by both', { tags: 'long' }, async () => {
  const bus = new Bus();
  const front = await bus.host('front', { helper: 'echo from front' });
  const back = await bus.host('back', { helper: 'echo from back' });
  await front.once();
  await back.once();
  await front.send('helper', 'which machine?');
  await front.once();
  await back.once();
  expect(
    bus
      .from('helper')
      .map(({ message }) => message.body)
      .sort(),
  ).toEqual(['from back\n', 'from front\n']);
});

it('all reaches everybody but the sender', { tags: 'long' }, async () => {
  const bus = new Bus();
  const front = await bus.host('front', { a: 'echo a', b: 'echo b' });
  const back = await bus.host('back', { c: 'echo c' });
  await front.send('all', 'hello', '--from', 'b');
  await front.once();
  await back.once();
  expect(bus.messages().map(({ message }) => message.from)).toEqual(['b', 'a', 'c']);
});

it(
  'the newest message that names a declared tier decides; an unknown tier falls back to the first',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: { quick: 'echo quick', large: 'echo large' } });
    await host.send('worker', 'one', '--tier', 'large');
    await host.once();
    await host.send('worker', 'two', '--tier', 'enormous');
    await host.once();
    await host.send('worker', 'three', '--tier', 'quick');
    await host.send('worker', 'four', '--tier', 'large');
    await host.send('worker', 'five', '--tier', 'unknown');
    await host.once();
    expect(bus.from('worker').map(({ message }) => message.body)).toEqual([
      'large\n',
      'quick\n',
      'large\n',
    ]);
  },
);

it(
  'ten waiting messages are one batch for one run, in commit order, answered by one reply',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: `grep -- '--- Message'` });
    const sent: string[] = [];
    for (let n = 1; n <= 10; n++) sent.push(await host.send('worker', `message ${String(n)}`));
    const log = await host.once();
    expect(log.filter(({ event }) => event === 'dispatch_start')).toHaveLength(1);
    const [reply] = bus.from('worker');
    expect(reply?.message.re).toEqual(sent);
    expect(reply?.message.body).toBe(
      sent
        .map(
          (relPath, index) =>
            `--- Message ${String(index + 1)} of 10 (from: operator, ref: ${relPath}) ---\n`,
        )
        .join(''),
    );
  },
);

it(
  'a worker asks its coordinator back, is answered, and the operator gets the result',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { boss: agent('boss'), worker: agent('asks-back') });
    const running = host.start();
    const question = await host.send('boss', 'paint it');
    const replied = await host.run('replies', '--wait', '--timeout', '100', question);
    expect(replied.out).toContain('boss reports: painted blue');
    await running.stop();
    expect(running.events.filter(({ event }) => event === 'dispatch_failed')).toEqual([]);
  },
);

it('two actors that always answer politely fall silent by themselves', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { anna: agent('polite', 'bert'), bert: 'echo "thank you"' });
  const running = host.start();
  const question = await host.send('anna', 'greet bert');
  await host.run('replies', '--wait', '--timeout', '100', question);
  const count = await until('three quiet ticks', async () => {
    const before = bus.messages().length;
    const ticks = running.events.filter(({ event }) => event === 'tick').length;
    await until(
      'ticks',
      () => running.events.filter(({ event }) => event === 'tick').length > ticks + 4,
    );
    return bus.messages().length === before ? before : undefined;
  });
  await running.stop();
  expect(count).toBeLessThanOrEqual(5);
  expect(
    running.events.filter(({ event }) => event === 'dispatch_start').length,
  ).toBeLessThanOrEqual(3);
});

it(
  'a host that starts late gets the mail that waited, and does not redo what is answered',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const front = await bus.host('front', { worker: 'echo from front' });
    await front.send('worker', 'answered before');
    await front.once();
    await front.send('archivist', 'waits for a late host');
    const late = await bus.host('late', { worker: 'echo from late', archivist: 'echo here I am' });
    await late.once();
    expect(bus.from('archivist')).toHaveLength(1);
    expect(bus.from('worker').map(({ message }) => message.body)).toEqual(['from front\n']);
  },
);

it('a delivery that fails three times is quarantined, and succeeds after a retry', async () => {
  const bus = new Bus();
  const switchFile = `${bus.root}/works`;
  const cli = `test -e ${switchFile} && echo done || { echo "no such model" >&2; exit 3; }`;
  const host = await bus.host('front', { worker: { default: { cli, retry_delay: '50ms' } } });
  const running = host.start();
  const question = await host.send('worker', 'try');
  await running.saw('quarantined');
  expect(running.events.filter(({ event }) => event === 'dispatch_start')).toHaveLength(3);
  const [id = ''] = (await host.run('dlq', '--list')).out.split(' ');
  const shown = JSON.parse((await host.run('dlq', '--show', id, '--json')).out) as unknown;
  expect(shown).toMatchObject({
    actor: 'worker',
    state: 'quarantined',
    reason: 'exit_code',
    exit_code: 3,
    attempts: 3,
    stderr_tail: 'no such model\n',
    messages: [question],
  });
  expect((await host.run('status')).out).toMatch(/^stuck: /);

  writeFileSync(switchFile, '');
  await host.run('dlq', '--retry', id);

  await until('the answer', async () =>
    (await host.run('replies', question)).out.includes('  done'),
  );
  await until(
    'an empty dead letter list',
    async () => (await host.run('dlq', '--json')).out.trim() === '[]',
  );
});
