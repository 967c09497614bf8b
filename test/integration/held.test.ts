import { expect, it } from 'vitest';
import { Publisher } from '../../src/bus/publisher.ts';
import type { LookForSecrets } from '../../src/bus/screening.ts';
import { Outbox, type OutboxEntry } from '../../src/state/outbox.ts';
import { scratch } from '../support/bus.ts';

const FOUND = [{ kind: 'a GitHub token', where: 'the message', line: 1 }];

function entryOf(id: string, text: string): OutboxEntry {
  return {
    id,
    commits: [
      {
        author: { name: 'anna', email: 'anna@laptop.crosstalk.local' },
        at: '2026-06-09T10:11:12.131Z',
        subject: 'crosstalk: message from anna',
        files: [{ path: `data/${id}.md`, content: text }],
      },
    ],
  };
}

/** A publisher whose remote takes everything, and what it was given. */
function publisherOf(
  outbox: Outbox,
  lookForSecrets: LookForSecrets,
): { publisher: Publisher; pushed: string[] } {
  const pushed: string[] = [];
  const publisher = new Publisher({
    outbox,
    lookForSecrets,
    publish: (entries) => {
      for (const { files } of entries.flat()) for (const { content } of files) pushed.push(content);
      return Promise.resolve({ ok: true, tip: '', commits: 1, attempts: 1, refused: [] });
    },
    lock: () => Promise.resolve({ ok: true, release: () => Promise.resolve() }),
    now: () => new Date('2026-06-09T10:11:12.131Z'),
  });
  return { publisher, pushed };
}

it('what cannot be searched neither leaves nor is lost, and its neighbours are pushed', async () => {
  const outbox = new Outbox(scratch());
  for (const [id, text] of [
    ['A', 'one'],
    ['B', 'unreadable'],
    ['C', 'three'],
  ] as const)
    await outbox.put(entryOf(id, text));
  let isBroken = true;
  const { publisher, pushed } = publisherOf(outbox, ({ id }) =>
    id === 'B' && isBroken ? Promise.reject(new Error('no rules')) : Promise.resolve([]),
  );
  const reason = 'it cannot be searched for secrets, and does not leave before that: no rules';
  expect(await publisher.publish('B')).toEqual({
    published: false,
    failure: { kind: 'other', reason },
  });
  expect(pushed).toEqual(['one', 'three']);
  expect((await outbox.all()).map(({ id }) => id)).toEqual(['B']);
  expect(await outbox.held()).toEqual([]);
  expect(publisher.failing?.reason).toBe(reason);
  isBroken = false;
  await publisher.flush();
  expect(pushed).toEqual(['one', 'three', 'unreadable']);
  expect(publisher.failing).toBeUndefined();
});

it('a held entry is in one place, over each way in and out of it', async () => {
  const outbox = new Outbox(scratch());
  const { publisher, pushed } = publisherOf(outbox, ({ allowed }) =>
    Promise.resolve(allowed === true ? [] : FOUND),
  );
  const settled: string[] = [];
  publisher.events.on('held', ({ id }) => settled.push(id));
  const entry = {
    ...entryOf('01J0000000000000000000000A', 'secret'),
    delivery: { actor: 'worker', channel: 'c', messages: ['m'] },
  };
  await outbox.put(entry);
  expect(await publisher.publish(entry.id)).toEqual({
    published: false,
    failure: { kind: 'secret', reason: 'a GitHub token in line 1 of the message' },
  });
  expect(settled).toEqual([entry.id]);
  const held = { ...entry, held: FOUND, at: '2026-06-09T10:11:12.131Z' };
  expect(await outbox.held()).toEqual([held]);
  expect(await outbox.all()).toEqual([]);
  expect(await outbox.isEmpty()).toBe(true);

  await outbox.markTold(entry.id);
  // A command that does the same once more changes nothing, and nobody is told again.
  await outbox.put(entry);
  expect((await outbox.all()).length + (await outbox.held()).length).toBe(1);
  await publisher.flush();
  expect(await outbox.all()).toEqual([]);
  await outbox.hold(entry, FOUND, held.at);
  expect(await outbox.held()).toHaveLength(1);

  expect(await outbox.release(entry.id)).toBe(true);
  expect(await outbox.release(entry.id)).toBe(false);
  expect(await outbox.all()).toEqual([{ ...entry, allowed: true }]);
  expect(await outbox.held()).toEqual([]);
  await publisher.flush();
  expect(pushed).toEqual(['secret']);
  expect(await outbox.all()).toEqual([]);
});

it('the files of what is held stay, and go with it when it is dropped', async () => {
  const outbox = new Outbox(scratch());
  const bytes = Buffer.from('secret');
  const sha256 = 'a'.repeat(64);
  const plain = entryOf('01J0000000000000000000000A', 'see the file');
  const [commit] = plain.commits;
  if (commit === undefined) throw new Error('no commit');
  const blobs = [{ path: `data/files/aa/${sha256}`, sha256, bytes: 6, kept: plain.id }];
  const entry = { ...plain, commits: [{ ...commit, blobs }] };
  await outbox.files.put(entry.id, sha256, bytes);
  await outbox.put(entry);
  await outbox.hold(entry, FOUND, '2026-06-09T10:11:12.131Z');
  await outbox.sweepFiles(new Date(Date.now() + 10 * 86_400_000));
  const kept = (): Promise<string[]> => filesIn(outbox);
  expect(await kept()).toHaveLength(1);
  expect(await outbox.release(entry.id)).toBe(true);
  await outbox.hold({ ...entry, allowed: true }, FOUND, '2026-06-09T10:11:12.131Z');
  await outbox.drop(entry.id);
  expect(await kept()).toEqual([]);
  expect([...(await outbox.all()), ...(await outbox.held())]).toEqual([]);
});

async function filesIn({ files }: Outbox): Promise<string[]> {
  const { readdir } = await import('node:fs/promises');
  return readdir(files.folder);
}
