import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { listen } from '../../src/dispatcher/socket/wake.ts';
import type { WakeAnswer } from '../../src/dispatcher/socket/wake-lines.ts';
import { withContext, type Context } from '../../src/actions/context.ts';
import { ask } from '../../src/actions/sending/ask.ts';
import { earlyAnswer } from '../../src/actions/sending/early-answer.ts';
import { Bus, scratch, type Host } from '../support/bus.ts';
import { until } from '../support/wait.ts';

const CHANNEL = '15e70c41-7070-4ab8-b708-4984782429a6';
const QUESTION = '2026/11/26/182301797Z-f1e76b53c3c6.md';
const ref = { channel: CHANNEL, relPath: QUESTION };
const never = new AbortController().signal;
const FAR = 60_000;
const reply = {
  relPath: '2026/11/26/182302000Z-a476b1a540b2.md',
  from: 'worker',
  to: [{ name: 'me' }],
  timestamp: '2026-11-26T18:23:02.000Z',
  re: [QUESTION],
  body: 'done\n',
};

/** Asks as the command does; `opened` counts how often the transport was opened for that. */
async function asking(
  host: Host,
  body: string,
  { atFirst = FAR }: { atFirst?: number } = {},
): Promise<{ said: string[]; opened: number; ending: string }> {
  const env = { ...process.env, ...host.env };
  const surroundings = { env, cwd: host.dir };
  let opened = 0;
  const sender = {
    surroundings,
    transport: host.dir,
    note: () => undefined,
    open: <T>(work: (context: Context) => Promise<T>): Promise<T> => {
      opened += 1;
      return withContext(surroundings, { transport: host.dir, note: () => undefined }, work);
    },
    hands: 'whole' as const,
  };
  const input = { to: 'worker', from: 'me', body, isNew: false, wait: true, login: 'me' };
  const { question, ending } = await ask(sender, input, { timeout: FAR, signal: never, atFirst });
  return { said: question.replies.map(({ message }) => message.body), opened, ending };
}

it(
  'an answer that comes at once is told by the dispatcher, and the transport is not opened',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'cat > /dev/null; echo done' });
    await host.start().saw('host_file_loaded');
    expect(await asking(host, 'hello')).toEqual({
      said: ['done\n'],
      opened: 0,
      ending: 'complete',
    });
    // It is what is on the remote, and this machine has a note of it a moment later.
    const [answer] = bus.from('worker');
    expect(answer?.message.body).toBe('done\n');
    await until('the note', async () => (await host.run('log')).out.includes('done'));
    expect((await host.run('replies', bus.from('me')[0]?.relPath ?? '')).out).toContain('REPLIED');
  },
);

it(
  'an answer that comes later, or says more, is looked for in the transport',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', {
      worker:
        'grep -q aside && crosstalk send --for current --to me "a word first" > /dev/null; echo done',
    });
    await host.start().saw('host_file_loaded');
    expect(await asking(host, 'hello', { atFirst: 0 })).toEqual({
      said: ['done\n'],
      opened: 1,
      ending: 'complete',
    });
    const more = await asking(host, 'say something aside');
    expect(more.ending).toBe('complete');
    expect(more.said.at(-1)).toBe('done\n');
  },
);

it('what the socket says of an answer is taken apart as hostile text', async () => {
  const folder = scratch();
  const place = { socket: join(folder, 'ear.sock'), pins: join(folder, 'pins.json') };
  let told: WakeAnswer = { pid: 1 };
  const ear = await listen(place.socket, () => Promise.resolve(told));
  const wait = (): ReturnType<typeof earlyAnswer> =>
    earlyAnswer(place, ref, { timeout: FAR, signal: never });
  told = { pid: 1, reply };
  expect(await wait()).toMatchObject({ state: 'REPLIED', replies: [{ relPath: reply.relPath }] });
  for (const odd of [
    undefined,
    null,
    'done',
    [],
    {},
    { ...reply, relPath: '../../x' },
    { ...reply, from: '\u001b[2J' },
    { ...reply, to: 'me' },
    { ...reply, to: [{ name: 7 }] },
    { ...reply, re: 'x' },
    { ...reply, re: ['2026/11/26/182301797Z-000000000000.md'] },
    { ...reply, body: 7 },
    { ...reply, timestamp: 7 },
  ]) {
    told = { pid: 1, ...(odd !== undefined && { reply: odd }) };
    expect(await wait(), JSON.stringify(odd)).toBeUndefined();
  }
  // Whoever pins keys is told whether an answer is signed, which takes a closer look.
  told = { pid: 1, reply };
  writeFileSync(place.pins, '{"version":1,"pins":[]}');
  expect(await wait()).toBeUndefined();
  await ear.close();
});

it('a dispatcher that knows nothing of this is not waited for', async () => {
  const folder = scratch();
  const place = { socket: join(folder, 'ear.sock'), pins: join(folder, 'pins.json') };
  const limits = { timeout: FAR, signal: never };
  expect(await earlyAnswer(place, ref, limits)).toBeUndefined();
  const ear = await listen(place.socket, () => Promise.reject(new Error('unknown request')));
  expect(await earlyAnswer(place, ref, limits)).toBeUndefined();
  await ear.close();
});

it(
  'the command prints an answer that comes at once as it prints any other',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'cat > /dev/null; echo done' });
    await host.start().saw('host_file_loaded');
    expect(await host.run('ask', 'worker', 'hello')).toEqual({ code: 0, out: 'done\n', err: '' });
    const json = await host.run('ask', 'worker', '--json', 'again');
    const [, answer] = bus.from('worker');
    const said = expect.objectContaining({ relPath: answer?.relPath, body: 'done\n' }) as unknown;
    expect(JSON.parse(json.out)).toEqual({
      channel: answer?.channel,
      message: answer?.message.re[0],
      state: 'REPLIED',
      replies: [said],
      failures: [],
      held_up: [],
      answer: said,
    });
  },
);
