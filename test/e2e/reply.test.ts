import { describe, expect, it } from 'vitest';
import { Bus, type Host } from '../support/bus.ts';
import { agent } from '../support/agents.ts';
import { until } from '../support/wait.ts';

const sentIn = (out: string): string => /^Sent: (.+)$/m.exec(out)?.[1] ?? '';

/** A message as a file, written by hand. */
function file(fields: string, body = 'words'): string {
  return `---\ntype: text\ntimestamp: 2026-06-09T19:00:00Z\n${fields}\n---\n${body}\n`;
}

const PATH = (n: number): string =>
  `2026/06/09/19000000${String(n)}Z-${String(n).repeat(8).slice(0, 8)}.md`;

/** Puts messages into the channel "general" by hand. */
function put(host: Host, messages: Record<number, string>): void {
  const folder = `data/channels/${host.channel()}`;
  const files = Object.entries(messages).map(([n, text]) => [`${folder}/${PATH(Number(n))}`, text]);
  host.edit(Object.fromEntries(files) as Record<string, string>);
}

it(
  'a worker asks back with options, a number answers it, and the asker gets the final answer',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const mac = await bus.host('mac', { worker: agent('deployer') });
    const running = mac.start();
    const boss = (...argv: string[]): ReturnType<Host['run']> =>
      mac.runWith({ login: 'boss' }, ...argv);
    const task = sentIn((await boss('send', '--to', 'worker', 'please deploy')).out);
    const [back] = await until('the question back', () => {
      const found = bus.from('worker');
      return found.length > 0 ? found : undefined;
    });
    expect(back?.message).toMatchObject({ re: [task], options: ['staging', 'production'] });

    const shown = await boss('read', back?.relPath ?? '');
    expect(shown.out).toMatch(/option +1\) staging\noption +2\) production\n/);
    const replied = await boss('reply', back?.relPath ?? '', '2');

    expect(replied.err).toBe('crosstalk reply: option 2: production\n');
    const reply = bus.from('boss').find(({ relPath }) => relPath === sentIn(replied.out));
    expect(reply?.message).toMatchObject({
      to: [{ name: 'worker', host: 'mac' }],
      re: [back?.relPath],
      body: 'production',
    });
    const final = await until('the final answer', () =>
      bus.from('worker').find(({ message }) => message.body.startsWith('did')),
    );
    expect(final.message.to).toEqual([{ name: 'boss' }]);
    expect(final.message.body).toBe('did: production; begun with: please deploy\n');
    await running.stop();
  },
);

it(
  'a reply to a final answer is a new question in the old thread, whoever asks it',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const mac = await bus.host('mac', { worker: agent('echo-thread') });
    const question = await mac.send('worker', 'please look');
    await mac.once();
    const [answer] = bus.from('worker');
    const again = await mac.runWith({ login: 'carol' }, 'reply', answer?.relPath ?? '', 'and now?');
    const asked = sentIn(again.out);
    expect(bus.from('carol')[0]?.message).toMatchObject({
      to: [{ name: 'worker', host: 'mac' }],
      re: [answer?.relPath],
      asks: true,
    });
    await mac.once();

    const [, second] = bus.from('worker');
    expect(second?.message).toMatchObject({ to: [{ name: 'carol' }], re: [asked] });
    expect(second?.message.body).toContain('please look');
    expect(second?.message.body).toContain(question);
    await mac.once();
    expect(bus.from('worker')).toHaveLength(2);
    // A machine that starts anew does not answer it again.
    const late = await bus.host('late', { worker: agent('echo-thread') });
    await late.once();
    expect(bus.from('worker')).toHaveLength(2);
  },
);

describe('a reply', () => {
  it(
    'goes into the channel of its message, also as text below an option, from stdin or a file',
    { tags: 'long' },
    async () => {
      const bus = new Bus();
      const mac = await bus.host('mac', { worker: 'cat' });
      await mac.run('channel', 'create', 'ops');
      const ops = (await mac.run('channel', 'list', '--json')).out;
      const id = (JSON.parse(ops) as { id: string; name: string }[]).find(
        ({ name }) => name === 'ops',
      )?.id;
      const asked = (
        await mac.runWith(
          { login: 'carol' },
          ...['send', '--to', 'operator', '--channel', 'ops', '--option', 'yes', '--option', 'no'],
          'shall we?',
        )
      ).out;
      const message = sentIn(asked);
      const chosen = await mac.run('reply', '--option', '1', message, 'but slowly');
      expect(chosen.code).toBe(0);
      await mac.runWith({ stdin: 'from stdin' }, 'reply', '--again', message);
      await mac.runWith({ stdin: 'not this' }, 'reply', '--again', '--option', '2', message);
      await mac.runWith({ stdin: 'this too' }, 'reply', '--again', message, 'text', '-');
      const replies = bus.from('operator');
      expect(replies.map(({ channel }) => channel)).toEqual([id, id, id, id]);
      expect(replies.map(({ message: { body } }) => body)).toEqual([
        'yes\n\nbut slowly',
        'from stdin',
        'no',
        'text\n\nthis too',
      ]);
      for (const { message: said } of replies) {
        expect(said.to).toEqual([{ name: 'carol' }]);
        expect(said.asks).toBeUndefined();
      }
    },
  );

  it('to a question that was answered is sent only if it is meant, and to an answer always', async () => {
    const bus = new Bus();
    const mac = await bus.host('mac', { worker: 'cat' });
    const carol = { login: 'carol' };
    const asked = sentIn((await mac.runWith(carol, 'send', '--to', 'operator', 'shall we?')).out);
    await mac.run('reply', asked, 'yes');
    const [first] = bus.from('operator');
    const refused = await mac.run('reply', asked, 'no');
    expect(refused).toMatchObject({ code: 1, out: '' });
    expect(refused.err).toBe(
      `crosstalk reply: you have answered ${asked} already, in ${first?.relPath ?? ''}; to answer once more, add --again\n`,
    );
    const prompts: string[] = [];
    const saying = (word: string) => ({
      ask: (question: string) => {
        prompts.push(question);
        return Promise.resolve(word);
      },
    });
    expect((await mac.runWith(saying('n'), 'reply', asked, 'no')).code).toBe(1);
    expect(bus.from('operator')).toHaveLength(1);
    expect((await mac.runWith(saying('y'), 'reply', asked, 'no')).code).toBe(0);
    expect(prompts[0]).toMatch(/^you have answered this already, in .*; answer again\? \[y\/N\] $/);
    expect((await mac.run('reply', '--again', asked, 'perhaps')).code).toBe(0);
    expect(bus.from('operator').map(({ message }) => message.body)).toEqual([
      'yes',
      'no',
      'perhaps',
    ]);

    for (const more of ['why?', 'and how?'])
      expect((await mac.runWith(carol, 'reply', first?.relPath ?? '', more)).code).toBe(0);
  });

  it('of a wrong form is refused in one line, and nothing is sent', async () => {
    const bus = new Bus();
    const mac = await bus.host('mac', { worker: 'cat' });
    const own = await mac.send('worker', 'hello');
    const asked = sentIn(
      (
        await mac.runWith(
          { login: 'carol' },
          ...['send', '--to', 'operator', '--option', 'yes', '--option', '7', 'well?'],
        )
      ).out,
    );
    const refused = async (...argv: string[]): Promise<string> => {
      const { code, out, err } = await mac.run('reply', ...argv);
      expect([code, out]).toEqual([2, '']);
      expect(err).toMatch(/^crosstalk reply: [^\n]+\n$/);
      return err;
    };
    expect(await refused(own, 'more')).toContain('is from operator, the sender of this reply');
    expect(await refused('--option', '3', asked)).toContain(
      'expected a number from 1 to 2: 1) yes, 2) 7',
    );
    expect(await refused('--option', 'yes', asked)).toContain('expected a number from 1 to 2');
    expect(await refused('--option', '1', '--from', 'carol', own)).toContain('offers no options');
    expect(await refused(asked, ' ')).toContain('the message is empty');
    expect(await refused('hello', 'x')).toContain('is no message');
    const missing = await mac.run('reply', 'ffffffff', 'x');
    expect([missing.code, missing.out]).toEqual([1, '']);
    expect(bus.messages()).toHaveLength(2);
    const none = 'expected a number from 1 to 2: 1) yes, 2) 7';
    expect(await refused(asked, '3')).toContain(`"3" is none of the options: ${none}`);
    // A text that is an option's own is that option, and not the number of another one.
    const seven = await mac.run('reply', asked, '7');
    expect(seven.err).toBe('');
    expect(bus.from('operator').at(-1)?.message.body).toBe('7');
  });

  it('may answer what only waits in the outbox here', async () => {
    const bus = new Bus();
    const mac = await bus.host('mac', { worker: 'echo hello' });
    bus.unplug();
    const queued = await mac.runWith({ login: 'carol' }, 'send', '--to', 'operator', 'you there?');
    const path = /^Queued: (.+)$/m.exec(queued.out)?.[1] ?? '';
    const replied = await mac.run('reply', path, 'yes');
    expect(replied.out).toMatch(/^Queued: /);
    expect(JSON.parse((await mac.run('inbox', '--json', '--questions')).out || '[]')).toEqual([]);
    bus.plug();
    await mac.run('sync');
    expect(bus.from('operator')[0]?.message).toMatchObject({ re: [path], to: [{ name: 'carol' }] });
  });

  it(
    'in a run answers the message that it names, and only one of those that led to it',
    { tags: 'long' },
    async () => {
      const bus = new Bus();
      const mac = await bus.host('mac', {
        lead: agent('answers-first'),
        worker: 'echo done',
      });
      const other = await mac.send('nobody', 'unrelated');
      const task = await mac.send('lead', `first ${other}`);
      await mac.once();
      const said = bus.from('lead');
      expect(said.map(({ message }) => [message.to[0]?.name, message.re, message.body])).toEqual([
        ['operator', [task], 'on it'],
        ['operator', [task], 'refused\n'],
      ]);
      expect(said.every(({ message }) => message.asks === undefined)).toBe(true);
    },
  );
});

it(
  'options of any kind are refused where they are wrong, and shown escaped where others wrote them',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const mac = await bus.host('mac', { worker: 'cat' });
    const wrong = async (...options: string[]): Promise<string> => {
      const words = options.flatMap((option) => ['--option', option]);
      const { code, out, err } = await mac.run('send', '--to', 'worker', ...words, 'which?');
      expect([code, out]).toEqual([2, '']);
      expect(err).toMatch(/^crosstalk send: --option: [^\n]+\n$/);
      return err;
    };
    expect(await wrong('a', ' ')).toContain('is no option');
    expect(await wrong('a\nb')).toContain('is no option');
    expect(await wrong('\u001b[2Jgone')).toContain('is no option');
    expect(await wrong('x'.repeat(201))).toContain('at most 200 characters');
    expect(await wrong('a', 'b', 'a')).toContain('"a" is there twice');
    expect(await wrong(...Array.from({ length: 21 }, (_, n) => String(n)))).toContain('at most 20');
    expect(bus.messages()).toEqual([]);

    const options = ['ok \u202eevil\u200b', 'y'.repeat(200)];
    put(mac, {
      1: file(`from: mallory\nto: operator\noptions: ${JSON.stringify(options)}`, 'which?'),
      2: file(`from: mallory\nto: operator\noptions: ["a\\u001b[2J", "b"]`, 'and?'),
    });
    for (const argv of [
      ['read', PATH(1)],
      ['log', '--to', 'operator'],
      ['inbox'],
      ['inbox', '--questions'],
      ['status'],
    ]) {
      const { out, err } = await mac.run(...argv);
      for (const hidden of ['\u202e', '\u200b', '\u001b'])
        expect(out + err, argv.join(' ')).not.toContain(hidden);
      if (argv[0] !== 'status') expect(out).toContain('1) ok \\u202eevil\\u200b\n');
    }
    const reply = await mac.run('reply', '--option', '1', PATH(1));
    expect(reply.err).toBe('crosstalk reply: option 1: ok \\u202eevil\\u200b\n');
    // What is no list of options is none, and the message is read all the same.
    expect((await mac.run('reply', '--option', '1', PATH(2))).err).toContain('offers no options');
  },
);
