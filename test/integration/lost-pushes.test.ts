import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { acquire } from '../../src/state/lock.ts';
import { Bus, type Host } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { setBack, tipOf } from '../support/history.ts';
import { rowsIn } from '../support/rows.ts';
import { until } from '../support/wait.ts';

const bodies = (bus: Bus): string[] =>
  bus
    .messages()
    .map(({ message }) => message.body.trim())
    .sort();

const sync = (host: Host): Promise<unknown> => host.run('sync');
const status = (host: Host): Promise<unknown> => host.run('status');
const send = (host: Host): Promise<unknown> => host.send('nobody', 'more');

// What is run after the remote has lost a push, in which order.
const ORDERS: [string, ((host: Host) => Promise<unknown>)[]][] = [
  ['sync', [sync]],
  ['status, sync', [status, sync]],
  ['send', [send]],
  ['send, sync', [send, sync]],
  ['status, send', [status, send]],
  ['status, sync, send', [status, sync, send]],
];

it.each(ORDERS)(
  'what a remote loses after it has said that it has it comes back without a dispatcher: %s',
  async (_, commands) => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'true' });
    const other = await bus.host('side', {});
    const before = tipOf(bus);
    await host.send('nobody', 'lost');
    setBack(bus, before);
    for (const run of commands) await run(host);
    expect(bodies(bus)).toContain('lost');
    // What stands on the older state does not keep it away either.
    await host.send('nobody', 'lost too');
    setBack(bus, before);
    await other.send('nobody', 'from elsewhere');
    for (const run of commands) await run(host);
    expect(bodies(bus)).toEqual(
      expect.arrayContaining(['lost', 'lost too', 'from elsewhere']) as string[],
    );
    expect(new Set(bodies(bus).filter((body) => body !== 'more')).size).toBe(3);
  },
);

/** Removes the only message with some text from the bus, as anybody can. */
function takeOut(bus: Bus, host: Host, body: string): void {
  const found = bus.messages().find(({ message }) => message.body.trim() === body);
  host.remove(`data/channels/${found?.channel ?? ''}/${found?.relPath ?? ''}`);
}

it('what was taken out one by one does not come back by a command', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'true' });
  const before = tipOf(bus);
  await host.send('nobody', 'lost');
  const full = tipOf(bus);
  setBack(bus, before);
  await sync(host);
  takeOut(bus, host, 'lost');
  await sync(host);
  await host.send('nobody', 'more');
  await sync(host);
  expect(bodies(bus)).toEqual(['more']);
  // A mirror that lags shows what was before for a moment.
  const now = tipOf(bus);
  setBack(bus, full);
  await host.news();
  setBack(bus, now);
  await sync(host);
  expect(bodies(bus)).toEqual(['more']);
});

it('what a command has brought back and somebody took out does not come back by a dispatcher', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'true' });
  const before = tipOf(bus);
  await host.send('nobody', 'lost');
  await host.once();
  setBack(bus, before);
  await sync(host);
  expect(bodies(bus)).toEqual(['lost']);
  takeOut(bus, host, 'lost');
  await host.once();
  await host.once();
  expect(bodies(bus)).toEqual([]);
});

it('what the remote has lost comes back by sync where the command before was ended after its fetch', async () => {
  const bus = new Bus();
  const host = await bus.host('front', {});
  const before = tipOf(bus);
  await host.send('nobody', 'lost');
  setBack(bus, before);
  await host.news();
  await sync(host);
  expect(bodies(bus)).toEqual(['lost']);
});

it('what the remote has lost comes back where the log of its moves was cut off', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'true' });
  await host.once();
  await host.send('nobody', 'one');
  const before = tipOf(bus);
  writeFileSync(join(host.state, 'git/logs/refs/remotes/origin/main'), '');
  await host.send('nobody', 'lost');
  setBack(bus, before);
  await sync(host);
  expect(bodies(bus)).toEqual(['lost', 'one']);
});

it('a branch that is set back again and again fills no outbox', async () => {
  const bus = new Bus();
  const host = await bus.host('front', {});
  const before = tipOf(bus);
  for (const body of ['one', 'two']) await host.send('nobody', body);
  const full = tipOf(bus);
  for (let time = 0; time < 3; time++) {
    setBack(bus, before);
    const branch = git(bus.hub, 'commit-tree', `${full}^{tree}`, '-p', full, '-m', String(time));
    await host.run('log');
    setBack(bus, branch.trim());
    await host.run('log');
  }
  const { outbox } = JSON.parse((await host.run('status', '--json')).out) as { outbox: unknown[] };
  expect(outbox).toHaveLength(2);
  setBack(bus, before);
  await sync(host);
  expect(bodies(bus)).toEqual(['one', 'two']);
});

/** Puts commits on the branch that change nothing. */
function pile(bus: Bus, count: number): void {
  const commits = Array.from({ length: count }, (_, at) => {
    const from = at === 0 ? `from ${tipOf(bus)}\n` : '';
    return `commit refs/heads/main\ncommitter a <a@b> 1780000000 +0000\ndata 0\n${from}`;
  });
  execFileSync('git', ['-C', bus.hub, 'fast-import', '--quiet'], { input: commits.join('') });
}

it('what is lost comes back whatever others have piled on it', async () => {
  const bus = new Bus();
  const host = await bus.host('front', {});
  const before = tipOf(bus);
  await host.send('nobody', 'lost');
  pile(bus, 5001);
  await sync(host);
  setBack(bus, before);
  await sync(host);
  expect(bodies(bus)).toEqual(['lost']);
});

it('of a loss that is too much to be pushed again at once, the newest comes back, and the rest is named', async () => {
  const bus = new Bus();
  const host = await bus.host('front', {});
  const before = tipOf(bus);
  await host.send('nobody', 'oldest');
  const notes = join(bus.root, 'notes');
  mkdirSync(notes);
  for (let n = 0; n < 5000; n++)
    writeFileSync(
      join(notes, `20260101T000000000Z-${n.toString(16).padStart(12, '0')}.md`),
      `---\nsubject: s\nfrom: a\ntimestamp: 2026-01-01\n---\n\n${String(n)}\n`,
    );
  expect(await host.run('memory', 'import', notes)).toMatchObject({ code: 0 });
  await host.send('nobody', 'newest');
  const full = tipOf(bus);
  setBack(bus, before);
  const said = await host.run('sync');
  expect(bodies(bus)).toEqual(['newest']);
  expect(git(bus.hub, 'ls-tree', 'main', 'data/memories/').trim().split('\n')).toHaveLength(4999);
  expect(said.err).toContain('has lost 5000 files that this machine sent');
  expect(said.err).toContain(`2 files that this machine sent before, up to the commit ${full}`);
});

it('what a person has withdrawn, or given up, comes back by no set-back, and what was left alone does when asked for', async () => {
  const bus = new Bus();
  const host = await bus.host('front', {});
  const before = tipOf(bus);
  const withdrawn = await host.send('nobody', 'withdrawn');
  expect(await host.run('forget', withdrawn)).toMatchObject({
    code: 1,
    err: expect.stringContaining('is on the bus') as string,
  });
  await host.send('nobody', 'kept');
  setBack(bus, before);
  await host.run('log');
  // As the log shows it.
  const digits = /-(\w{8})/.exec(withdrawn)?.[1] ?? '';
  expect(await host.run('forget', digits)).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^Withdrawn: /) as string,
  });
  // As this command itself shows it.
  const whole = `data/channels/${host.channel()}/${withdrawn}`;
  expect((await host.run('forget', whole)).out).toContain(`Withdrawn: ${whole}`);
  expect((await host.run('forget', 'aaaaaaaaaaaa')).err).toContain(
    'has written no message "aaaaaaaaaaaa"',
  );
  await sync(host);
  expect(bodies(bus)).toEqual(['kept']);
  setBack(bus, before);
  expect((await host.run('sync', '--accept', '--republish')).code).toBe(2);
  expect((await host.run('sync', '--accept')).err).toContain('1 lost file given up');
  expect(bodies(bus)).toEqual([]);
  await host.run('sync', '--republish');
  expect(bodies(bus)).toEqual([]);

  // Somebody takes a part out on purpose, and this machine's person wants it back all the same.
  await host.send('nobody', 'one');
  const two = await host.send('nobody', 'two');
  host.edit({ 'local/note.md': 'a word\n' });
  await sync(host);
  const clone = join(bus.root, 'clone');
  git(bus.root, 'clone', '--quiet', '--no-local', bus.hub, clone);
  git(clone, 'reset', '--quiet', '--soft', before);
  git(clone, 'rm', '--quiet', '--force', `data/channels/${host.channel()}/${two}`);
  git(clone, 'commit', '--quiet', '--message', 'all in one');
  git(clone, 'push', '--quiet', '--force', 'origin', 'HEAD:main');
  await sync(host);
  expect(bodies(bus)).toEqual(['one']);
  await host.run('sync', '--republish');
  expect(bodies(bus)).toEqual(['one', 'two']);
});

it('nothing is withdrawn that comes back meanwhile', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'true' });
  const before = tipOf(bus);
  const sent = await host.send('nobody', 'no secret');
  const after = tipOf(bus);
  setBack(bus, before);
  const lock = await acquire(host.state, 'writer', { wait: 0 });
  const forgetting = host.run('forget', sent);
  await until('what is lost', () => rowsIn(host.state, 'outbox').length === 1);
  setBack(bus, after);
  await host.news();
  if (lock.ok) await lock.release();
  expect(await forgetting).toMatchObject({ code: 1, out: '' });
  expect((await forgetting).err).toContain(`${sent} is on the bus`);
});
