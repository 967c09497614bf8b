import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { WebInbox } from '../../src/api/api.ts';
import { Bus, type Host } from '../support/bus.ts';
import { until } from '../support/wait.ts';
import { Web } from '../support/web.ts';

interface Row {
  relPath: string;
  from: string;
  body: string;
  unread: boolean;
  waits_for_you: boolean;
}

async function rows(host: Host, ...argv: string[]): Promise<Row[]> {
  const { code, out, err } = await host.run('inbox', '--json', ...argv);
  if (code !== 0) throw new Error(err);
  const lines = out.split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line) as Row);
}

/** What the list says of each message: whether it is new, whether it asks, and its text. */
async function listed(host: Host, ...argv: string[]): Promise<string[]> {
  return (await rows(host, ...argv)).map(
    ({ unread, waits_for_you: asks, body }) =>
      `${unread ? 'new ' : ''}${asks ? 'asks ' : ''}${body.trim()}`,
  );
}

const relPath = (n: number): string => `2026/06/09/19000000${String(n)}Z-${String(n).repeat(8)}.md`;

/** Puts messages into the channel "general" by hand, one commit for each, in this order. */
function put(host: Host, ...messages: [n: number, fields: string, body: string][]): void {
  for (const [n, fields, body] of messages)
    host.edit({
      [`data/channels/${host.channel()}/${relPath(n)}`]: `---\ntype: text\ntimestamp: 2026-06-09T19:00:00Z\n${fields}\n---\n${body}\n`,
    });
}

it('a question stays although somebody else has answered it, whatever the asked one has written before', async () => {
  const bus = new Bus();
  const mac = await bus.host('mac', { helper: 'echo done' });
  await mac.send('helper', 'something else');
  const asked = await mac.send('operator,helper', 'who is on duty?', '--from', 'carol');
  await mac.once();
  expect(bus.from('helper').flatMap(({ message }) => message.re)).toContain(asked);
  expect(await listed(mac, '--questions')).toEqual(['new asks who is on duty?']);
});

it('shows what came, unread first, and what asks something until a message of one’s own names it', async () => {
  const bus = new Bus();
  const mac = await bus.host('mac', { worker: 'echo done' });
  const carol = (...argv: string[]): ReturnType<Host['run']> =>
    mac.runWith({ login: 'carol' }, ...argv);
  const empty = await mac.run('inbox');
  expect([empty.code, empty.out, empty.err]).toEqual([0, '', 'crosstalk inbox: no messages\n']);

  await carol('send', '--to', 'operator', 'lunch?');
  await mac.send('worker', 'work');
  await mac.once();
  await carol('send', '--to', 'operator,worker', 'who is on duty?');
  await carol('send', '--to', 'all', 'the office is closed');
  await carol('send', '--to', 'worker', 'not for the operator');

  expect(await listed(mac)).toEqual([
    'new the office is closed',
    'new asks who is on duty?',
    'new done',
    'new asks lunch?',
  ]);
  expect(await listed(mac, '--questions')).toEqual(['new asks who is on duty?', 'new asks lunch?']);
  expect((await mac.run('inbox', '--count')).out).toBe('4\n');
  expect((await mac.run('inbox', '--count', '--questions')).out).toBe('2\n');
  expect(JSON.parse((await mac.run('inbox', '--count', '--json')).out)).toEqual({
    unread: 4,
    questions: 2,
  });
  const limited = await mac.run('inbox', '--limit', '1');
  expect(limited.err).toContain('only 1 are shown');
  expect(limited.err).toContain('2 more ask you something');

  const [, lunch] = await rows(mac, '--questions');
  await mac.run('reply', lunch?.relPath ?? '', 'yes');
  expect(await listed(mac, '--questions')).toEqual(['new asks who is on duty?']);
  expect(await listed(mac)).toEqual([
    'new the office is closed',
    'new asks who is on duty?',
    'new done',
    'lunch?',
  ]);
  const worker = await mac.run('inbox', '--from', 'worker', '--questions', '--json');
  expect(worker.out).toContain('not for the operator');
});

it('read is what was shown whole or marked, whatever was written since', async () => {
  const bus = new Bus();
  const mac = await bus.host('mac', { worker: 'cat > /dev/null; echo done', breaks: 'exit 7' });
  const unread = async (): Promise<string> => (await mac.run('inbox', '--count')).out.trim();
  const answer = async (): Promise<string> => {
    const task = await mac.send('worker', 'work');
    await mac.once();
    return task;
  };
  const [first, second, third] = [await answer(), await answer(), await answer()];
  await mac.send('worker', 'a word more', '--channel', 'general');
  expect(await unread()).toBe('3');
  await mac.run('wait', first);
  expect(await unread()).toBe('2');
  const answers = bus.from('worker');
  const of = (task: string): string =>
    answers.find(({ message }) => message.re.includes(task))?.relPath ?? '';
  await mac.run('read', of(second), '--json');
  expect(await unread()).toBe('1');
  const env = { CROSSTALK_FROM: 'carl' };
  await mac.runWith({ env }, 'read', of(third));
  expect(await unread()).toBe('1');
  expect((await mac.run('inbox', '--done', first)).err).toBe(
    `crosstalk inbox: ${first} did not come for operator; list what did with: crosstalk inbox\n`,
  );
  expect(await mac.run('inbox', '--done', of(third))).toMatchObject({
    code: 0,
    out: `Done: ${of(third)}\n`,
  });
  expect(await unread()).toBe('0');
  await answer();
  const [row] = JSON.parse((await mac.run('channel', 'list', '--json')).out) as {
    unread: number;
  }[];
  expect([row?.unread, await unread()]).toEqual([1, '1']);
  expect((await mac.run('inbox', '--done', 'all')).out).toBe('Done: all\n');
  expect(await unread()).toBe('0');
  const asking = mac.run('ask', 'worker', 'well?');
  await until('the question', () =>
    bus.from('operator').find(({ message }) => message.body === 'well?'),
  );
  await mac.once();
  expect((await asking).out).toBe('done\n');
  expect(await unread()).toBe('0');
});

it('of what was there before a machine kept count, what came before one’s last word is read, and nothing later', async () => {
  const bus = new Bus();
  const mac = await bus.host('mac', { worker: 'echo done' });
  const carol = (body: string): Promise<unknown> =>
    mac.runWith({ login: 'carol' }, 'send', '--to', 'operator', body);
  for (const body of ['one', 'two']) await carol(body);
  await mac.send('carol', 'my last word');
  await mac.send('ben', 'for somebody who has never been here');
  const late = await bus.host('late', { other: 'true' });
  expect((await late.run('inbox', '--count')).out).toBe('0\n');
  expect((await late.run('inbox', '--count', '--from', 'ben')).out).toBe('1\n');
  rmSync(join(mac.state, 'seen.json'));
  expect((await mac.run('inbox', '--count')).out).toBe('0\n');
  await carol('three');
  for (const host of [mac, late])
    expect(await listed(host, '--limit', '1')).toEqual(['new asks three']);
});

it('what is dated in the future, or comes later than it is dated, hides nothing from whoever has read all', async () => {
  const bus = new Bus();
  const mac = await bus.host('mac', { worker: 'echo done' });
  const carol = (body: string): Promise<unknown> =>
    mac.runWith({ login: 'carol' }, 'send', '--to', 'operator', body);
  const dated = (year: string, body: string): void => {
    mac.edit({
      [`data/channels/${mac.channel()}/${year}/06/09/190000000Z-${year}${year}.md`]: `---\ntype: text\nfrom: dora\nto: operator\ntimestamp: ${year}-06-09T19:00:00Z\n---\n${body}\n`,
    });
  };
  const unread = async (): Promise<string> => (await mac.run('inbox', '--count')).out;
  dated('2099', 'from the future');
  await mac.run('sync');
  await carol('one');
  expect(await unread()).toBe('2\n');
  await mac.send('carol', 'a word of my own reads nothing');
  expect(await unread()).toBe('2\n');
  await mac.run('inbox', '--done', 'all');
  expect(await unread()).toBe('0\n');
  await carol('two');
  expect(await unread()).toBe('1\n');
  dated('2025', 'was offline');
  await mac.run('sync');
  expect(await unread()).toBe('2\n');
});

it('on a terminal what was shown whole is read from then on; elsewhere nothing changes', async () => {
  const bus = new Bus();
  const mac = await bus.host('mac', { worker: 'echo done' });
  for (const body of ['one', 'two'])
    await mac.runWith({ login: 'carol' }, 'send', '--to', 'operator', body);
  const unread = async (): Promise<string> => (await mac.run('inbox', '--count')).out;
  await mac.runWith({ login: 'carol' }, 'send', '--to', 'operator', 'long\n'.repeat(5));
  await mac.run('inbox');
  await mac.runWith({ outIsTty: true, env: { CROSSTALK_PAGER: '' } }, 'inbox', '--limit', '1');
  expect(await unread()).toBe('3\n');
  const shown = await mac.runWith({ outIsTty: true, env: { NO_COLOR: '1' } }, 'inbox');
  expect(shown.out).toMatch(/\nnew .*carol {2}#general .*asks you\n {6}two\n\nnew /);
  expect(await unread()).toBe('1\n');
  expect((await mac.run('inbox', '--count', '--questions')).out).toBe('3\n');
});

describe('asks you', () => {
  it('is said of a question in an old thread and of a question back, not of answers and progress', async () => {
    const bus = new Bus();
    const mac = await bus.host('mac', { worker: 'cat' });
    put(
      mac,
      [1, 'from: operator\nto: worker', 'my question'],
      [2, `from: worker\nto: operator\nhost: mac\nre: ${relPath(1)}\ninterim: true`, 'which one?'],
      [3, 'from: operator\nto: lead', 'my other question'],
      [4, `from: lead\nto: tester\nhost: mac\ncause: ${relPath(3)}`, 'test it'],
      [5, `from: lead\nto: operator\nhost: mac\nre: ${relPath(3)}\ninterim: true`, 'I will report'],
      [6, `from: operator\nto: dan`, 'an answer of mine'],
      [7, `from: dan\nto: operator\nre: ${relPath(6)}\nasks: true`, 'and then?'],
      [8, `from: dan\nto: operator\nre: ${relPath(6)}`, 'thanks'],
      [9, `from: dan\nto: operator\ntype: event`, 'not a message'],
    );
    const asking = async (): Promise<string[]> =>
      (await rows(mac, '--questions')).map(({ body }) => body.trim());
    expect(await asking()).toEqual(['and then?', 'which one?']);
    put(mac, [0, `from: tester\nto: lead@mac\nhost: x\nre: ${relPath(4)}`, 'it fails']);
    expect(await asking()).toEqual(['and then?', 'I will report', 'which one?']);
    const final = `from: worker\nto: operator\nhost: mac\nre: ${relPath(1)}`;
    const later = `data/channels/${mac.channel()}/2026/06/10/190000000Z-99999999.md`;
    mac.edit({
      [later]: `---\ntype: text\ntimestamp: 2026-06-10T19:00:00Z\n${final}\n---\ndone\n`,
    });
    expect(await asking()).toEqual(['and then?', 'I will report']);
  });

  it('with --follow of what arrives, until it is stopped', async () => {
    const bus = new Bus();
    const mac = await bus.host('mac', { worker: 'cat' });
    const stop = new AbortController();
    let out = '';
    const following = mac.runWith(
      { stop: stop.signal, onOut: (text) => (out += text) },
      ...['inbox', '--follow', '--questions', '--json'],
    );
    const carol = (to: string, body: string): Promise<unknown> =>
      mac.runWith({ login: 'carol' }, 'send', '--to', to, body);
    await carol('worker', 'not this');
    await carol('operator', 'this one?');
    await until('the question', () => out.includes('this one?'));
    stop.abort();
    expect((await following).code).toBe(0);
    expect(out.trim().split('\n')).toHaveLength(1);
    expect(JSON.parse(out)).toMatchObject({ from: 'carol', waits_for_you: true, unread: true });
  });
});

it('what its writer took back asks nothing any more, and nobody else can take it back', async () => {
  const bus = new Bus();
  const mac = await bus.host('mac', { worker: 'echo done' });
  put(
    mac,
    [1, 'from: carol\nto: operator', 'lunch?'],
    [2, 'from: carol\nto: operator', 'dinner?'],
    [3, `from: mallory\nto: operator\nre: ${relPath(1)}\ncancels: ${relPath(1)}`, 'no'],
    [4, `from: carol\nto: operator\nre: ${relPath(1)}`, 'a word more'],
  );
  expect((await mac.run('inbox', '--questions', '--count')).out).toBe('2\n');
  await mac.runWith({ login: 'carol' }, 'cancel', relPath(2), '--reason', 'not hungry');
  expect(await listed(mac, '--questions')).toEqual(['new asks lunch?']);
  expect((await mac.run('inbox')).out).toMatch(/carol .* cancels 22222222\n +not hungry\n/);
  expect((await mac.run('status')).out).not.toContain('dinner?');
});

it('counting together with following is refused', async () => {
  const bus = new Bus();
  const mac = await bus.host('mac', { worker: 'cat' });
  const { code, err } = await mac.run('inbox', '--count', '--follow');
  expect([code, err]).toEqual([
    2,
    'crosstalk inbox: --count and --follow were given; give one of them\n',
  ]);
});

describe('among many messages', () => {
  const many = (host: Host, count: number, fields: string): void => {
    const files = Array.from({ length: count }, (_, n): [string, string] => {
      const name = `2026/06/09/2000${String(n).padStart(5, '0')}Z-${String(n).padStart(12, '0')}.md`;
      const text = `---\nto: operator\ntype: text\ntimestamp: 2026-06-09T20:00:00Z\n${fields}\n---\nword ${String(n)}\n`;
      return [`data/channels/${host.channel()}/${name}`, text];
    });
    host.edit(Object.fromEntries(files));
  };

  it.each(['', '\nprinted: true'])(
    'a question is not crowded out by words on the way to answers%s',
    { tags: 'long' },
    async (printed) => {
      const mac = await new Bus().host('mac', { worker: 'true' });
      put(mac, [1, 'from: carol\nto: operator', 'lunch?']);
      many(mac, 250, `from: boss\nre: ${relPath(9)}\ninterim: true${printed}`);
      const last = '2026/06/09/210000000Z-eeeeeeee.md';
      mac.edit({
        [`data/channels/${mac.channel()}/${last}`]: `---\nfrom: boss\nto: operator\ntype: text\ntimestamp: 2026-06-09T21:00:00Z\nre: ${relPath(9)}\n---\nall of it\n`,
      });
      expect((await rows(mac, '--questions')).map(({ body }) => body)).toEqual(['lunch?\n']);
    },
  );

  it('an unread question is new, however many newer messages are unread', async () => {
    const mac = await new Bus().host('mac', { worker: 'true' });
    put(mac, [1, 'from: carol\nto: operator', 'lunch?'], [2, 'from: carol\nto: worker', 'no']);
    many(mac, 30, `from: boss\nre: ${relPath(9)}`);
    expect(await listed(mac, '--questions', '--limit', '5')).toEqual(['new asks lunch?']);
    const web = await Web.start(mac);
    const inbox = async (): Promise<[string, boolean] | undefined> => {
      const { text } = await web.raw('GET', '/api/inbox?for=operator', web.bearer());
      const { messages } = JSON.parse(text) as WebInbox;
      return messages.map(({ excerpt, unread }): [string, boolean] => [excerpt, unread])[0];
    };
    expect(await inbox()).toEqual(['lunch?', true]);
    // Whoever has written since need not have read it.
    const last = '2026/06/09/210000000Z-eeeeeeee.md';
    mac.edit({
      [`data/channels/${mac.channel()}/${last}`]: `---\nfrom: operator\nto: boss\ntype: text\ntimestamp: 2026-06-09T21:00:00Z\n---\nwell\n`,
    });
    expect(await listed(mac, '--questions', '--limit', '5')).toEqual(['new asks lunch?']);
  });

  it('what came in several channels is in the order of its time, and names its channel', async () => {
    const mac = await new Bus().host('mac', { worker: 'true' });
    const side = (await mac.run('channel', 'create', 'side')).out.trim();
    const files = Array.from({ length: 230 }, (_, n): [string, string] => {
      const where = n % 3 === 0 ? side : mac.channel();
      const name = `2026/06/09/2000${String(n).padStart(5, '0')}Z-${String(n).padStart(12, '0')}.md`;
      const text = `---\nfrom: carol\nto: operator\ntype: text\ntimestamp: 2026-06-09T20:00:00Z\n---\n${String(n)}\n`;
      return [`data/channels/${where}/${name}`, text];
    });
    mac.edit(Object.fromEntries(files));
    const { out, err } = await mac.run('inbox', '--limit', '220');
    const rows = [...out.matchAll(/#(\w+) .*\n +(\d+)\n/g)].map(([, ...found]) => found.join(' '));
    const expected = files.map((_, n) => `${n % 3 === 0 ? 'side' : 'general'} ${String(n)}`);
    expect(rows).toEqual(expected.reverse().slice(0, 220));
    expect(err).toContain('only 220 are shown');
  });

  it('the list and the count say that there may be more questions than they hold', async () => {
    const mac = await new Bus().host('mac', { worker: 'true' });
    many(mac, 201, 'from: carol');
    const list = await mac.run('inbox', '--questions', '--limit', '300');
    expect(list.out.match(/word \d+\n/g)).toHaveLength(200);
    expect(list.err).toContain('there may be more than these 200');
    const count = await mac.run('inbox', '--questions', '--count');
    expect([count.out, count.err]).toEqual(['200\n', list.err]);
  });
});
