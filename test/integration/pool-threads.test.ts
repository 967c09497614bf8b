// What befalls a pool's task after it was taken: history set back, archives, held answers, gates, and what is said to a run.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { agent } from '../support/agents.ts';
import { scratch } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { setBack, tipOf } from '../support/history.ts';
import { answers, claims, pool } from '../support/pools.ts';
import { SECRETS } from '../support/secrets.ts';
import { until } from '../support/wait.ts';

const STARTS = 'dispatch_start';

it('an answer that a rewound branch has lost comes back with its end, and nothing runs twice', async () => {
  const [bus, ant, bee] = await pool('echo done');
  const before = tipOf(bus);
  const sent = await ant.send('worker', 'one');
  const asked = tipOf(bus);
  await ant.once();
  const answered = claims(bus);
  expect(answered).toEqual(['worker/1.end.md', 'worker/1.md']);
  // The claim is lost with the answer, and its host is the first to see that.
  setBack(bus, asked);
  const log = [...(await ant.once()), ...(await bee.once()), ...(await ant.once())];
  expect(log.filter(({ event }) => event === STARTS)).toEqual([]);
  expect(answers(bus)).toEqual(['done']);
  // The task is lost too.
  setBack(bus, before);
  const later = [...(await ant.once()), ...(await bee.once()), ...(await ant.once())];
  expect(later.filter(({ event }) => event === STARTS)).toEqual([]);
  expect(answers(bus)).toEqual(['done']);
  expect(bus.from('operator').map(({ relPath }) => relPath)).toEqual([sent]);
});

it('a task whose answer was lost is answered once, whichever host sees the rewound branch first', async () => {
  const [bus, ant, bee] = await pool('echo done');
  await ant.send('worker', 'one');
  await bee.news();
  const asked = tipOf(bus);
  await ant.once();
  setBack(bus, asked);
  await bee.once();
  await ant.once();
  await bee.once();
  expect(answers(bus)).toEqual(['done']);
  expect(claims(bus)).toEqual(['worker/1.end.md', 'worker/1.md']);
});

it('a run whose claim a rewound branch has lost is ended once another host has taken its task', async () => {
  const [bus, ant, bee] = await pool((alias) =>
    alias === 'ant' ? 'sleep 30; echo ant' : 'echo bee',
  );
  await ant.send('worker', 'one');
  const asked = tipOf(bus);
  const running = ant.start();
  await running.saw('claimed');
  setBack(bus, asked);
  await bee.once();
  await running.saw('claim_lost', ({ reason }) => reason === 'another host has it');
  await running.stop();
  expect(answers(bus)).toEqual(['bee']);
});

it('an answer whose claim a rewound branch has lost is published where no other host has taken its task', async () => {
  const go = join(scratch(), 'go');
  const [bus, ant, bee] = await pool(`while ! test -e ${go}; do sleep 0.05; done; echo done`);
  await ant.send('worker', 'one');
  const asked = tipOf(bus);
  const running = ant.start();
  await running.saw('claimed');
  setBack(bus, asked);
  await running.saw('tick', ({ tip }) => tip === asked);
  writeFileSync(go, '');
  await running.saw('dispatch_done');
  await running.stop();
  await bee.once();
  expect(answers(bus)).toEqual(['done']);
});

it('claims are archived with their messages, and come back with them', async () => {
  const [bus, ant, bee] = await pool('echo done');
  const at = '2025/01/02/120000000Z-00000001.md';
  const text =
    '---\nfrom: alice\nto: worker\ntype: text\ntimestamp: 2025-01-02T12:00:00Z\n---\n\nold\n';
  ant.edit({ [`data/channels/${ant.channel()}/${at}`]: text });
  await ant.once();
  await bee.once();
  expect(claims(bus)).toHaveLength(2);
  // The answer is of today: it is moved to that day, beside its question.
  const [answer] = bus.from('worker');
  const place = `data/channels/${ant.channel()}`;
  const old = `${place}/2025/01/02/130000000Z-00000002.md`;
  const said = git(bus.hub, 'show', `main:${place}/${answer?.relPath ?? ''}`);
  ant.remove(`${place}/${answer?.relPath ?? ''}`);
  ant.edit({ [old]: said });
  await ant.once();
  for (const one of bus.from('worker'))
    if (!one.relPath.startsWith('2025')) ant.remove(`${place}/${one.relPath}`);
  const bundle = join(bus.root, 'old.bundle');
  const archived = await ant.run('archive', '--before', '2025-02-01', '--bundle', bundle, '--yes');
  expect(archived.code, archived.err).toBe(0);
  expect(bus.messages().filter(({ relPath }) => relPath.startsWith('2025'))).toEqual([]);
  expect(claims(bus)).toEqual([]);
  const restored = await ant.run('archive', '--restore', bundle);
  expect(restored.code, restored.err).toBe(0);
  expect(claims(bus)).toEqual(['worker/1.end.md', 'worker/1.md']);
  for (const host of [ant, bee]) {
    const log = await host.once();
    expect(log.filter(({ event }) => event === STARTS)).toEqual([]);
  }
});

it('an answer that is held for its secret leaves at once as held, and is the answer once it is let go', async () => {
  const secret = SECRETS['GitHub token']?.(42) ?? '';
  const [bus, ant, bee] = await pool(`echo "the key is ${secret}"`);
  await ant.send('worker', 'one');
  await ant.once();
  expect(answers(bus)).toEqual([]);
  expect(claims(bus)).toEqual(['worker/1.end.md', 'worker/1.md']);
  expect((await bee.once()).filter(({ event }) => event === STARTS)).toEqual([]);
  const endings = (): string => git(bus.hub, 'grep', '-h', '^end:', 'main', '--', 'data/claims');
  expect(endings()).toBe('end: held\n');
  const [held] = JSON.parse((await ant.run('outbox', '--json')).out) as { id: string }[];
  const released = await ant.run('outbox', '--allow-secret', held?.id ?? '');
  expect(released.code, released.err).toBe(0);
  await ant.once();
  await bee.once();
  expect(answers(bus)).toEqual([`the key is ${secret}`]);
  expect(endings()).toBe('end: answered\n');
});

it('a task whose plan waits at a gate stays with the host that has planned it', async () => {
  const [bus, ant, bee] = await pool('echo done', 2, {
    tier: { gate: 'anna', gate_plan: 'echo my plan' },
  });
  const sent = await ant.send('worker', 'one', '--from', 'anna');
  await ant.once();
  expect((await bee.once()).filter(({ event }) => event === STARTS)).toEqual([]);
  const [plan] = bus.from('worker');
  expect(plan?.message.proposal).toBe(true);
  expect(claims(bus)).toEqual(['worker/1.beat.md', 'worker/1.md']);
  const said = await ant.run('approve', plan?.relPath ?? '', '--from', 'anna');
  expect(said.code, said.err).toBe(0);
  const log = [...(await bee.once()), ...(await ant.once()), ...(await bee.once())];
  expect(answers(bus)).toEqual(['done']);
  expect(log.filter(({ event }) => event === STARTS)).toHaveLength(1);
  // Another start of the host makes its claim anew.
  expect(claims(bus)).toContain('worker/2.end.md');
  expect(bus.from('worker').every(({ message }) => message.host === 'ant')).toBe(true);
  expect(bus.from('worker').at(-1)?.message.re).toContain(sent);
});

it('what is said to a run of a pool goes into it, on the host that has it', async () => {
  const folder = scratch();
  const cli = agent('warm/gemini', '--skip-trust');
  const [bus, ant, bee] = await pool(cli, 2, { tier: { session: 'warm' } });
  for (const host of [ant, bee]) host.env['KEEPING'] = folder;
  writeFileSync(join(folder, 'mood'), 'steers');
  const running = ant.start();
  const task = await ant.send('worker', 'please wait ABOUT-apples');
  await until(
    'the turn',
    () =>
      existsSync(join(folder, 'log')) &&
      readFileSync(join(folder, 'log'), 'utf8').includes('prompt'),
  );
  const more = await bee.run(
    'send',
    '--to',
    'worker',
    '--now',
    '--about',
    task,
    'also ABOUT-pears',
  );
  expect(more.code, more.err).toBe(0);
  expect((await bee.once()).filter(({ event }) => event === STARTS)).toEqual([]);
  await until('the answer', () => answers(bus).length > 0);
  await running.stop();
  for (const host of [bee, ant]) await host.once();
  expect(answers(bus)).toEqual(['turn 1 ABOUT-apples ABOUT-pears']);
  expect(bus.from('worker').map(({ message }) => message.host)).toEqual(['ant']);
});

it('a message to everybody is run by one host of a pool, and by each host of any other actor', async () => {
  const [bus, ant, bee] = await pool('echo done', 2);
  for (const host of [ant, bee]) {
    host.declare({ worker: 'echo done', tester: 'echo tested' });
    await host.approve();
    await host.once();
  }
  await ant.send('all', 'one');
  await Promise.all([ant.once(), bee.once()]);
  for (const host of [ant, bee]) await host.once();
  expect(answers(bus)).toEqual(['done']);
  expect(bus.from('tester')).toHaveLength(2);
});
