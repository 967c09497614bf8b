import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { Bus, type Host } from '../support/bus.ts';
import type { Ran } from '../support/command.ts';
import { path as relPathOf } from '../support/messages.ts';
import { copyOfPackage } from '../support/service.ts';
import { wait } from '../../src/wait.ts';
import { until } from '../support/wait.ts';

// A `send` or an `ask` that a dispatcher takes over, in the built program.

interface Options {
  env?: NodeJS.ProcessEnv;
  /** Interrupts the command. */
  end?: AbortSignal;
  /** What a pipe holds, which stays open; without it there is none. */
  stdin?: string;
}

interface Installed {
  send: (words: string[], options?: Options) => Promise<Ran>;
  ask: (words: string[], options?: Options) => Promise<Ran>;
  /** The parts of the program that commands have loaded. */
  loaded: () => string[];
}

function installed(host: Host): Installed {
  const { bin, main } = copyOfPackage();
  const run = (words: string[], { env = {}, end, stdin }: Options = {}): Promise<Ran> =>
    new Promise((resolve) => {
      const child = spawn(process.execPath, [bin, ...words], {
        cwd: host.dir,
        env: { ...process.env, ...host.env, ...env },
        stdio: [stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
      });
      child.stdin?.on('error', () => undefined);
      child.stdin?.write(stdin ?? '');
      const ran = { code: -1, out: '', err: '' };
      child.stdout?.on('data', (chunk: Buffer) => (ran.out += chunk.toString()));
      child.stderr?.on('data', (chunk: Buffer) => (ran.err += chunk.toString()));
      child.once('close', (code) => {
        resolve({ ...ran, code: code ?? -1 });
      });
      end?.addEventListener('abort', () => child.kill('SIGINT'));
    });
  return {
    send: (words, options) => run(['send', ...words], options),
    ask: (words, options) => run(['ask', ...words], options),
    loaded: () =>
      readdirSync(dirname(main)).flatMap((name) => /^(\w+)\.cjs\..*\.cache$/.exec(name)?.[1] ?? []),
  };
}

/** Listens where the dispatcher of a host would; returns what it was asked. */
async function listening(host: Host, answer: (socket: Socket) => void): Promise<string[]> {
  const asked: string[] = [];
  const before = process.umask(0o177);
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      asked.push(chunk.toString());
      answer(socket);
    });
  }).listen(join(host.state, 'wake.sock'));
  process.umask(before);
  await until('a listener', () => server.listening);
  onTestFinished(() => {
    server.close();
  });
  return asked;
}

const sent = (relPath: string): object => ({
  channel: '01990000-0000-7000-8000-000000000000',
  from: 'me',
  messages: [{ relPath, to: ['worker'], re: [], cause: [] }],
  delivered: { published: true, direct: false },
});

const line = (send: object): string => `${JSON.stringify({ pid: 1, send })}\n`;
const HELLO = ['--to', 'worker', '--from', 'me', 'hello'];

it('a send to a dispatcher loads nothing but the first part of the program', async () => {
  const bus = new Bus();
  const host = await bus.host('here', { worker: 'true' });
  const running = host.start();
  const { send, loaded } = installed(host);
  await until('a dispatcher', () => running.count('dispatcher_started') > 0);
  const plain = await send([...HELLO, '--tier', 'default']);
  expect(plain).toMatchObject({ code: 0, err: '' });
  expect(plain.out).toMatch(/^Sent: \S+\.md\n$/);
  const json = await send([...HELLO, '--json']);
  expect(loaded()).toEqual(['main']);
  const { messages } = JSON.parse(json.out) as { messages: [{ relPath: string }] };
  const stored = bus
    .from('me')
    .map(({ relPath, message }) => [relPath, message.body, message.tier]);
  expect(stored).toHaveLength(2);
  expect(stored).toContainEqual([messages[0].relPath, 'hello', undefined]);
  expect(stored).toContainEqual([plain.out.slice('Sent: '.length).trim(), 'hello', 'default']);
});

it('what is on stdin is left out with a word, and an open pipe with nothing in it is not waited for', async () => {
  const host = await new Bus().host('here', { worker: 'true' });
  const asked = await listening(host, (socket) =>
    socket.end(line({ sent: sent(relPathOf(1)), notes: [] })),
  );
  const { send } = installed(host);
  expect(await send(HELLO, { stdin: '' })).toEqual({
    code: 0,
    out: `Sent: ${relPathOf(1)}\n`,
    err: '',
  });
  const { out, err } = await send(HELLO, { stdin: 'a line\n' });
  expect(out).toBe(`Sent: ${relPathOf(1)}\n`);
  expect(err).toMatch(/^crosstalk send: what is on stdin was left out/);
  expect(asked).toHaveLength(2);
});

it('what a dispatcher refuses is told, and it is not asked again', async () => {
  const host = await new Bus().host('here', { worker: 'true' });
  const error = { code: 'usage', message: 'nobody is called worker' };
  const asked = await listening(host, (socket) => socket.end(line({ error, notes: ['a note'] })));
  const ran = await installed(host).send(HELLO);
  expect(ran).toEqual({
    code: 2,
    out: '',
    err: 'crosstalk send: a note\ncrosstalk send: nobody is called worker\n',
  });
  expect(asked).toHaveLength(1);
});

it('notes of a dispatcher are shown beside what it has sent', async () => {
  const host = await new Bus().host('here', { worker: 'true' });
  const asked = await listening(host, (socket) =>
    socket.end(line({ sent: sent(relPathOf(1)), notes: ['worker is served by nobody'] })),
  );
  expect(await installed(host).send(HELLO)).toEqual({
    code: 0,
    out: `Sent: ${relPathOf(1)}\n`,
    err: 'crosstalk send: worker is served by nobody\n',
  });
  expect(asked).toHaveLength(1);
});

it('a message whose dispatcher ends without a word is sent once, under the name that it was given', async () => {
  const bus = new Bus();
  const host = await bus.host('here', { worker: 'true' });
  const asked = await listening(host, (socket) => socket.destroy());
  const ran = await installed(host).send(HELLO);
  expect(ran).toMatchObject({ code: 0, out: expect.stringMatching(/^Sent: /) as string });
  const { request } = JSON.parse(asked[0] ?? '') as { request: { at: string } };
  const [stored, ...more] = bus.from('me');
  expect(more).toEqual([]);
  expect(stored?.message.timestamp).toBe(request.at);
});

it('a question is asked once', async () => {
  const bus = new Bus();
  const host = await bus.host('here', { worker: 'cat > /dev/null; echo done' });
  const running = host.start();
  const { ask } = installed(host);
  await until('a dispatcher', () => running.count('dispatcher_started') > 0);
  expect(await ask(['worker', '--from', 'me', 'hello'])).toEqual({
    code: 0,
    out: 'done\n',
    err: '',
  });
  const json = await ask(['worker', '--from', 'me', 'hello', '--json']);
  expect(JSON.parse(json.out)).toMatchObject({ state: 'REPLIED', answer: { body: 'done\n' } });
  expect(bus.from('me')).toHaveLength(2);
});

it('a question that a dispatcher refuses is told as any other, and it is asked once', async () => {
  const host = await new Bus().host('here', { worker: 'true' });
  const error = { code: 'usage', message: 'nobody is called worker' };
  const asked = await listening(host, (socket) => socket.end(line({ error, notes: ['a note'] })));
  const ran = await installed(host).ask(['worker', '--from', 'me', 'hello']);
  expect(ran).toEqual({
    code: 2,
    out: '',
    err: 'crosstalk ask: a note\ncrosstalk ask: nobody is called worker\n',
  });
  expect(asked).toHaveLength(1);
  const { request } = JSON.parse(asked[0] ?? '') as { request: { input: { awaited: boolean } } };
  expect(request.input.awaited).toBe(true);
});

it('a question whose dispatcher ends without a word is sent once, by the command', async () => {
  const bus = new Bus();
  const host = await bus.host('here', { worker: 'true' });
  const asked = await listening(host, (socket) => socket.destroy());
  const stop = new AbortController();
  const ran = installed(host).ask(['worker', '--from', 'me', 'hello'], { end: stop.signal });
  await until('the question', () => bus.from('me').length > 0);
  stop.abort();
  expect((await ran).err).toContain('crosstalk wait ');
  const { request } = JSON.parse(asked[0] ?? '') as { request: { at: string } };
  expect(bus.from('me').map(({ message }) => message.timestamp)).toEqual([request.at]);
});

it.each(['SIGINT', 'SIGTERM'] as const)(
  '%s ends a command that writes into a pipe which is full, and which nobody reads',
  async (signal) => {
    const host = await new Bus().host('here', { worker: 'true' });
    const asked = await listening(host, (socket) =>
      socket.end(line({ sent: sent(relPathOf(1)), notes: [] })),
    );
    const { bin } = copyOfPackage();
    const full = 'mkfifo full && exec 3<>full && dd if=/dev/zero of=full oflag=nonblock bs=512';
    const child = spawn(
      'sh',
      ['-c', `${full}; exec "$@" >full`, 'sh', process.execPath, bin, 'send', ...HELLO],
      { cwd: host.dir, env: { ...process.env, ...host.env }, stdio: 'ignore' },
    );
    const ended = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
    onTestFinished(() => {
      child.kill('SIGKILL');
    });
    await until('a question', () => asked.length > 0);
    // Sooner, and it would not be writing yet.
    await wait(500);
    child.kill(signal);
    const [code, by] = await ended;
    expect(by ?? code).toBe(by === null ? { SIGINT: 130, SIGTERM: 143 }[signal] : signal);
  },
);

it('Ctrl-C ends the wait for a dispatcher, and who has it is told that it may be sent', async () => {
  const host = await new Bus().host('here', { worker: 'true' });
  let stop = new AbortController();
  await listening(host, () => {
    stop.abort();
  });
  const { send, ask } = installed(host);
  for (const run of [
    () => send(HELLO, { end: stop.signal }),
    () => send([...HELLO, '--no-wait'], { end: stop.signal }),
    () => ask(['worker', 'hello'], { end: stop.signal }),
  ]) {
    const { code, out, err } = await run();
    expect({ code, out }).toEqual({ code: 130, out: '' });
    expect(err).toMatch(/interrupted; .*may (have sent it|be on its way)/);
    stop = new AbortController();
  }
});
