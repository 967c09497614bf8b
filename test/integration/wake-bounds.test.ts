import { createConnection } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { ask, listen } from '../../src/dispatcher/socket/wake.ts';
import type { WakeAnswer } from '../../src/dispatcher/socket/wake-lines.ts';
import { scratch } from '../support/bus.ts';
import { until } from '../support/wait.ts';

const PING = `${JSON.stringify({ op: 'ping' })}\n`;

/** A socket whose answers are given by `answer`, and a connection to it that reads only when told to. */
async function connected(answer: () => Promise<WakeAnswer>) {
  const path = join(scratch(), 's');
  let isClosed = false;
  const ear = await listen(path, (_, gone) => {
    gone.addEventListener('abort', () => (isClosed = true));
    return answer();
  });
  const socket = createConnection(path).pause();
  socket.on('error', () => undefined);
  onTestFinished(async () => {
    socket.destroy();
    await ear.close();
  });
  return { path, socket, isClosed: () => isClosed };
}

it('a connection with more requests than are answered at a time is closed, and others are served', async () => {
  const requests: ((answer: WakeAnswer) => void)[] = [];
  const { path, socket, isClosed } = await connected(
    () => new Promise((resolve) => requests.push(resolve)),
  );
  socket.resume().write(PING.repeat(8));
  await until('eight requests', () => requests.length === 8);
  expect(isClosed()).toBe(false);
  socket.write(PING.repeat(1000));
  await until('the end of the connection', isClosed);
  expect(requests).toHaveLength(8);

  const asked = ask(path, { op: 'ping' }, 30_000);
  await until('the other request', () => requests.length === 9);
  requests[8]?.({ pid: 1 });
  expect(await asked).toMatchObject({ kind: 'answered' });
});

it('a connection that leaves its answers unread is closed before they fill the memory', async () => {
  let answered = 0;
  const long = 'x'.repeat(400_000);
  const { socket, isClosed } = await connected(() => {
    answered++;
    return Promise.resolve({ pid: 1, send: long });
  });
  while (!isClosed() && answered < 100) {
    const before = answered;
    socket.write(PING);
    await until('an answer, or the end', () => answered > before || isClosed());
  }
  expect(answered).toBeLessThan(40);
});
