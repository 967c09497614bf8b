import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Bus, scratch, type Host } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { setBack, tipOf } from '../support/history.ts';
import { rowsIn } from '../support/rows.ts';
import { until } from '../support/wait.ts';

/** A machine whose dispatcher has seen the bus, and no longer runs. */
async function machine(): Promise<{ bus: Bus; host: Host; seen: string }> {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo done' });
  await host.once();
  return { bus, host, seen: tipOf(bus) };
}

const bodies = (bus: Bus): string[] =>
  bus
    .messages()
    .map(({ message }) => message.body.trim())
    .sort();

/** The remote accepts a push and dies before it reports that. */
async function unanswered(bus: Bus, push: () => Promise<unknown>): Promise<void> {
  const hook = join(bus.hub, 'hooks', 'post-receive');
  writeFileSync(hook, '#!/bin/sh\nkill -9 $PPID\n', { mode: 0o755 });
  await push();
  rmSync(hook);
}

it('what was sent while no dispatcher ran comes back also when the branch was set back to one commit twice', async () => {
  const { bus, host, seen } = await machine();
  for (const body of ['one', 'two']) {
    await host.send('nobody', body);
    setBack(bus, seen);
  }
  await host.send('nobody', 'three');
  await host.once();
  expect(bodies(bus)).toEqual(['one', 'three', 'two']);
});

it('what stands on a branch that was set back because it was still to be sent keeps nothing else away', async () => {
  const { bus, host, seen } = await machine();
  await host.send('nobody', 'one');
  await unanswered(bus, async () => {
    const sent = await host.run('send', '--to', 'nobody', 'two');
    expect(sent.out).toMatch(/^Queued: /);
  });
  await host.news();
  setBack(bus, seen);
  await host.send('nobody', 'three');
  await host.once();
  expect(bodies(bus)).toEqual(['one', 'three', 'two']);
});

it('what was sent while a history stood there that has nothing in common comes back with the one before', async () => {
  const { bus, host, seen } = await machine();
  const other = git(bus.hub, 'commit-tree', `${seen}^{tree}`, '-m', 'all in one').trim();
  setBack(bus, other);
  await host.once();
  await host.send('worker', 'one');
  await host.once();
  expect(bodies(bus)).toEqual(['done', 'one']);
  setBack(bus, seen);
  await host.send('nobody', 'two');
  await host.once();
  await host.once();
  expect(bodies(bus)).toEqual(['done', 'one', 'two']);
});

it('what was taken off the bus with the history it was in stays off', async () => {
  const { bus, host, seen } = await machine();
  await host.send('nobody', 'one');
  await host.once();
  setBack(bus, git(bus.hub, 'commit-tree', `${seen}^{tree}`, '-m', 'all in one').trim());
  const log = await host.once();
  await host.once();
  expect(bodies(bus)).toEqual([]);
  expect(log).toContainEqual(
    expect.objectContaining({ event: 'cursor_lost', published_again: 0, gone: 1 }),
  );
});

it(
  'what was sent to another transport in the place of this one is not taken along when this one is back',
  { tags: 'long' },
  async () => {
    const { bus, host, seen } = await machine();
    const folder = `data/channels/${host.channel()}`;
    const clone = scratch();
    git(clone, 'clone', '--quiet', bus.hub, '.');
    git(clone, 'checkout', '--quiet', '--orphan', 'other');
    git(clone, 'mv', folder, 'data/channels/00000000-0000-4000-8000-000000000000');
    git(clone, 'commit', '--quiet', '--message', 'another transport');
    git(clone, 'push', '--quiet', '--force', 'origin', 'other:main');
    await host.once();
    await host.send('nobody', 'one');
    expect(bodies(bus)).toEqual(['one']);
    setBack(bus, seen);
    await host.once();
    await host.once();
    expect(bodies(bus)).toEqual([]);
  },
);

it('what was sent to a branch that was followed for a while is not taken along when the one before is followed again', async () => {
  const { bus, host, seen } = await machine();
  const other = git(bus.hub, 'commit-tree', `${seen}^{tree}`, '-m', 'another bus').trim();
  git(bus.hub, 'update-ref', 'refs/heads/trial', other);
  const follow = async (branch: string): Promise<void> => {
    git(host.dir, 'config', 'crosstalk.branch', branch);
    await host.accept();
    await host.once();
  };
  await host.send('nobody', 'one');
  await host.once();
  await follow('trial');
  await host.send('nobody', 'a trial');
  await host.once();
  await follow('main');
  await host.once();
  expect(bodies(bus)).toEqual(['one']);
});

it('what a machine with the same hostname has brought back, which knew less, keeps nothing else away', async () => {
  const { bus, host, seen } = await machine();
  const lagging = await bus.host('back', { other: 'true' });
  await lagging.once();
  await host.once();
  const before = tipOf(bus);
  expect(before).not.toBe(seen);
  await host.send('nobody', 'one');
  await lagging.once();
  await host.send('nobody', 'two');
  await host.once();
  for (const last of ['three', 'four']) {
    setBack(bus, before);
    await lagging.send('nobody', last);
    await lagging.once();
    await host.once();
    await lagging.once();
  }
  expect(bodies(bus)).toEqual(['four', 'one', 'three', 'two']);
});

it('what was published again comes back once more when the branch is set to where it was lost before', async () => {
  const { bus, host, seen } = await machine();
  await host.send('nobody', 'one');
  await host.once();
  const old = tipOf(bus);
  setBack(bus, seen);
  await host.once();
  await host.once();
  await host.send('nobody', 'two');
  await host.once();
  expect(bodies(bus)).toEqual(['one', 'two']);
  setBack(bus, old);
  await host.once();
  await host.once();
  expect(bodies(bus)).toEqual(['one', 'two']);
});

it('the same where this machine has not seen what it is set to', { tags: 'long' }, async () => {
  const { bus, host, seen } = await machine();
  const other = await bus.host('back', { other: 'true' });
  await host.once();
  const before = tipOf(bus);
  expect(before).not.toBe(seen);
  await other.send('nobody', 'one');
  await other.once();
  await host.send('nobody', 'two');
  const old = tipOf(bus);
  setBack(bus, before);
  await other.once();
  await other.once();
  rmSync(join(host.state, 'git', 'logs'), { recursive: true });
  await host.once();
  await host.send('nobody', 'three');
  await host.once();
  await other.once();
  expect(bodies(bus)).toEqual(['one', 'three', 'two']);
  setBack(bus, old);
  await host.once();
  await host.once();
  expect(bodies(bus)).toEqual(['one', 'three', 'two']);
});

it(
  'what somebody took out on purpose stays out when the branch is set back later, also after a start',
  { tags: 'long' },
  async () => {
    const { bus, host, seen } = await machine();
    const secret = await host.send('nobody', 'a secret');
    await host.send('worker', 'one');
    await host.once();
    await host.once();
    const clone = scratch();
    git(clone, 'clone', '--quiet', '--no-local', bus.hub, '.');
    git(clone, 'reset', '--quiet', '--soft', seen);
    git(clone, 'rm', '--quiet', '--force', `data/channels/${host.channel()}/${secret}`);
    git(clone, 'commit', '--quiet', '--message', 'all in one, without the secret');
    git(clone, 'push', '--quiet', '--force', 'origin', 'HEAD:main');
    await host.once();
    expect(bodies(bus)).toEqual(['done', 'one']);
    setBack(bus, seen);
    for (let pass = 0; pass < 2; pass++) await host.once();
    expect(bodies(bus)).toEqual(['done', 'one']);
  },
);

it('what somebody takes out of what was published again stays out', async () => {
  const { bus, host, seen } = await machine();
  const secret = await host.send('nobody', 'a secret');
  await host.send('nobody', 'one');
  await host.once();
  setBack(bus, seen);
  await host.once();
  await host.once();
  expect(bodies(bus)).toEqual(['a secret', 'one']);
  const clone = scratch();
  git(clone, 'clone', '--quiet', '--no-local', bus.hub, '.');
  git(clone, 'reset', '--quiet', '--soft', seen);
  git(clone, 'rm', '--quiet', '--force', `data/channels/${host.channel()}/${secret}`);
  git(clone, 'commit', '--quiet', '--message', 'all in one, without the secret');
  git(clone, 'push', '--quiet', '--force', 'origin', 'HEAD:main');
  for (let pass = 0; pass < 2; pass++) await host.once();
  expect(bodies(bus)).toEqual(['one']);
});

it('a question that is off the bus when it is tried again is answered once it is back', async () => {
  const bus = new Bus();
  const flag = join(bus.root, 'flag');
  const cli = `if test -e ${flag}; then echo fine; else touch ${flag}; exit 1; fi`;
  const front = await bus.host('front', { shaky: { default: { cli, retry_delay: '2s' } } });
  const back = await bus.host('back', {});
  await front.once();
  const before = tipOf(bus);
  await back.send('shaky', 'please');
  await front.once();
  setBack(bus, before);
  await until('the retry', async () => {
    await front.once();
    return rowsIn(front.state, 'dead-letter').length === 0;
  });
  expect(bus.from('shaky')).toEqual([]);
  await back.run('sync');
  await front.once();
  expect(bus.from('shaky').map(({ message }) => message.body)).toEqual(['fine\n']);
});

it('a question is not run again whose answer a command has published, and somebody has taken out', async () => {
  const bus = new Bus();
  const [ledger, gone] = [join(bus.root, 'ledger'), `${bus.hub}.unplugged`];
  const host = await bus.host('front', {
    worker: `test -e ${ledger} || mv ${bus.hub} ${gone}; echo run >> ${ledger}; echo done`,
  });
  await host.once();
  const seen = tipOf(bus);
  const question = await host.send('worker', 'please');
  const stopped = await host.run('dispatch', '--once', '--host', host.alias);
  expect(stopped.err).toContain('still in the outbox: 1');
  bus.plug();
  await host.run('sync');
  const [answer] = bus.from('worker');
  const clone = scratch();
  git(clone, 'clone', '--quiet', '--no-local', bus.hub, '.');
  git(clone, 'reset', '--quiet', '--soft', seen);
  const path = `data/channels/${host.channel()}/${answer?.relPath ?? ''}`;
  git(clone, 'rm', '--quiet', '--force', path);
  git(clone, 'commit', '--quiet', '--message', 'all in one, without the answer');
  git(clone, 'push', '--quiet', '--force', 'origin', 'HEAD:main');
  for (let pass = 0; pass < 2; pass++) await host.once();
  expect(bus.messages().map(({ relPath }) => relPath)).toEqual([question]);
  expect(readFileSync(ledger, 'utf8')).toBe('run\n');
});
