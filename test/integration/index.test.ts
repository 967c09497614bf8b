import { mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Index } from '../../src/index/index.ts';
import { searchIndex } from '../../src/index/search.ts';
import { messageFile, relPathAt } from '../../src/protocol/layout.ts';
import { formatMessage } from '../../src/protocol/message.ts';
import { withContext } from '../../src/actions/context.ts';
import { withIndex } from '../../src/actions/index/indexing.ts';
import { Bus, type Host } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { said } from '../support/messages.ts';
import { Program } from '../support/process.ts';
import { until } from '../support/wait.ts';

function inIndex<T>(host: Host, use: (index: Index) => T, notes: string[] = []): Promise<T> {
  const env = { ...process.env, ...host.env };
  return withContext(
    { env, cwd: host.dir },
    { transport: host.dir, note: (line) => notes.push(line) },
    (context) => withIndex(context, {}, use),
  );
}

/** The complete content of an index, independent of its internal numbers. */
function dump({ database }: Index): unknown {
  database.run(
    'CREATE VIRTUAL TABLE IF NOT EXISTS temp.instances USING fts5vocab(main, texts, instance)',
  );
  database.run(
    'CREATE VIRTUAL TABLE IF NOT EXISTS temp.noted USING fts5vocab(main, notes, instance)',
  );
  const place = 'c.uuid, m.day, m.clock, m.suffix';
  const of = 'JOIN messages m ON m.id = x.message JOIN channels c ON c.id = m.channel';
  const sorted = (sql: string): string[] =>
    database
      .all(sql)
      .map((row) => JSON.stringify(Object.values(row)))
      .sort();
  return {
    channels: sorted('SELECT uuid, name, messages, last FROM channels WHERE messages > 0'),
    messages: sorted(`SELECT ${place} FROM messages m JOIN channels c ON c.id = m.channel`),
    links: sorted(`SELECT ${place}, x.target, x.re FROM links x ${of}`),
    malformed: sorted('SELECT * FROM malformed'),
    words: sorted(
      `SELECT ${place}, x.term, x.col, x.offset FROM
       (SELECT doc AS message, term, col, "offset" FROM temp.instances WHERE col <> 'tags') x ${of}`,
    ),
    people: sorted(
      `SELECT ${place}, substr(x.term, 1, 1), n.name FROM
       (SELECT doc AS message, term FROM temp.instances WHERE col = 'tags') x ${of}
       JOIN names n ON n.id = substr(x.term, 2) WHERE x.term NOT LIKE 'c%'`,
    ),
    memories: sorted('SELECT file, scope FROM memories'),
    noted: sorted(
      'SELECT m.file, v.term, v.col, v."offset" FROM temp.noted v JOIN memories m ON m.id = v.doc',
    ),
  };
}

const CHANNELS = ['11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222'];
const relPaths = Array.from(
  { length: 8 },
  (_, n) => `2025/0${String(1 + (n % 3))}/01/1200000${String(n % 2)}0Z-0000000${String(n)}.md`,
).concat('2025/99/99/999999999Z-000000ff.md');
const relPath = fc.constantFrom(...relPaths);
const channel = fc.constantFrom(...CHANNELS);

const message = fc.record({
  from: fc.constantFrom('anna', 'bert'),
  to: fc.constantFrom('anna', '[bert, carla@x]'),
  re: fc.option(relPath),
  cause: fc.option(relPath),
  body: fc.constantFrom('one two', 'two three\nfour', 'Größe \u0000 NUL', ''),
});

/** A file to write; undefined content deletes it. */
const change = fc.oneof(
  {
    weight: 5,
    arbitrary: fc
      .tuple(channel, relPath, message)
      .map(([id, path, { from, to, re, cause, body }]) => ({
        path: `data/channels/${id}/${path}`,
        content: `---\nfrom: ${from}\nto: ${to}\ntype: text\ntimestamp: 2025-01-01T00:00:00Z\n${re === null ? '' : `re: ${re}\n`}${cause === null ? '' : `cause: ${cause}\n`}---\n\n${body}\n`,
      })),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(channel, relPath)
      .map(([id, path]) => ({ path: `data/channels/${id}/${path}`, content: undefined })),
  },
  fc
    .tuple(channel, relPath)
    .map(([id, path]) => ({ path: `data/channels/${id}/${path}`, content: 'no message' })),
  fc.tuple(channel, fc.constantFrom('Alpha', 'beta two')).map(([id, name]) => ({
    path: `data/channels/${id}/CHANNEL.md`,
    content: `---\nname: ${name} ${id.slice(0, 1)}\n---\n`,
  })),
  channel.map((id) => ({ path: `data/channels/${id}/CHANNEL.md`, content: undefined })),
  fc.constant({ path: `data/channels/${CHANNELS[0]!}/stray.txt`, content: 'x' }),
  fc.constantFrom('about tea', 'about coffee', undefined).map((subject) => ({
    path: 'data/memories/20250101T120000000Z-0000000a.md',
    content:
      subject === undefined
        ? undefined
        : `---\nfrom: anna\ntimestamp: 2025-01-01T00:00:00Z\nsubject: ${subject}\nalias: drinks\n---\n\nhot\n`,
  })),
);

/** What happens between two looks at the transport. */
const step = fc.record({
  changes: fc.array(change, { minLength: 1, maxLength: 6 }),
  how: fc.constantFrom('commit', 'commit', 'merge', 'rewrite'),
});

it(
  'an index that followed any history is the one that is built from its end',
  { tags: 'long' },
  async () => {
    const host = await new Bus().host('front', { worker: 'true' });
    const clone = join(host.bus.root, 'clone');
    git(host.bus.root, 'clone', '--quiet', host.bus.hub, clone);
    const apply = (changes: { path: string; content: string | undefined }[]): void => {
      for (const { path, content } of changes) {
        mkdirSync(dirname(join(clone, path)), { recursive: true });
        if (content === undefined) rmSync(join(clone, path), { force: true });
        else writeFileSync(join(clone, path), content);
      }
      git(clone, 'add', '--all');
      git(clone, 'commit', '--quiet', '--allow-empty', '-m', 'x');
    };
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 6 }), async (steps) => {
        for (const { changes, how } of steps) {
          if (how === 'rewrite' && git(clone, 'rev-list', '--count', 'HEAD').trim() !== '1')
            git(clone, 'reset', '--quiet', '--hard', 'HEAD~1');
          if (how === 'merge') {
            git(clone, 'checkout', '--quiet', '-b', 'side');
            apply(changes.slice(0, 1));
            git(clone, 'checkout', '--quiet', 'main');
          }
          apply(changes);
          if (how === 'merge') {
            try {
              git(clone, 'merge', '--quiet', '-X', 'ours', '-m', 'merge', 'side');
            } catch {
              // Edited here and deleted there: the edit is kept.
              git(clone, 'add', '--all');
              git(clone, 'commit', '--quiet', '-m', 'merge');
            }
            git(clone, 'branch', '--quiet', '-D', 'side');
          }
          git(clone, 'push', '--quiet', '--force', 'origin', 'main');
          await host.news();
          await inIndex(host, () => undefined);
        }
        const followed = await inIndex(host, dump);
        await host.run('index', '--rebuild');
        expect(followed).toEqual(await inIndex(host, dump));
      }),
      { numRuns: 12 },
    );
  },
);

it(
  'an index that finds no room is made in memory, says so, and goes on once there is room',
  { tags: 'long' },
  async () => {
    const host = await new Bus().host('front', { worker: 'true' });
    // The connection stays open, so the next update of the index meets the limit.
    const file = await inIndex(host, (index) => index);
    const limit = (pages: number) => file.database.get(`PRAGMA max_page_count = ${String(pages)}`);
    limit(1);
    await host.send('nobody', 'word '.repeat(100_000));
    const notes: string[] = [];
    const inMemory = await inIndex(host, dump, notes);
    expect(notes).toEqual([expect.stringMatching(/^the search index cannot be kept in .*full$/)]);
    limit(1_000_000);
    expect(await inIndex(host, (index) => index === file, notes)).toBe(true);
    expect(await inIndex(host, dump, notes)).toEqual(inMemory);
    expect(notes).toHaveLength(1);
  },
);

it(
  'a process that is killed while it indexes leaves an index that is brought to its end',
  { tags: 'slow' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'true' });
    const folder = `data/channels/${host.channel()}`;
    host.edit(
      Object.fromEntries(
        Array.from({ length: 6000 }, (_, n) => {
          const day = String(1 + (n % 28)).padStart(2, '0');
          const path = `2025/01/${day}/1200${String(n).padStart(5, '0')}Z-${n.toString(16).padStart(8, '0')}.md`;
          return [
            `${folder}/${path}`,
            `---\nfrom: a\nto: b\ntype: text\ntimestamp: 2025-01-01T00:00:00Z\n---\n\nnumber ${String(n)} of many\n`,
          ];
        }),
      ),
    );
    await host.news();
    const written = (): string =>
      ['index.db', 'index.db-wal']
        .map((name) => statSync(join(host.state, name), { throwIfNoEntry: false })?.mtimeMs)
        .join();
    for (let kill = 0; kill < 5; kill++) {
      let [seen, writes] = [written(), 0];
      const program = new Program(host, 'index');
      await until('more of it', () => {
        if (written() !== seen) writes++;
        seen = written();
        return writes > kill || !program.running;
      });
      await program.stop('SIGKILL');
    }
    const killed = await inIndex(host, dump);
    await host.run('index', '--rebuild');
    expect(await inIndex(host, dump)).toEqual(killed);
    const { hits } = JSON.parse((await host.run('search', '--json', '5999')).out) as {
      hits: unknown[];
    };
    expect(hits).toHaveLength(1);
  },
);

it('an index that is being built answers for the newest days first', async () => {
  const host = await new Bus().host('front', { worker: 'true' });
  const folder = `data/channels/${host.channel()}`;
  host.edit(
    Object.fromEntries(
      Array.from({ length: 5 }, (_, n) => [
        `${folder}/2025/01/0${String(1 + n)}/120000000Z-0000000${String(n)}.md`,
        `---\nfrom: a\nto: b\ntype: text\ntimestamp: 2025-01-01T00:00:00Z\n---\n\nword ${String(n)}\n`,
      ]),
    ),
  );
  await host.news();
  const seen: [boolean, string[]][] = [];
  for (let tries = 0; tries < 6 && seen.at(-1)?.[0] !== true; tries++) {
    const env = { ...process.env, ...host.env };
    await withContext(
      { env, cwd: host.dir },
      { transport: host.dir, note: () => undefined },
      (context) =>
        withIndex(context, { patience: 0 }, (index, complete) => {
          const { hits } = searchIndex(index.database, { words: 'word', limit: 20 });
          seen.push([complete, hits.map(({ relPath }) => relPath.slice(8, 10)).sort()]);
        }),
    );
  }
  // Each look includes at least one more day, from the newest on; the last look is complete.
  for (const [complete, days] of seen) {
    expect(days).toEqual(['01', '02', '03', '04', '05'].slice(-days.length));
    expect(complete).toBe(days.length === 5);
  }
  expect(seen.length).toBeGreaterThan(1);
  expect(seen.at(-1)?.[0]).toBe(true);
});

it('what is dated earlier than what was indexed before it is found by --since as well', async () => {
  const host = await new Bus().host('front', { worker: 'true' });
  const put = (minutes: number, suffix: string): void => {
    const at = new Date(Date.now() - minutes * 60_000);
    const relPath = relPathAt(at, suffix);
    const message = { ...said(1, 'anna', 'operator').message, timestamp: at.toISOString() };
    host.edit({
      [messageFile(host.channel(), relPath)]: formatMessage({ ...message, body: 'a zebra\n' }),
    });
  };
  put(1, 'aaaaaaaaaaaa');
  await host.run('index');
  put(30, 'bbbbbbbbbbbb');
  await host.run('index');
  const { out } = await host.run('search', 'zebra', '--since', '1h');
  expect([out.includes('aaaaaaaaaaaa'), out.includes('bbbbbbbbbbbb')]).toEqual([true, true]);
});
