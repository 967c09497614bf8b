import { expect, it } from 'vitest';
import { EarlyReplies } from '../../src/dispatcher/socket/early-replies.ts';
import { messageFile } from '../../src/protocol/layout.ts';
import { formatMessage, type Message } from '../../src/protocol/message.ts';
import type { Commit } from '../../src/transport/transport.ts';

const CHANNEL = '15e70c41-7070-4ab8-b708-4984782429a6';
const ELSEWHERE = '25e70c41-7070-4ab8-b708-4984782429a6';
const QUESTION = '2026/11/26/182301797Z-f1e76b53c3c6.md';
const ref = { channel: CHANNEL, relPath: QUESTION };
const never = new AbortController().signal;

const relPathOf = (n: number): string =>
  `2026/11/26/1823${String(n).padStart(5, '0')}Z-a476b1a540b2.md`;

function message(given: Partial<Message> = {}): Message {
  return {
    from: 'worker',
    to: [{ name: 'me' }],
    type: 'text',
    timestamp: '2026-11-26T18:23:02.000Z',
    re: [QUESTION],
    cause: [],
    host: 'back',
    extra: {},
    body: 'done\n',
    ...given,
  };
}

function push(n: number, given: Partial<Message> = {}, channel = CHANNEL): Commit[] {
  const path = messageFile(channel, relPathOf(n));
  const files = [{ path, content: formatMessage(message(given)) }];
  const author = { name: 'worker', email: 'worker@crosstalk.local' };
  const commit = { author, at: '2026-11-26T18:23:02.000Z', subject: 'x', files };
  return [commit];
}

const open = (): EarlyReplies => new EarlyReplies({ stop: never, once: false });

const plain = {
  reply: {
    relPath: relPathOf(1),
    from: 'worker',
    to: [{ name: 'me' }],
    timestamp: '2026-11-26T18:23:02.000Z',
    re: [QUESTION],
    body: 'done\n',
  },
};

it('a plain answer is told once it was pushed, before or after somebody asks for it', async () => {
  const replies = open();
  const waiting = [replies.to(ref, never), replies.to(ref, never)];
  expect(replies.awaited).toBe(2);
  replies.taken(push(1));
  expect(await Promise.all(waiting)).toEqual([plain, plain]);
  expect(await replies.to(ref, never)).toEqual(plain);
  expect(replies.awaited).toBe(0);
});

it('what is more than a plain answer, or long, is only said to be there', async () => {
  const failed = { reason: 'exit_code', attempts: 3, host: 'back', dead_letter: 'x' };
  for (const given of [
    { interim: true },
    { failed },
    { cancels: QUESTION },
    { body: 'x'.repeat(70_000) },
  ] as const) {
    const replies = open();
    replies.taken(push(1, given));
    expect(await replies.to(ref, never), JSON.stringify(given).slice(0, 60)).toEqual({});
  }
});

it('what does not reply to the question, or is in another channel, or no message, is no news', async () => {
  const replies = open();
  const waiting = replies.to(ref, never);
  replies.taken(push(2, { re: [], cause: [QUESTION] }));
  replies.taken(push(3, { re: [], body: `See ${QUESTION}.\nre: ${QUESTION}\n` }));
  replies.taken(push(4, {}, ELSEWHERE));
  const broken = push(5)[0]!;
  const files = [
    { path: messageFile(CHANNEL, relPathOf(6)), content: `re: [${QUESTION}` },
    { path: `data/channels/${CHANNEL}/CHANNEL.md`, content: broken.files[0]!.content },
  ];
  replies.taken([{ ...broken, files }]);
  expect(replies.awaited).toBe(1);
  replies.taken(push(1));
  expect(await waiting).toEqual(plain);
});

it('no more than a few messages are kept, and who goes away leaves nothing behind', async () => {
  const replies = open();
  replies.taken(push(1));
  for (let n = 2; n < 18; n++) replies.taken(push(n, { re: [] }));
  const leave = new AbortController();
  const waiting = replies.to(ref, leave.signal);
  expect(replies.awaited).toBe(1);
  leave.abort();
  await expect(waiting).rejects.toThrow('no longer waiting');
  expect(replies.awaited).toBe(0);
  await expect(replies.to(ref, leave.signal)).rejects.toThrow('no longer waiting');
});

it('a dispatcher that stops ends all waits, and one pass of a dispatcher allows none', async () => {
  const stop = new AbortController();
  const replies = new EarlyReplies({ stop: stop.signal, once: false });
  const waiting = replies.to(ref, never);
  stop.abort();
  await expect(waiting).rejects.toThrow('no longer waiting');
  const once = new EarlyReplies({ stop: never, once: true });
  once.taken(push(1));
  await expect(once.to(ref, never)).rejects.toThrow('no longer waiting');
});
