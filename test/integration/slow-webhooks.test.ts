import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { problemOf, eachIn } from '../../src/web/answers.ts';
import { createAdaptorServer, Hono } from '../../src/web/web-packages.ts';
import { WebhookLimits } from '../../src/web/parts.ts';
import { until } from '../support/wait.ts';

/** Bodies of strangers that are read at a time. */
const PLACES = 64;

/** A server that reads each body as that of a stranger who shows a signature. @param longest milliseconds */
async function served(longest: number): Promise<number> {
  const limits = new WebhookLimits(() => performance.now(), longest);
  const app = new Hono();
  app.onError((error) => problemOf(error));
  app.post('/', async ({ req }) => {
    let size = 0;
    const count = (chunk: Uint8Array): void => {
      size += chunk.byteLength;
    };
    await limits.unknown(() => eachIn(req.raw, undefined, count));
    return new Response(`read ${String(size)}`);
  });
  const options = { fetch: app.fetch, createServer, overrideGlobalObjects: false };
  const server = createAdaptorServer(options) as Server;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

interface Client {
  socket: Socket;
  answer: string;
  isClosed: boolean;
}

/** Announces a body of 1,000 bytes, and sends the beginning of it. */
function begins(port: number, beginning: string): Client {
  const client: Client = { socket: connect(port, '127.0.0.1'), answer: '', isClosed: false };
  client.socket.on('error', () => undefined);
  client.socket.on('data', (data: Buffer) => (client.answer += data.toString()));
  client.socket.on('close', () => (client.isClosed = true));
  client.socket.write(`POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 1000\r\n\r\n${beginning}`);
  onTestFinished(() => {
    client.socket.destroy();
  });
  return client;
}

it('bodies of strangers that come too slowly give their places back, and their connections are closed', async () => {
  const port = await served(3000);
  const slow = Array.from({ length: PLACES }, () => begins(port, 'a'));
  // One byte now and then keeps no connection longer.
  const dripping = setInterval(() => {
    for (const { socket } of slow) if (socket.writable) socket.write('a');
  }, 100);
  onTestFinished(() => {
    clearInterval(dripping);
  });
  const whole = 'b'.repeat(1000);
  const answerOf = async (): Promise<string> => {
    const client = begins(port, whole);
    await until('an answer', () => client.answer.includes('\r\n\r\n'));
    return client.answer;
  };
  await until('a server that takes no more', async () => (await answerOf()).includes(' 503 '));
  await until('the ends of the slow ones', () => slow.every(({ isClosed }) => isClosed));
  for (const { answer } of slow) {
    expect(answer).toMatch(/^HTTP\/1\.1 408 /);
    expect(answer).toMatch(/\r\nconnection: close\r\n/i);
    expect(answer).toContain('the body was not there within 3 seconds; send it again');
  }
  expect(await answerOf()).toMatch(/^HTTP\/1\.1 200 /);
});
