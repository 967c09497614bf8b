import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { inTurns } from '../../src/actions/publishing.ts';
import { Turns, type Turn } from '../../src/state/turn.ts';
import { TurnFolder } from '../../src/state/turn-board.ts';
import { Bus, scratch } from '../support/bus.ts';
import { command } from '../support/command.ts';
import { until } from '../support/wait.ts';

/** A turn that was waited for by somebody who knows that others push. */
async function turn(turns: Turns, offer: string): Promise<Turn> {
  turns.lostRace();
  const taken = await turns.take(() => offer);
  if (taken?.kind !== 'turn') throw new Error('no turn');
  return taken;
}

it('a lone writer takes no turns', async () => {
  const folder = scratch();
  expect(
    await new Turns(new TurnFolder(folder, 'remote'), Date.now).take(() => 'mine'),
  ).toBeUndefined();
  expect(readdirSync(folder)).toEqual([]);
});

it('turns are taken first come, first served, and each is told what the last left', async () => {
  const folder = scratch();
  const make = (): Turns => new Turns(new TurnFolder(folder, 'remote'), Date.now);
  const first = await turn(make(), 'first');
  const order: string[] = [];
  const others: Promise<void>[] = [];
  for (const name of ['second', 'third', 'fourth']) {
    others.push(
      turn(make(), name).then(async (taken) => {
        order.push(`${name} after ${taken.tip ?? ''}`);
        await taken.end(name);
      }),
    );
    await until('its ticket', () => tickets(folder).length === others.length || undefined);
  }
  await first.end('first');
  await Promise.all(others);
  expect(order).toEqual(['second after first', 'third after second', 'fourth after third']);
});

it('whoever has the turn may push for those who wait, who are told', async () => {
  const folder = scratch();
  const first = await turn(new Turns(new TurnFolder(folder, 'remote'), Date.now), 'first');
  const waiting = new Turns(new TurnFolder(folder, 'remote'), Date.now).take(() => 'second');
  await until('its ticket', () => tickets(folder).length === 1 || undefined);
  await first.end();
  const second = await waiting;
  expect(second).toMatchObject({ kind: 'turn', tip: undefined, waiting: [] });
  const third = new Turns(new TurnFolder(folder, 'remote'), Date.now).take(() => 'third');
  await until('its ticket', () => tickets(folder).length === 1 || undefined);
  if (second?.kind === 'turn') await second.end();
  const holder = await third;
  if (holder?.kind !== 'turn') throw new Error('no turn');
  const fourth = new Turns(new TurnFolder(folder, 'remote'), Date.now).take(() => 'fourth');
  await until('its ticket', () => tickets(folder).length === 1 || undefined);
  const fifth = await seenBy(folder);
  expect(fifth).toEqual([expect.stringContaining('fourth')]);
  await holder.end('tip', tickets(folder));
  expect(await fourth).toEqual({ kind: 'done', tip: 'tip' });
  expect(tickets(folder)).toEqual([]);
});

it.each([
  ['files that only its clone has', { blobs: [] }],
  ['a folder that it replaces', { clear: 'local' }],
  ['a condition', { requires: [{ path: 'local/a', oid: 'a'.repeat(40) }] }],
  ['a file that must not be there', { requires: [{ path: 'data/claims/1.md', oid: null }] }],
  [
    'a file of its own that must be new and is no message',
    {
      files: [{ path: 'data/claims/1.md', content: '' }],
      requires: [{ path: 'data/claims/1.md', oid: null }],
    },
  ],
  ['leave to be left out', { optional: true as const }],
])('a commit with %s is not offered to those who have the turn', async (_, more) => {
  const commit = { author: { name: 'a', email: 'a@b' }, at: '', subject: 's', files: [] };
  const offers: string[] = [];
  const turns: Pick<Turns, 'take' | 'lostRace'> = {
    lostRace: () => undefined,
    take: (offer) => {
      offers.push(offer());
      return Promise.resolve(undefined);
    },
  };
  const { take } = inTurns(turns as Turns);
  const { signal } = new AbortController();
  await take([commit, { ...commit, ...more }], signal);
  await take([commit], signal);
  expect(offers).toEqual(['', JSON.stringify([commit])]);
});

it('a folder that cannot be written and a holder that died stop nobody', async () => {
  const folder = scratch();
  writeFileSync(join(folder, 'file'), '');
  const without = new Turns(new TurnFolder(join(folder, 'file'), 'remote'), Date.now);
  without.lostRace();
  expect(await without.take(() => 'x')).toBeUndefined();
  const turns = new Turns(new TurnFolder(folder, 'remote'), Date.now);
  await (await turn(turns, 'x')).end('tip');
  const [name = ''] = readdirSync(folder).filter((entry) => entry !== 'file');
  mkdirSync(join(folder, name), { recursive: true });
  writeFileSync(join(folder, name, 'turn.lock'), '{"pid":999999999,"started":"1","since":""}');
  const queue = join(folder, name, 'queue');
  for (const left of [
    '0000000000000001-1-0',
    '0000000000000001-1-0.done',
    '0000000000000002-1-0.1.0.tmp',
  ])
    writeFileSync(join(queue, left), 'of a dead process');
  const after = await turn(turns, 'x');
  expect(after.tip).toBe('tip');
  await after.end();
  expect(readdirSync(queue)).toEqual([]);
});

it(
  'a message that a hook refuses does not take down those that were pushed along with it',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const hosts = [
      await bus.host('a', { worker: 'true' }),
      await bus.host('b', { worker: 'true' }),
      await bus.host('c', { worker: 'true' }),
    ];
    writeFileSync(
      join(bus.hub, 'hooks', 'update'),
      '#!/bin/sh\ngit log -p "$2..$3" | grep -q "forbidden word" && exit 1\nexit 0\n',
      { mode: 0o755 },
    );
    const outs = await Promise.all(
      hosts.flatMap((host) =>
        ['kind', 'forbidden', 'gentle'].map(async (word) =>
          command(['send', '--transport', host.dir, '--to', 'worker', `a ${word} word`], {
            cwd: bus.root,
            env: host.env,
          }),
        ),
      ),
    );
    expect(outs.map(({ out }) => out.split(':')[0]).sort()).toEqual([
      ...Array<string>(3).fill('Queued'),
      ...Array<string>(6).fill('Sent'),
    ]);
    expect(bus.messages().map(({ message }) => message.body)).toHaveLength(6);
  },
);

function tickets(folder: string): string[] {
  return queues(folder).flatMap((queue) =>
    readdirSync(queue).filter((entry) => /^\d{16}-\d+-\d+$/.test(entry)),
  );
}

/** The queues of a folder, beside the key with which offers are sealed. */
function queues(folder: string): string[] {
  const names = readdirSync(folder).filter((name) => name !== 'state.key');
  return names.map((name) => join(folder, name, 'queue'));
}

async function seenBy(folder: string): Promise<string[]> {
  const { readFileSync } = await import('node:fs');
  return queues(folder).flatMap((queue) =>
    tickets(folder).map((ticket) => readFileSync(join(queue, ticket), 'utf8')),
  );
}
