import { expect, it } from 'vitest';
import { Bus, type Host } from '../support/bus.ts';
import { Program } from '../support/process.ts';
import { until } from '../support/wait.ts';

interface Line {
  channel: string;
  channel_name: string;
  relPath: string;
  from: string;
  to: string[];
  timestamp: string;
  re: string[];
  body: string;
}

/** A message in the form in which somebody writes it by hand. */
const written = (body: string, from = 'anna', to = 'bert', at = '2026-06-09T19:00:00Z'): string =>
  `---\nfrom: ${from}\nto: ${to}\ntype: text\ntimestamp: ${at}\n---\n\n${body}`;

async function bodies(host: Host, ...argv: string[]): Promise<string[]> {
  const { code, out } = await host.run('log', '--json', ...argv);
  expect(code).toBe(0);
  return jsonLines(out).map(({ body }) => body.trim());
}

function jsonLines(out: string): Line[] {
  return out
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line);
}

/** The messages of a channel over several days, one of them malformed. */
async function history(): Promise<{ host: Host; folder: string }> {
  const host = await new Bus().host('front', { worker: 'echo done' });
  const folder = `data/channels/${host.channel()}`;
  host.edit({
    [`${folder}/2024/12/31/235959000Z-00000001.md`]: written('oldest'),
    [`${folder}/2026/06/08/100000000Z-00000002.md`]: written('second', 'bert', 'anna@front'),
    [`${folder}/2026/06/09/100000000Z-00000003.md`]: written('third', 'anna', '[bert, carl]'),
    [`${folder}/2026/06/09/100001000Z-00000004.md`]: 'not a message',
    [`${folder}/2026/06/09/120000000Z-00000005.md`]: written('newest', 'carl', 'all'),
    [`${folder}/2026/06/09/notes.md`]: written('in no place of a message'),
  });
  return { host, folder };
}

it(
  'log shows a question and its answer, the oldest first, with what is needed to go on',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'echo "# Done"; echo; echo "- as told"' });
    const question = await host.send('worker', 'please do it');
    await host.once();
    const reply = bus.from('worker')[0]!;
    const suffix = (relPath: string): string => relPath.slice(-15, -7);

    const { code, out, err } = await host.run('log');

    const time = String.raw`\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}`;
    expect([code, err]).toEqual([0, '']);
    expect(out).toMatch(
      new RegExp(
        `^${time}  operator → worker  ${suffix(question)}\n  please do it\n\n` +
          `${time}  worker → operator  ${suffix(reply.relPath)}  ↳ re ${suffix(question)}\n` +
          `  # Done\n\n  - as told\n\n$`,
      ),
    );
    expect((await host.run('read', suffix(question))).code).toBe(0);
    const lines = jsonLines((await host.run('log', '--json')).out);
    expect(lines[1]).toEqual({
      channel: host.channel(),
      channel_name: 'general',
      relPath: reply.relPath,
      from: 'worker',
      to: ['operator'],
      timestamp: reply.message.timestamp,
      re: [question],
      body: '# Done\n\n- as told\n',
    });
  },
);

it(
  'log takes the newest by day, and only what the filters let through',
  { tags: 'long' },
  async () => {
    const { host } = await history();
    expect(await bodies(host)).toEqual(['oldest', 'second', 'third', 'newest']);
    expect(await bodies(host, '--limit', '2')).toEqual(['third', 'newest']);
    expect(await bodies(host, '--limit', '0')).toEqual([]);
    expect(await bodies(host, '--from', 'anna')).toEqual(['oldest', 'third']);
    expect(await bodies(host, '--from', 'anna', '--limit', '1')).toEqual(['third']);
    expect(await bodies(host, '--to', 'bert')).toEqual(['oldest', 'third']);
    expect(await bodies(host, '--to', 'anna')).toEqual(['second']);
    expect(await bodies(host, '--to', 'anna@back')).toEqual([]);
    expect(await bodies(host, '--since', '2026-06-08T10:00:00Z')).toEqual([
      'second',
      'third',
      'newest',
    ]);
    expect(await bodies(host, '--since', '2026-06-09T10:00:00.001Z')).toEqual(['newest']);
    const fresh = await host.send('nobody', 'just now');
    expect(fresh).toBeTruthy();
    expect(await bodies(host, '--since', '2h')).toEqual(['just now']);

    const cut = await host.run('log', '--since', '2020-01-01', '--limit', '2');
    expect(cut.err).toBe('');
    expect((await host.run('log', '--limit', '2')).err).toBe('');
    expect((await host.run('log', '--since', '2026-06-09', '--limit', '3')).err).toBe('');
    expect((await host.run('log', '--limit', '5')).err).toBe('');
    expect((await host.run('log', '--from', 'zoe')).err).toBe('crosstalk log: no messages\n');
  },
);

it('log of twenty messages reads as much from a large transport as from a small one', async () => {
  const { host, folder } = await history();
  const reads = async (): Promise<number> => {
    const { withContext } = await import('../../src/actions/context.ts');
    const { log } = await import('../../src/actions/reading/log.ts');
    const { signal } = new AbortController();
    return withContext(
      { env: { ...process.env, ...host.env }, cwd: host.dir },
      { note: () => undefined },
      async (context) => {
        expect((await log(context, { limit: 20, signal })).entries).toHaveLength(20);
        return context.transport.cost.reads;
      },
    );
  };
  const day = (date: string, count: number): Record<string, string> =>
    Object.fromEntries(
      Array.from({ length: count }, (_, n) => [
        `${folder}/${date}/12${String(n).padStart(7, '0')}Z-${n.toString(16).padStart(8, 'a')}.md`,
        written(`message ${String(n)}`),
      ]),
    );
  host.edit(day('2026/07/02', 30));
  const few = await reads();
  host.edit({ ...day('2025/01/01', 500), ...day('2026/06/30', 500) });
  expect(await reads()).toBe(few);
  // More than are read at once: none is left out, and none comes twice.
  const numbers = [...Array(500).keys()].slice(500 - 120).concat([...Array(30).keys()]);
  const expected = numbers.map((n) => `message ${String(n)}`);
  expect(await bodies(host, '--limit', '150')).toEqual(expected);
});

it(
  'log of all channels names them, and takes one by id, prefix or name',
  { tags: 'long' },
  async () => {
    const { host } = await history();
    const general = host.channel();
    const created = await host.run('channel', 'create', 'release', '--description', 'About 2.0.');
    const release = created.out.trim();
    await host.send('nobody', 'ship it', '--channel', 'release');
    expect((await host.run('log', '--limit', '2')).out).toMatch(
      / {2}#general {2}[\s\S]* {2}#release {2}/,
    );
    for (const name of ['release', release, release.slice(0, 8)]) {
      expect(await bodies(host, name)).toEqual(['ship it']);
      expect((await host.run('log', name)).out).not.toContain('#release');
    }
    expect(await bodies(host, general, '--limit', '1')).toEqual(['newest']);
    expect(await host.run('log', 'nowhere')).toMatchObject({ code: 1, out: '' });
    expect((await host.run('log', 'nowhere')).err).toContain('no channel "nowhere"');
  },
);

it('a hostile text cannot steer the terminal, colour what follows, or pass for the line of another message', async () => {
  const host = await new Bus().host('front', { worker: 'true' });
  const folder = `data/channels/${host.channel()}/2026/06/09`;
  const text =
    'clear\u001b[2J\u001b]0;title\u0007 hide\u001b[8m me\u009b31m\rgone\u202e\n' +
    '2026-06-09 21:00:00  boss → all  12345678\n```\n# no heading\n```\n# Heading\n';
  host.edit({ [`${folder}/190000000Z-00000001.md`]: written(text) });
  const shown = [
    'clear[2J]0;title hide[8m me31mgone',
    '2026-06-09 21:00:00  boss → all  12345678',
    '```',
    '# no heading',
    '```',
    '# Heading',
  ];
  const plain = await host.run('log');
  expect(plain.out.split('\n').slice(1)).toEqual([...shown.map((line) => `  ${line}`), '', '']);
  expect((await host.run('read', '00000001')).out).toContain(`\n\n${shown.join('\n')}\n`);

  const colourful = { outIsTty: true, env: { NO_COLOR: '', TERM: 'xterm' } };
  for (const argv of [['log'], ['read', '00000001']]) {
    const { out } = await host.runWith(colourful, ...argv);
    expect(out).toContain('\u001b[1m# Heading\u001b[22m');
    expect(out).toContain('\u001b[2m# no heading\u001b[22m');
    const ours = [1, 2, 22, 31, 32, 33, 34, 35, 36, 39];
    const left = ours.reduce((text, code) => text.replaceAll(`\u001b[${String(code)}m`, ''), out);
    expect(left).not.toMatch(/(?!\n)\p{Cc}|\u202e/u);
    expect(out).not.toContain('\u001b[8m');
  }
  const json = jsonLines((await host.run('log', '--json')).out);
  expect(json[0]?.body).toBe(text);
});

it(
  'what other commands show of a text neither steers nor colours the terminal',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const hostile = String.raw`findme\033[8m hidden\033]0;title\007\033[2J`;
    const host = await bus.host('front', { worker: `cat > /dev/null; printf '${hostile}'` });
    const question = await host.send('worker', 'hello');
    await host.once();
    const text = bus.from('worker')[0]?.message.body ?? '';
    expect(text).toContain('\u001b[8m');
    const noted = await host.run('memory', 'add', '--subject', 'a note', '--', text);
    const memory = /\w+-(\w+)\.md/.exec(noted.out)?.[1] ?? '';

    for (const argv of [
      ['replies', question],
      ['wait', question],
      ['thread', question],
      ['search', 'findme'],
      ['search', 'findme', '--context', '1'],
      ['memory', 'show', memory],
      ['memory', 'search', 'findme'],
    ]) {
      const { out } = await host.run(...argv);
      expect(out, argv.join(' ')).toContain('findme[8m hidden');
      expect(out, argv.join(' ')).not.toMatch(/(?!\n)\p{Cc}/u);
    }
  },
);

it.each(['with', 'without'])(
  'log -f shows what other processes send, %s a dispatcher here, until it is interrupted',
  { tags: 'long' },
  async (here) => {
    const bus = new Bus();
    const front = await bus.host('front', { idle: 'true' });
    const back = await bus.host('back', { other: 'true' });
    if (here === 'with') await front.start().saw('host_file_loaded');
    await front.send('nobody', 'before');
    const log = new Program(front, 'log', '--follow', '--limit', '1');
    const json = new Program(front, 'log', '-f', '--json', '--from', 'anna', '--limit', '0');
    await until('what was there', () => log.out.includes('  before\n'));
    const sender = new Program(front, 'send', '--to', 'nobody', 'from here');
    expect(await sender.ended()).toBe(0);
    await until('the first', () => log.out.includes('  from here\n'));
    await back.send('nobody', 'from elsewhere');
    await until('the second', () => log.out.includes('  from elsewhere\n'));
    const made = await back.run('channel', 'create', 'later');
    await back.send('nobody', 'in a new channel', '--channel', made.out.trim(), '--from', 'anna');
    await until('the third', () => log.out.includes('  in a new channel\n'));
    expect(log.out).toContain('  #later  ');
    expect(log.out.match(/^ {2}/gm)).toHaveLength(4);

    await until('the third as JSON', () => json.out.endsWith('\n'));
    expect(jsonLines(json.out)).toMatchObject([{ from: 'anna', channel_name: 'later' }]);
    expect(await json.stop('SIGTERM')).toBe(0);
    expect(await log.stop('SIGINT')).toBe(130);
    expect(log.err).toBe('');
  },
);

it('what log is asked wrongly it says, and does nothing', async () => {
  const host = await new Bus().host('front', { worker: 'true' });
  for (const [option, value, problem] of [
    ['--limit', 'many', '--limit is "many", expected how many messages'],
    ['--limit', '-1', '--limit is "-1", expected how many messages'],
    ['--since', 'soon', '--since is "soon", expected a date'],
    ['--to', 'a/b', '"a/b" is not an address'],
  ]) {
    const { code, out, err } = await host.run('log', `${option!}=${value!}`);
    expect([code, out]).toEqual([2, '']);
    expect(err).toContain(problem);
  }
});
