import { execFileSync } from 'node:child_process';
import { existsSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { expect, it } from 'vitest';
import { formatMemory, memoryFileAt } from '../../src/protocol/files/memory.ts';
import type { SearchResult } from '../../src/actions/reading/search.ts';
import { Bus, type Host } from '../support/bus.ts';
import { byHand } from '../support/history.ts';
import { Program } from '../support/process.ts';

async function search(host: Host, ...args: string[]): Promise<SearchResult> {
  const ran = await host.run('search', '--json', ...args);
  expect(ran.code).toBe(0);
  return JSON.parse(ran.out) as SearchResult;
}

type Sent = Record<'opening' | 'body' | 'invoice' | 'accents' | 'escape', string>;

const paths = ({ hits }: SearchResult): string[] => hits.map(({ relPath }) => relPath);

const channelOf = (host: Host, relPath: string): string =>
  host.bus.messages().find((one) => one.relPath === relPath)!.channel;

/** Two machines, and some messages by several people in two channels. */
async function world(): Promise<{ host: Host; other: Host; sent: Sent }> {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo done' });
  const other = await bus.host('back', { helper: 'true' });
  await host.run('channel', 'create', 'billing');
  const send = (from: string, text: string, channel = 'general'): Promise<string> =>
    other.send('nobody', text, '--from', from, '--channel', channel);
  const sent = {
    opening: await send('anna', 'Rate limits of the forge\n\nWhat do we do about them?'),
    body: await send('bert', 'Something else\n\nhere the forge has a rate, and limits, too'),
    invoice: await send('anna', 'the invoice is late', 'billing'),
    accents: await send('carla', 'Das Gerät in Łódź läuft; 日本語 too; naïve café'),
    escape: await send('mallory', 'red \u001b[31malert\u001b[0m here'),
  };
  await host.run('sync');
  return { host, other, sent };
}

it(
  'finds words, phrases and beginnings in any letters, openings before bodies',
  { tags: 'long' },
  async () => {
    const { host, sent } = await world();
    expect(paths(await search(host, 'rate', 'limits'))).toEqual([sent.opening, sent.body]);
    expect(paths(await search(host, '"rate limits"'))).toEqual([sent.opening]);
    // In the form in which the shell passes on: "rate limits" forge
    expect(paths(await search(host, 'rate limits', 'forge'))).toEqual([sent.opening]);
    expect(paths(await search(host, 'invoi*'))).toEqual([sent.invoice]);
    expect(paths(await search(host, 'gerat'))).toEqual([sent.accents]);
    expect(paths(await search(host, 'CAFE'))).toEqual([sent.accents]);
    expect(paths(await search(host, '日本語'))).toEqual([sent.accents]);
    // The channel's name counts as a word of its messages.
    expect(paths(await search(host, 'billing late'))).toEqual([sent.invoice]);
    const some = await search(host, 'invoice', 'nowhere');
    expect([paths(some), some.some_words]).toEqual([[sent.invoice], true]);
    // No part of the typed text is an operator.
    expect((await search(host, 'NEAR(xyzzy', '{body}:plugh')).hits).toEqual([]);
  },
);

it(
  'keeps to a channel, a writer and a time, and shows what is around',
  { tags: 'long' },
  async () => {
    const { host, sent } = await world();
    expect(paths(await search(host, 'the', '--from', 'anna'))).toHaveLength(2);
    expect(paths(await search(host, 'the', '--channel', 'billing'))).toEqual([sent.invoice]);
    expect(paths(await search(host, 'the', '--from', 'nobody-at-all'))).toEqual([]);
    expect(paths(await search(host, 'the', '--since', '1h'))).toHaveLength(3);
    expect(paths(await search(host, 'the', '--since', '2999-01-01'))).toEqual([]);
    const { hits } = await search(host, 'lauft', '--context', '2');
    expect(hits[0]!.context.map(({ relPath, hit }) => [relPath, hit])).toEqual([
      [sent.opening, false],
      [sent.body, false],
      [sent.accents, true],
      [sent.escape, false],
    ]);
    // It applies to both sides of each hit, with no more than sixteen items in one answer.
    for (let n = 0; n < 12; n++)
      await host.send('nobody', `filler ${String(n)}`, '--channel', 'general');
    const many = await search(host, 'filler', '--context', '5');
    const items = many.hits.flatMap((hit) => hit.context.filter((one) => !one.hit));
    expect(items.length).toBeGreaterThan(5);
    expect(items.length).toBeLessThanOrEqual(16);
    for (const args of [['***'], ['x', '--since', 'soon'], ['x', '--limit', '21']])
      expect((await host.run('search', ...args)).code).toBe(2);
  },
);

it('says when more messages match, and shows them when asked', { tags: 'long' }, async () => {
  const { host } = await world();
  const whole = await search(host, 'the');
  expect(whole.hits.length).toBeGreaterThan(2);
  expect(whole.more).toBe(false);
  const two = await host.run('search', 'the', '--limit', '2');
  expect(two.err).toBe('crosstalk search: more messages match; the next ones with: --skip 2\n');
  const rest = await search(host, 'the', '--skip', '2');
  expect(paths(rest)).toEqual(paths(whole).slice(2));
  expect((await host.run('search', 'the', '--skip', '-1')).code).toBe(2);
});

it('bounds what it shows of a long message, around the word', { tags: 'long' }, async () => {
  const { host } = await world();
  await host.send(
    'nobody',
    `${'before '.repeat(2000)} needle ${'behind '.repeat(2000)}`,
    '--channel',
    'general',
  );
  const { hits } = await search(host, 'needle');
  expect(Buffer.byteLength(hits[0]!.excerpt)).toBeLessThanOrEqual(1024);
  expect(hits[0]!.excerpt).toMatch(/^….*needle.*…$/s);
});

it('an edited or deleted message is found by what it says now', { tags: 'long' }, async () => {
  const { host, sent } = await world();
  await search(host, 'rate');
  const folder = `data/channels/${channelOf(host, sent.body)}`;
  const text = 'from: bert\nto: x\ntype: text\ntimestamp: 2026-01-01T00:00:00Z';
  host.edit({ [`${folder}/${sent.body}`]: `---\n${text}\n---\n\nabout zebras\n` });
  await host.run('sync');
  expect(paths(await search(host, 'forge'))).toEqual([sent.opening]);
  expect(paths(await search(host, 'zebras'))).toEqual([sent.body]);
});

it('an index that is damaged, foreign or gone is made again, and says so', async () => {
  const { host, sent } = await world();
  const file = join(host.state, 'index.db');
  // Each command runs in its own process, because a process that has the file open keeps it.
  const find = async (): Promise<{ found: string[]; err: string }> => {
    const program = new Program(host, 'search', '--json', 'invoice');
    expect(await program.ended()).toBe(0);
    return { found: paths(JSON.parse(program.out) as SearchResult), err: program.err };
  };
  await find();
  const damages: [string, () => void][] = [
    [
      'garbage',
      () => {
        writeFileSync(file, 'no database at all, but long enough for one'.repeat(40));
      },
    ],
    [
      'half of it',
      () => {
        truncateSync(file, 5000);
      },
    ],
    [
      'empty',
      () => {
        truncateSync(file, 0);
      },
    ],
    [
      'of the version before, without words',
      () => {
        const database = new DatabaseSync(file);
        database.exec("INSERT INTO texts (texts) VALUES ('delete-all'); PRAGMA user_version = 4");
        database.close();
      },
    ],
    [
      'gone',
      () => {
        rmSync(file);
      },
    ],
  ];
  for (const [what, damage] of damages) {
    for (const part of ['-wal', '-shm']) rmSync(`${file}${part}`, { force: true });
    damage();
    const { found, err } = await find();
    expect([what, found]).toEqual([what, [sent.invoice]]);
    if (what === 'garbage') expect(err).toContain('moved aside');
  }
  expect(existsSync(`${file}.aside`)).toBe(true);
});

it('several processes make it and use it at the same time', { tags: 'long' }, async () => {
  const { host, sent } = await world();
  for (let round = 0; round < 3; round++) {
    await host.send('nobody', `invoice of round ${String(round)}`, '--channel', 'general');
    // Of processes that end at the same moment none may be the last, which removes the log.
    if (round === 1)
      for (const part of ['', '-wal', '-shm'])
        rmSync(join(host.state, `index.db${part}`), { force: true });
    const programs = Array.from(
      { length: 4 },
      () => new Program(host, 'search', '--json', 'invoice'),
    );
    for (const program of programs) {
      expect([await program.ended(), program.err]).toEqual([0, '']);
      const found = paths(JSON.parse(program.out) as SearchResult);
      expect(found).toHaveLength(round + 2);
      expect(found).toContain(sent.invoice);
    }
  }
});

it('without a place to keep it, the index is made in memory', async () => {
  const { host, sent } = await world();
  rmSync(join(host.state, 'index.db'), { force: true });
  execFileSync('mkdir', [join(host.state, 'index.db')]);
  const ran = await host.run('search', '--json', 'invoice');
  expect(paths(JSON.parse(ran.out) as SearchResult)).toEqual([sent.invoice]);
  expect(ran.err).toContain('the search index cannot be kept in');
  // Several parts of it make one.
  expect((await host.run('doctor')).err.match(/the search index cannot be kept in/g)).toHaveLength(
    1,
  );
  const [hit] = (await search(host, 'lauft', '--context', '1')).hits;
  const around = [sent.body, sent.accents, sent.escape];
  expect(hit?.context.map(({ relPath }) => relPath)).toEqual(around);
});

it(
  'memories are found by subject, alias and text, superseded ones only when asked',
  { tags: 'long' },
  async () => {
    const { host, other } = await world();
    const add = (...args: string[]): Promise<{ out: string }> =>
      other.run('memory', 'add', '--from', 'anna', ...args);
    const old = (await add('--subject', 'Releases', 'go out on Mondays')).out.split(' ')[1]!.trim();
    await add(
      '--subject',
      'Releases',
      '--supersedes',
      old,
      '--alias',
      'deploy',
      'go out on Tuesdays',
    );
    await add('--subject', 'Lunch', 'is at noon');
    const find = async (...words: string[]): Promise<string[]> =>
      (
        JSON.parse((await host.run('memory', 'search', '--json', ...words)).out) as {
          excerpt: string;
        }[]
      ).map(({ excerpt }) => excerpt);
    expect(await find('releases')).toEqual(['go out on Tuesdays']);
    expect(await find('deploy')).toEqual(['go out on Tuesdays']);
    expect(await find('noon')).toEqual(['is at noon']);
    expect((await find('releases', '--all')).sort()).toEqual([
      'go out on Mondays',
      'go out on Tuesdays',
    ]);
  },
);

it('lists channels as a tree, with what is unread for a name', { tags: 'long' }, async () => {
  const { host, other } = await world();
  await host.run('channel', 'create', 'invoices', '--parent', 'billing');
  await other.send('anna', 'for you', '--from', 'bert', '--channel', 'invoices');
  await other.send('all', 'for everybody', '--from', 'bert', '--channel', 'invoices');
  await other.send('carla', 'not for you', '--from', 'bert', '--channel', 'invoices');
  const list = async (name: string): Promise<string[]> =>
    (await host.run('channel', 'list', '--for', name)).out
      .trimEnd()
      .split('\n')
      .map((line) =>
        line
          .replace(/^\S+ {2}/, '')
          .replace(/last [-0-9: ]{19}/, 'last …')
          .replace(/ {2,}(?=\S)/g, '  '),
      );
  expect(await list('anna')).toEqual([
    'billing  1 message  last …',
    '  invoices  3 messages  last …  2 unread for anna',
    'general  4 messages  last …  the default',
  ]);
  await other.send('bert', 'thanks', '--from', 'anna', '--channel', 'invoices');
  // What somebody writes reads nothing.
  expect((await list('anna'))[1]).toBe('  invoices  4 messages  last …  2 unread for anna');
  expect((await list('bert'))[1]).toBe('  invoices  4 messages  last …  1 unread for bert');
});

it('finds any part of a sentence in letters without spaces, and what is written beside it', async () => {
  const host = await new Bus().host('front', {});
  const texts = {
    chinese: '\u8bf7\u5148\u90e8\u7f72\u670d\u52a1\uff0c\u518d\u8c03\u7528parseConfig\u51fd\u6570',
    // With half-width letters, and a letter of which the mark is a character of its own.
    japanese:
      '\uff7b\uff70\uff8a\uff9e\uff70\u304b\u3099\u843d\u3061\u305f\u306e\u3066\u3099\uff21\uff30\uff29\u3092\u8abf\u3079\u308b',
    thai: '\u0e01\u0e32\u0e23\u0e17\u0e14\u0e2a\u0e2d\u0e1a\u0e25\u0e49\u0e21\u0e40\u0e2b\u0e25\u0e27retryLater\u0e14\u0e49\u0e27\u0e22',
    korean: '\uc11c\ubc84\uc5d0\uc11c buildIndex\ub97c \uc2e4\ud589',
  };
  const pathOf: Record<string, string> = {};
  const files: Record<string, string> = {};
  for (const [at, [name, text]] of Object.entries(texts).entries()) {
    const [path, content] = byHand(host.channel(), at + 1, text);
    files[path] = content;
    pathOf[name] = path.split('/').slice(3).join('/');
    const note = {
      from: 'anna',
      timestamp: '2026-06-09T19:00:00.000Z',
      scope: 'global',
      extra: {},
    };
    files[`data/memories/${memoryFileAt(new Date(), String(at).repeat(8))}`] = formatMemory({
      ...{ ...note, subject: name, supersedes: [], alias: [], body: `${text}\n` },
    });
  }
  host.edit(files);
  await host.run('sync');
  const wanted: [string, string][] = [
    ['\u90e8\u7f72', 'chinese'],
    ['\u670d', 'chinese'],
    ['parseconfig', 'chinese'],
    ['pars*', 'chinese'],
    ['\u8c03\u7528parseConfig', 'chinese'],
    // A question without spaces, of which the words stand apart in what answers it.
    ['\u51fd\u6570\u670d\u52a1', 'chinese'],
    ['\u30b5\u30fc\u30d0\u30fc', 'japanese'],
    ['\u304c\u843d\u3061', 'japanese'],
    ['api', 'japanese'],
    ['\u0e25\u0e49\u0e21\u0e40\u0e2b\u0e25\u0e27', 'thai'],
    ['retrylater', 'thai'],
    ['\uc11c\ubc84', 'korean'],
    ['buildindex', 'korean'],
  ];
  for (const [words, name] of wanted) {
    const { hits, some_words: some } = await search(host, words);
    expect([words, hits.map(({ relPath }) => relPath), some]).toEqual([
      words,
      [pathOf[name]],
      false,
    ]);
  }
  // Its letters in another order are another word.
  expect((await search(host, '"\u7f72\u90e8"')).hits).toEqual([]);
  const notes = async (words: string): Promise<string[]> => {
    const ran = await host.run('memory', 'search', '--json', words);
    return (JSON.parse(ran.out) as { subject: string }[]).map(({ subject }) => subject);
  };
  expect(await notes('\u90e8\u7f72\u7684\u6b65\u9aa4')).toEqual(['chinese']);
  expect(await notes('buildindex')).toEqual(['korean']);
});
