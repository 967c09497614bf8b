import { chmod, mkdir, rm } from 'node:fs/promises';
import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { dirname } from 'node:path';
import type { Outcome } from './publisher.ts';

/** What other processes of this machine may ask the dispatcher, one JSON object a line. */
export type WakeRequest =
  | { op: 'ping' }
  | { op: 'wake' }
  /** Publish entries that are in the outbox already; answered once each was pushed or failed. */
  | { op: 'publish'; ids: string[] }
  /** Answered once the bus's tip is another than this, at once if it is already. */
  | { op: 'news'; tip: string }
  /** Write and publish a message; whoever made the dispatcher knows how. */
  | { op: 'send'; request: unknown };

export interface WakeAnswer {
  pid: number;
  tip?: string;
  send?: unknown;
  outcomes?: Record<string, Outcome>;
}

/** A message of 1 MiB whose every byte takes six in JSON. */
const MAX_LINE = 8 * 1024 * 1024;

/**
 * The dispatcher's ear: a unix socket in the state directory. Nothing depends on its answers:
 * a message is in the outbox before anybody speaks of it, or the command that hands it over still
 * has it and can do the same again. The caller holds the dispatcher lock, so a socket file that
 * is already there belongs to nobody alive.
 *
 * @param answer told by `gone` when nobody waits for its answer any more; who is refused one finds
 *   the socket closed
 */
export async function listen(
  path: string,
  answer: (request: WakeRequest, gone: AbortSignal) => Promise<WakeAnswer>,
): Promise<{ close: () => Promise<void> }> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await rm(path, { force: true });
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    const gone = new AbortController();
    open.add(socket);
    socket.once('close', () => {
      open.delete(socket);
      gone.abort();
    });
    onLines(socket, (line) => {
      const request = parseRequest(line);
      if (request === undefined) socket.destroy();
      else
        void answer(request, gone.signal).then(
          (reply) => socket.write(`${JSON.stringify(reply)}\n`),
          () => socket.destroy(),
        );
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, resolve);
  });
  await chmod(path, 0o600);
  return { close: () => closeServer(server, open, path) };
}

async function closeServer(server: Server, open: Set<Socket>, path: string): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  for (const socket of open) socket.end();
  const timer = setTimeout(() => {
    for (const socket of open) socket.destroy();
  }, 200);
  await closed;
  clearTimeout(timer);
  await rm(path, { force: true });
}

/** `nobody`: none is listening, or it went away before it answered, or we no longer wait for it. */
export type Asked =
  { kind: 'answered'; answer: WakeAnswer } | { kind: 'nobody' } | { kind: 'timeout' };

/**
 * Asks the running dispatcher.
 *
 * @param timeout milliseconds to wait for the answer
 * @param signal ends the wait
 */
export function ask(
  path: string,
  request: WakeRequest,
  timeout: number,
  signal?: AbortSignal,
): Promise<Asked> {
  return new Promise((resolve) => {
    const socket = createConnection(path);
    const done = (asked: Asked): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
      socket.destroy();
      resolve(asked);
    };
    const abort = (): void => {
      done({ kind: 'nobody' });
    };
    const timer = setTimeout(() => {
      done({ kind: 'timeout' });
    }, timeout);
    socket.once('error', () => {
      done({ kind: 'nobody' });
    });
    socket.once('close', () => {
      done({ kind: 'nobody' });
    });
    onLines(socket, (line) => {
      const answer = parseAnswer(line);
      done(answer === undefined ? { kind: 'nobody' } : { kind: 'answered', answer });
    });
    socket.write(`${JSON.stringify(request)}\n`);
    signal?.addEventListener('abort', abort, { once: true });
    if (signal?.aborted === true) abort();
  });
}

function onLines(socket: Socket, receive: (line: string) => void): void {
  let pending = '';
  socket.setEncoding('utf8');
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk: string) => {
    const lines = (pending + chunk).split('\n');
    pending = lines.pop() ?? '';
    if (pending.length > MAX_LINE) socket.destroy();
    for (const line of lines) receive(line);
  });
}

function parseRequest(line: string): WakeRequest | undefined {
  const value = parseJson(line) as
    Partial<{ op: string; ids: unknown; request: unknown; tip: unknown }> | null | undefined;
  if (value?.op === 'ping' || value?.op === 'wake') return { op: value.op };
  if (value?.op === 'news')
    return typeof value.tip === 'string' ? { op: 'news', tip: value.tip } : undefined;
  if (value?.op === 'send') return { op: 'send', request: value.request };
  if (value?.op !== 'publish' || !Array.isArray(value.ids)) return undefined;
  return { op: 'publish', ids: value.ids.filter((id): id is string => typeof id === 'string') };
}

function parseAnswer(line: string): WakeAnswer | undefined {
  const value = parseJson(line) as Partial<WakeAnswer> | null | undefined;
  return typeof value?.pid === 'number' ? (value as WakeAnswer) : undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
