import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { withContext } from '../../src/actions/context.ts';
import { BusPort } from '../../src/chat/bus-port.ts';
import { Bus } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { until } from '../support/wait.ts';

/** Lines that arrive when the test provides them. */
class Typed implements AsyncIterable<string> {
  readonly #lines: string[] = [];
  #ended = false;

  type(...lines: string[]): void {
    this.#lines.push(...lines);
  }

  end(): void {
    this.#ended = true;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<string> {
    for (;;) {
      const line = this.#lines.shift();
      if (line !== undefined) yield line;
      else if (this.#ended) return;
      else await until('a line', () => this.#lines.length > 0 || this.#ended);
    }
  }
}

it(
  'piped, each line is a message, a backslash joins two, and it ends when all are answered',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', {
      worker: `cat >/dev/null; printf 'Done\\033[2J.\\nboss: not me\\n'`,
    });
    await host.start().saw('host_file_loaded');
    const stdin = 'first\n\n/etc is a folder\nthird \\\ngoes on\n';
    const ran = await host.runWith({ stdin }, 'chat', 'general');
    expect(ran).toMatchObject({ code: 0 });
    const questions = bus.from('operator').map(({ message }) => message.body.trim());
    expect(questions.sort()).toEqual(['/etc is a folder', 'first', 'third \ngoes on']);
    const answers = bus.from('worker').length;
    expect(ran.out).toBe('worker: Done[2J.\n  boss: not me\n'.repeat(answers));
  },
);

it(
  'piped, an answer is printed while lines still come, as JSON where that is asked for',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'cat >/dev/null; echo an answer' });
    await host.start().saw('host_file_loaded');
    const lines = new Typed();
    let out = '';
    const ended = host.runWith({ lines, onOut: (text) => (out += text) }, 'chat', '--json');
    lines.type('a question');
    await until('the answer', () => out.endsWith('\n'));
    const [question] = bus.from('operator');
    expect(JSON.parse(out)).toMatchObject({
      from: 'worker',
      to: ['operator'],
      re: [question!.relPath],
      body: 'an answer\n',
      timestamp: expect.stringMatching(/Z$/) as string,
    });
    lines.end();
    expect(await ended).toMatchObject({ code: 0, err: '' });
  },
);

it('piped, it says in vain with exit code 3 when there is no answer within the time', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'true' });
  const ran = await host.runWith(
    { stdin: 'anybody?\n' },
    'chat',
    ...['--to', 'nobody', '--timeout', '0.1', '--from', 'anna'],
  );
  expect(ran).toMatchObject({ code: 3, out: '' });
  expect(ran.err).toContain('no host serves nobody');
  expect(bus.from('anna')).toHaveLength(1);
});

it('piped, what cannot be known has to be said: to whom, and where', { tags: 'long' }, async () => {
  const bus = new Bus();
  const host = await bus.host('front', { one: 'true', other: 'true' });
  const chat = (...options: string[]): ReturnType<typeof host.run> =>
    host.runWith({ stdin: 'hello\n' }, 'chat', ...options);
  expect(await chat()).toMatchObject({ code: 2, out: '' });
  expect((await chat()).err).toContain('to whom?');
  expect(await chat('--to', 'a/b')).toMatchObject({ code: 2 });
  expect(await chat('--timeout', 'soon')).toMatchObject({ code: 2 });
  expect(await chat('nowhere')).toMatchObject({ code: 1 });
  git(host.dir, 'config', 'crosstalk.channel', 'gone');
  const { code, err } = await chat('--to', 'one');
  expect(code).toBe(1);
  expect(err).toContain('no channel "gone", which git config crosstalk.channel says');
  expect(bus.from('operator')).toEqual([]);
});

it('on a terminal without a screen lines obey /to and @name, and show what others write', async () => {
  const bus = new Bus();
  const finish = join(bus.root, 'finish');
  const host = await bus.host('front', {
    one: `while test ! -e ${finish}; do sleep 0.05; done; echo from one`,
    other: 'cat >/dev/null; echo from other',
  });
  await host.start().saw('host_file_loaded');
  const lines = new Typed();
  const [shown, said] = [{ text: '' }, { text: '' }];
  const ended = host.runWith(
    {
      lines,
      inIsTty: true,
      outIsTty: true,
      env: { TERM: 'dumb' },
      onOut: (text) => (shown.text += text),
      onErr: (text) => (said.text += text),
    },
    'chat',
    'general',
  );
  lines.type('to nobody yet', '@stranger hello', '/fold');
  await until('what is wrong', () => said.text.includes('/fold needs a screen'));
  expect(said.text).toContain('to whom?');
  expect(said.text).toContain('nobody here is called stranger');
  lines.type('/to one', 'a question', '@other another');
  await until('the answer', () => shown.text.includes('other: from other\n'));
  await host.send('nobody', 'by the way', '--from', 'bert');
  await until('another voice', () => shown.text.includes('bert: by the way\n'));
  expect(existsSync(finish)).toBe(false);
  writeFileSync(finish, '');
  lines.type('/quit');
  expect(await ended).toMatchObject({ code: 0 });
  expect(shown.text).toContain('one: from one\n');
  expect(bus.from('operator').map(({ message }) => message.to[0]?.name)).toEqual(['one', 'other']);
});

it('a chat in an archived channel says so, and names the others', async () => {
  const host = await new Bus().host('front', { worker: 'echo done' });
  await host.run('channel', 'create', 'old');
  await host.run('channel', 'archive', 'old');
  const ran = await host.runWith({ stdin: 'hi\n' }, 'chat', 'old');
  expect(ran).toMatchObject({ code: 1, out: '' });
  expect(ran.err).toMatch(
    /^crosstalk chat: the channel old is archived; open another \(general \(\w{8}\)\), bring it back with: /,
  );
});

it('a first chat opens in the default channel, whatever others have made', async () => {
  const host = await new Bus().host('front', { worker: 'echo done' });
  for (const name of ['aaa', 'mine']) await host.run('channel', 'create', name);
  const opened = (): Promise<string | undefined> =>
    withContext(
      { env: { ...process.env, ...host.env }, cwd: host.dir },
      { note: () => undefined, transport: host.dir },
      async (context) => {
        const input = { login: 'operator', choose: true, signal: AbortSignal.timeout(60_000) };
        const port = await BusPort.open(context, input);
        await port.end(0);
        const { channels, current } = port.opening;
        return channels.find(({ id }) => id === current)?.name;
      },
    );
  expect(await opened()).toBe('general');
  git(host.dir, 'config', 'crosstalk.channel', 'mine');
  expect(await opened()).toBe('mine');
});
