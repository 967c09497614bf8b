import { expect, it } from 'vitest';
import { chatByLines } from '../../../src/chat/lines.ts';

/** What is sent of some lines that are typed into a chat. */
async function sentOf(...lines: string[]): Promise<string[]> {
  const sent: string[] = [];
  const port = {
    opening: { to: 'worker', current: { kind: 'channel' } },
    addresses: () => Promise.resolve([]),
    skills: () => Promise.resolve([]),
    send: (_where: unknown, { body }: { body: string }) => {
      sent.push(body);
      return { entry: { relPath: String(sent.length) }, sent: Promise.resolve({}) };
    },
    news: async function* () {
      await Promise.resolve();
      yield* [];
    },
  };
  await chatByLines(port as never, {
    lines: (async function* () {
      await Promise.resolve();
      yield* lines;
    })(),
    isPerson: false,
    timeout: 1,
    show: () => undefined,
    note: () => undefined,
    signal: new AbortController().signal,
  });
  return sent;
}

it('a line that ends with a backslash goes on with the next one, and is sent where none follows', async () => {
  expect(await sentOf('one', 'two \\', 'three')).toEqual(['one', 'two \nthree']);
  expect(await sentOf('the path C:\\')).toEqual(['the path C:']);
});
