import { mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openTransport } from '../../src/actions/context.ts';
import { Written } from '../../src/state/written.ts';
import { Store } from '../../src/store/store.ts';
import { agent } from '../support/agents.ts';
import { Bus, type Host, type Running } from '../support/bus.ts';
import { command, type Ran } from '../support/command.ts';
import { git } from '../support/git.ts';
import { setBack, tipOf } from '../support/history.ts';
import { until } from '../support/wait.ts';

/** Git in another clone, whose owner does whatever they like with the branch. */
function elsewhere(bus: Bus): (...args: string[]) => string {
  const clone = mkdtempSync(join(bus.root, 'clone-'));
  git(clone, 'clone', '--quiet', bus.hub, '.');
  return (...args) => git(clone, ...args);
}

/** A machine whose worker answers its messages and counts its runs, and its dispatcher. */
async function machine(bus: Bus): Promise<{ host: Host; running: Running; runs: () => number }> {
  const ledger = join(bus.root, 'ledger');
  const host = await bus.host('front', {
    worker: `echo run >> ${ledger}; sed -n '/^--- Message/,$p' | tail -n 1`,
  });
  const runs = (): number => readFileSync(ledger, 'utf8').trim().split('\n').length;
  return { host, running: host.start(), runs };
}

const answered = (bus: Bus): string[] =>
  bus
    .from('worker')
    .flatMap(({ message }) => message.re)
    .sort();

async function ask(bus: Bus, host: Host, ...questions: string[]): Promise<string[]> {
  const sent: string[] = [];
  for (const question of questions)
    sent.push(await host.send('worker', question, '--from', question));
  await until('the answers', () => sent.every((relPath) => answered(bus).includes(relPath)));
  return sent;
}

/** Waits until the dispatcher has seen the current tip of the bus. */
async function seen(bus: Bus, running: Running): Promise<void> {
  const tip = git(bus.hub, 'rev-parse', 'main').trim();
  await running.saw('tick', (event) => event['tip'] === tip);
}

it('what is removed and reverted while the dispatcher runs is not answered again', async () => {
  const bus = new Bus();
  const { host, running, runs } = await machine(bus);
  const sent = await ask(bus, host, 'one', 'two', 'three');
  const clone = elsewhere(bus);
  clone('rm', '--quiet', '-r', 'data');
  clone('commit', '--quiet', '--message', 'remove everything');
  clone('push', '--quiet');
  await seen(bus, running);
  clone('revert', '--no-edit', 'HEAD');
  clone('push', '--quiet');
  await seen(bus, running);
  const [last] = await ask(bus, host, 'four');
  expect(runs()).toBe(4);
  expect(answered(bus)).toEqual([...sent, last].sort());
});

it(
  'a question that comes back alone, while its answer stayed, is not answered again, nor is one whose answer is gone',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const { host, running, runs } = await machine(bus);
    const [first, second] = await ask(bus, host, 'one', 'two');
    const clone = elsewhere(bus);
    const folder = `data/channels/${host.channel()}`;
    const answer = bus.from('worker').find(({ message }) => message.re.includes(second ?? ''));
    const removed = [first, second, answer?.relPath].map((relPath) => `${folder}/${relPath ?? ''}`);
    clone('rm', '--quiet', ...removed);
    clone('commit', '--quiet', '--message', 'remove some');
    clone('push', '--quiet');
    await seen(bus, running);
    clone('checkout', '--quiet', 'HEAD~1', '--', ...removed.slice(0, 2));
    clone('commit', '--quiet', '--message', 'put the questions back');
    clone('push', '--quiet');
    await seen(bus, running);
    const [last] = await ask(bus, host, 'three');
    expect(runs()).toBe(3);
    expect(answered(bus)).toEqual([first, last].sort());
  },
);

it('what this machine has sent and answered is published again when the branch was set back, and not paid for twice', async () => {
  const bus = new Bus();
  const { host, running, runs } = await machine(bus);
  const before = git(bus.hub, 'rev-parse', 'main').trim();
  const sent = await ask(bus, host, 'one', 'two', 'three');
  const unanswered = await host.send('nobody', 'a note');
  const held = bus.messages().map(({ relPath }) => relPath);
  await seen(bus, running);
  const newest = tipOf(bus);
  setBack(bus, before);
  expect(await running.saw('remote_behind')).toMatchObject({ tip: before, newest });
  const lost = await running.saw('cursor_lost');
  expect(lost).toMatchObject({ published_again: 7, gone: 0 });
  await until('what was there', () => bus.messages().length === held.length);
  expect(bus.messages().map(({ relPath }) => relPath)).toEqual(held);
  expect(held).toContain(unanswered);
  await ask(bus, host, 'four');
  expect(runs()).toBe(4);
  expect(answered(bus)).toHaveLength(sent.length + 1);
});

it(
  'the same after a start, and of two machines each brings back its own',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const ledger = join(bus.root, 'ledger');
    const front = await bus.host('front', { other: 'true' });
    const back = await bus.host('back', { worker: `echo run >> ${ledger}; echo done` });
    await back.once();
    await front.once();
    const before = git(bus.hub, 'rev-parse', 'main').trim();
    const question = await front.send('worker', 'hello');
    await back.once();
    await front.once();
    const [answer] = bus.from('worker');
    git(bus.hub, 'update-ref', 'refs/heads/main', before);
    for (let pass = 0; pass < 2; pass++) {
      await back.once();
      await front.once();
    }
    expect(bus.messages().map(({ relPath }) => relPath)).toEqual([question, answer?.relPath]);
    expect(readFileSync(ledger, 'utf8')).toBe('run\n');
  },
);

it(
  'an answer that is on the bus before the task it answers is back wakes whoever gave that task',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const front = await bus.host('front', { boss: agent('boss') });
    const back = await bus.host('back', { worker: 'echo done' });
    const goal = await front.send('boss', 'paint it');
    const before = git(bus.hub, 'rev-parse', 'main').trim();
    await front.once();
    await back.once();
    expect(bus.from('worker')).toHaveLength(1);
    git(bus.hub, 'update-ref', 'refs/heads/main', before);
    await back.once();
    expect([bus.from('boss'), bus.from('worker')]).toEqual([[], [expect.anything()]]);
    for (let pass = 0; pass < 3; pass++) await front.once();
    const answers = bus.from('boss').filter(({ message }) => message.re.includes(goal));
    expect(answers.map(({ message }) => message.body.trim())).toEqual(['boss reports: done']);
  },
);

it('a message that was taken out of the history on purpose stays out, and a question whose answer was is not asked again', async () => {
  const bus = new Bus();
  const { host, running, runs } = await machine(bus);
  const [, second = ''] = await ask(bus, host, 'one', 'two', 'three');
  const [answer] = bus.from('worker').filter(({ message }) => message.re.includes(second));
  const secret = await host.send('nobody', 'a secret');
  await seen(bus, running);
  const clone = elsewhere(bus);
  const folder = `data/channels/${host.channel()}`;
  clone('reset', '--quiet', '--soft', 'HEAD~6');
  clone('rm', '--quiet', '--force', `${folder}/${secret}`, `${folder}/${answer?.relPath ?? ''}`);
  clone('commit', '--quiet', '--message', 'without the secret');
  clone('push', '--quiet', '--force');
  expect(await running.saw('cursor_lost')).toMatchObject({ published_again: 0, gone: 2 });
  await seen(bus, running);
  await ask(bus, host, 'four');
  expect(runs()).toBe(4);
  expect(answered(bus)).not.toContain(second);
  expect(bus.messages().map(({ relPath }) => relPath)).not.toContain(secret);
});

it(
  'what somebody put into a commit of their own comes back when the branch is set back before it',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const { host, running, runs } = await machine(bus);
    const before = tipOf(bus);
    const sent = await ask(bus, host, 'one', 'two');
    const secret = await host.send('nobody', 'a secret');
    await seen(bus, running);
    const clone = elsewhere(bus);
    clone('reset', '--quiet', '--soft', before);
    clone('rm', '--quiet', '--force', `data/channels/${host.channel()}/${secret}`);
    clone('commit', '--quiet', '--message', 'all in one, without the secret');
    clone('push', '--quiet', '--force');
    expect(await running.saw('cursor_lost')).toMatchObject({ published_again: 0, gone: 1 });
    await seen(bus, running);
    const held = bus.messages().map(({ relPath }) => relPath);
    const squashed = tipOf(bus);
    setBack(bus, before);
    const lost = await running.saw('cursor_lost', ({ cursor }) => cursor === squashed);
    expect(lost).toMatchObject({ published_again: 4, gone: 0 });
    await until('what was there', () => bus.messages().length === held.length);
    expect(bus.messages().map(({ relPath }) => relPath)).toEqual(held);
    await seen(bus, running);
    setBack(bus, squashed);
    await ask(bus, host, 'three');
    expect(answered(bus).slice(0, 2)).toEqual([...sent].sort());
    expect(runs()).toBe(3);
  },
);

it(
  'what is lost a second time, in the very same commits, is brought back a second time',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const { host, running, runs } = await machine(bus);
    const before = tipOf(bus);
    await ask(bus, host, 'one', 'two');
    const held = bus.messages().length;
    for (let time = 1; time <= 3; time++) {
      await seen(bus, running);
      setBack(bus, before);
      await until('what was there', () => bus.messages().length === held);
      await until('it is said', () => running.count('cursor_lost') >= time);
    }
    expect(runs()).toBe(2);
  },
);

it(
  'what had been removed, or edited, stays so when the rest is brought back',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const { host, running } = await machine(bus);
    const before = tipOf(bus);
    const folder = `data/channels/${host.channel()}`;
    const removed = await host.send('nobody', 'a secret');
    const edited = await host.send('nobody', 'a word');
    host.remove(`${folder}/${removed}`);
    const content = git(bus.hub, 'show', `main:${folder}/${edited}`);
    host.edit({ [`${folder}/${edited}`]: content.replace('a word', 'another') });
    await seen(bus, running);
    setBack(bus, before);
    expect(await running.saw('cursor_lost')).toMatchObject({ published_again: 1, gone: 0 });
    await until('the rest', () => bus.messages().length > 0);
    expect(bus.messages().map(({ relPath, message }) => [relPath, message.body.trim()])).toEqual([
      [edited, 'another'],
    ]);
  },
);

it(
  'a task that a run handed on before it was killed answers nothing when it is brought back',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', {
      boss: 'test -e handed-on && echo done || { touch handed-on; crosstalk send --to nobody part; sleep 60; }',
    });
    host.declare({ nobody: 'true' }, 'away');
    const running = host.start('--grace', '0');
    const question = await host.send('boss', 'goal', '--from', 'alice');
    const before = tipOf(bus);
    await until('the part', () => bus.from('boss').length === 1);
    await seen(bus, running);
    await running.stop();
    setBack(bus, before);
    for (let start = 0; start < 2; start++) await host.once();
    expect(bus.from('boss').map(({ message }) => message.re)).toEqual([[], [question]]);
  },
);

it('after an archive a rewritten history is still told from one', { tags: 'long' }, async () => {
  const bus = new Bus();
  const { host, running, runs } = await machine(bus);
  await ask(bus, host, 'one');
  await running.stop();
  const old = 'from: ann\nto: nobody\ntype: text\ntimestamp: 2000-01-01T00:00:00Z';
  const path = `data/channels/${host.channel()}/2000/01/01/000000000Z-aaaaaaaa.md`;
  host.edit({ [path]: `---\n${old}\n---\n\nold\n` });
  const bundle = join(bus.root, 'old.bundle');
  const which = ['--before', '2001-01-01', '--with-waiting'];
  const archived = await host.run('archive', ...which, '--bundle', bundle, '--yes');
  expect(archived.out).toContain('1 archived');
  await host.once();
  const before = git(bus.hub, 'rev-parse', 'main').trim();
  await host.send('worker', 'two');
  await host.once();
  git(bus.hub, 'update-ref', 'refs/heads/main', before);
  const log = await host.once();
  expect(log.map(({ event }) => event)).toContain('cursor_lost');
  expect(log.map(({ event }) => event)).not.toContain('epoch_begun');
  expect(bus.from('worker')).toHaveLength(2);
  expect(runs()).toBe(2);
});

it(
  'what was met with silence is not run again when the history is rewritten',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const ledger = join(bus.root, 'ledger');
    const host = await bus.host('front', { worker: `echo run >> ${ledger}` });
    await host.once();
    await host.send('worker', 'one');
    await host.send('worker', 'two');
    await host.once();
    expect(readFileSync(ledger, 'utf8')).toBe('run\n');
    const clone = elsewhere(bus);
    clone('commit', '--quiet', '--amend', '--message', 'another word');
    clone('push', '--quiet', '--force');
    const log = await host.once();
    expect(log.map(({ event }) => event)).toContain('cursor_lost');
    expect(readFileSync(ledger, 'utf8')).toBe('run\n');
  },
);

it('a coordinator whose clock is days behind has answered all the same: its fan-in is not run again', async () => {
  const bus = new Bus();
  const ledger = join(bus.root, 'ledger');
  const host = await bus.host('front', { boss: `echo run >> ${ledger}; echo again` });
  const folder = `data/channels/${host.channel()}`;
  const put = (relPath: string, head: string): void => {
    host.edit({ [`${folder}/${relPath}`]: `---\n${head}type: text\n---\n\ntext\n` });
  };
  const [goal, task] = ['2026/11/20/100000000Z-aaaaaaaa.md', '2026/11/10/100000000Z-bbbbbbbb.md'];
  const [part, whole] = ['2026/11/20/100500000Z-cccccccc.md', '2026/11/10/100700000Z-dddddddd.md'];
  put(goal, 'from: ann\nto: boss\ntimestamp: 2026-11-20T10:00:00Z\n');
  put(task, `from: boss\nto: w\nhost: front\ntimestamp: 2026-11-10T10:00:00Z\ncause: ${goal}\n`);
  put(part, `from: w\nto: boss@front\ntimestamp: 2026-11-20T10:05:00Z\nre: ${task}\n`);
  put(whole, `from: boss\nto: ann\nhost: front\ntimestamp: 2026-11-10T10:07:00Z\nre: ${goal}\n`);
  const log = await host.once();
  expect(log.filter(({ event }) => event === 'dispatch_start')).toEqual([]);
});

it(
  'an answer that was taken out of the history stays out, although some cursor knows nothing newer',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const ledger = join(bus.root, 'ledger');
    const host = await bus.host('front', {
      worker: `echo run >> ${ledger}; echo done`,
      other: 'true',
    });
    await host.once();
    const first = await host.send('worker', 'one');
    await host.once();
    await host.once();
    const [answer] = bus.from('worker');
    await host.send('worker', 'two');
    await host.once();
    const clone = elsewhere(bus);
    const path = `data/channels/${host.channel()}/${answer?.relPath ?? ''}`;
    const added = clone('log', '--diff-filter=A', '--format=%H', '--', path).trim();
    clone('rebase', '--quiet', '--onto', `${added}^`, added);
    clone('push', '--quiet', '--force');
    const lost = (await host.once()).filter(({ event }) => event === 'cursor_lost');
    expect(lost).toMatchObject([{ published_again: 0, gone: 1 }]);
    expect(bus.messages().map(({ relPath }) => relPath)).not.toContain(answer?.relPath);
    expect(answered(bus)).not.toContain(first);
    expect(readFileSync(ledger, 'utf8')).toBe('run\n'.repeat(2));
  },
);

it(
  'what another process of this machine has sent is missed too, though no dispatcher has seen it on the bus',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'echo done' });
    const running = host.start('--interval', '600');
    await seen(bus, running);
    const before = tipOf(bus);
    const header =
      'from: ann\nto: worker\ntype: text\ntimestamp: 2026-01-01T00:00:00Z\nhost: front';
    const relPath = '2026/01/01/000000000Z-0123456789ab.md';
    const path = `data/channels/${host.channel()}/${relPath}`;
    const { transport } = await openTransport(host.dir, { ...process.env, ...host.env });
    const author = { name: 'ann', email: 'ann@front.crosstalk.local' };
    const files = [{ path, content: `---\n${header}\n---\n\nhello\n` }];
    const commits = [{ at: new Date(0).toISOString(), author, subject: 'one', files }];
    const written = new Written(host.state);
    await Store.at(host.state).write((database) => {
      written.note(database, { id: '', commits });
    });
    expect((await transport.publish([commits])).ok).toBe(true);
    setBack(bus, before);
    await transport.refresh();
    transport.close();
    await host.run('sync');
    await running.saw('cursor_lost');
    await until('the answer', () => answered(bus).includes(relPath));
  },
);

it(
  'what a machine has sent before its first dispatcher is brought back by that one',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'echo done' });
    const before = tipOf(bus);
    const first = await host.send('worker', 'one');
    setBack(bus, before);
    const second = await host.send('worker', 'two');
    for (let pass = 0; pass < 2; pass++) await host.once();
    expect(answered(bus)).toEqual([first, second].sort());
  },
);

it('another bus that is pushed in the place of this one is not followed, and mail waits until this one is back', async () => {
  const [bus, other] = [new Bus(), new Bus()];
  const { host, running } = await machine(bus);
  const asked = await ask(bus, host, 'one');
  const theirs = await other.host('other', { worker: 'echo no' });
  await theirs.send('worker', 'theirs');
  const instead = tipOf(other);
  elsewhere(other)('push', '--quiet', '--force', bus.hub, 'HEAD:main');
  const failed = await running.saw('fetch_failed', ({ kind }) => kind === 'another_bus');
  expect(failed['reason']).toContain(`refs/heads/main at ${bus.hub} is now`);
  const waits = await host.run('send', '--to', 'worker', 'two');
  expect([waits.out, waits.err]).toEqual([
    expect.stringContaining('Queued:'),
    expect.stringContaining('another bus stands in the place of this one'),
  ]);
  const status = JSON.parse((await host.run('status', '--json')).out) as {
    dispatcher: { fetch_failing: { reason: string } };
  };
  expect(JSON.stringify(status.dispatcher)).toContain('another bus stands');
  expect((await host.run('log')).out).not.toContain('theirs');
  expect([tipOf(bus), running.count('cursor_lost')]).toEqual([instead, 0]);

  const recreated = await host.run('sync', '--recreate');
  expect(recreated.code, recreated.err).toBe(0);
  await until('the second answer', () => answered(bus).length === 2);
  expect(answered(bus)).toContain(asked[0]);
  const kept = `refs/heads/main-replaced-${instead.slice(0, 12)}`;
  expect(git(bus.hub, 'rev-parse', kept).trim()).toBe(instead);
});

it('a bus without a remote does not go over to another one that is at the remote it is given', async () => {
  const bus = new Bus();
  await bus.host('front', { worker: 'echo no' });
  const before = tipOf(bus);
  const dir = join(bus.root, 'solo');
  const options = { cwd: bus.root, env: { CROSSTALK_STATE_DIR: join(bus.root, 'state') } };
  const run = (...argv: string[]): Promise<Ran> => command(argv, options);
  await run('init', dir, '--alias', 'solo', '--cli', 'cat', '--from', 'ann');
  git(dir, 'remote', 'add', 'origin', bus.hub);
  const shown = await run('host', 'show', '--json', '--transport', dir);
  const { held } = JSON.parse(shown.out) as { held: { digest: string }[] };
  await run('host', 'approve', ...held.map(({ digest }) => digest), '--transport', dir);
  const sent = await run('send', '--to', 'concierge', 'mine', '--transport', dir);
  expect([sent.out, sent.err]).toEqual([
    expect.stringContaining('Queued:'),
    expect.stringContaining('another bus stands in the place of this one'),
  ]);
  expect(tipOf(bus)).toBe(before);
  expect((await run('host', 'show', '--transport', dir)).out).toContain('solo');
});
