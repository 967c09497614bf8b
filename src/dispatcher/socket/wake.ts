import { chmod } from 'node:fs/promises';
import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { type WakeRequest, type WakeAnswer, parseAnswer, parseRequest } from './wake-lines.ts';
import { findSocket, makeSocketPath, removeSocket } from './socket-path.ts';

/** Requests of one connection that are answered at a time; each of our commands makes one. */
const MAX_UNDERWAY = 8;
/** Most bytes of answers that a client may leave unread before it asks for more. */
const MAX_UNREAD = 8 * 1024 * 1024;

/**
 * Listens on the dispatcher's unix socket, known by a path in the state directory. Nothing depends on its answers: a
 * message is in the outbox before a request mentions it, or the command that passes it on still has it and can do the
 * same itself. The caller holds the dispatcher lock, so an existing socket file belongs to no living process.
 *
 * @param answer learns from `gone` when nobody waits for its answer any more; a sender who is refused an answer finds
 * the socket closed
 * @throws CrosstalkError `refused` where other users of this machine could take its place
 */
export async function listen(
  path: string,
  answer: (request: WakeRequest, gone: AbortSignal) => Promise<WakeAnswer>,
): Promise<{ close: () => Promise<void> }> {
  const place = await makeSocketPath(path);
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    const gone = new AbortController();
    open.add(socket);
    socket.once('close', () => {
      open.delete(socket);
      gone.abort();
    });
    let underway = 0;
    onLines(socket, (line) => {
      const request = parseRequest(line);
      if (request === undefined || underway >= MAX_UNDERWAY || socket.writableLength > MAX_UNREAD) {
        socket.destroy();
        return;
      }
      underway++;
      void answer(request, gone.signal).then(
        (reply) => {
          underway--;
          socket.write(`${JSON.stringify(reply)}\n`);
        },
        () => socket.destroy(),
      );
    });
  });
  const { isMainThread } = await import('node:worker_threads');
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    // The socket is created within the call, so it belongs to this user from the first moment. In a session's
    // directory, a process could put a symlink in its place before a `chmod`.
    const before = isMainThread ? process.umask(0o177) : undefined;
    server.listen(place, resolve);
    if (before !== undefined) process.umask(before);
  });
  if (!isMainThread) await chmod(place, 0o600);
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
  await removeSocket(path);
}

/**
 * `nobody`: no process is listening, or it ended before it answered, or we no longer wait for it,
 * or the process that listens may not be our dispatcher.
 */
export type WakeResult =
  { kind: 'answered'; answer: WakeAnswer } | { kind: 'nobody' } | { kind: 'timeout' };

/**
 * Sends a request to the running dispatcher.
 *
 * @param timeout milliseconds to wait for the answer
 * @param signal ends the wait
 * @param onAsked called once the request is on its way
 */
export async function ask(
  path: string,
  request: WakeRequest,
  timeout: number,
  signal?: AbortSignal,
  onAsked?: () => void,
): Promise<WakeResult> {
  const ear = findSocket(path);
  if (ear.kind !== 'found') return { kind: 'nobody' };
  return new Promise((resolve) => {
    const socket = createConnection(ear.path);
    const done = (asked: WakeResult): void => {
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
    socket.write(`${JSON.stringify(request)}\n`, () => onAsked?.());
    signal?.addEventListener('abort', abort, { once: true });
    if (signal?.aborted === true) abort();
  });
}

/** Enough for a message of 1 MiB of which every byte takes six in JSON. */
const MAX_LINE = 8 * 1024 * 1024;
const FIRST_ROOM = 4096;
const LINE_FEED = 10;

/**
 * Passes on each line once it has arrived completely. The cost grows with what arrives, however
 * small the pieces are; a connection that sends a line longer than 8 MiB is closed.
 */
function onLines(socket: Socket, receive: (line: string) => void): void {
  let room = Buffer.alloc(0);
  let used = 0;
  const keep = (part: Buffer): void => {
    if (used + part.length > room.length) {
      const larger = Buffer.allocUnsafe(Math.max(FIRST_ROOM, 2 * room.length, used + part.length));
      room.copy(larger, 0, 0, used);
      room = larger;
    }
    part.copy(room, used);
    used += part.length;
  };
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk: Buffer) => {
    for (let rest = chunk; !socket.destroyed;) {
      const end = rest.indexOf(LINE_FEED);
      const part = end < 0 ? rest : rest.subarray(0, end);
      if (used + part.length > MAX_LINE) {
        socket.destroy();
        return;
      }
      if (end < 0 || used > 0) keep(part);
      if (end < 0) return;
      const line = used > 0 ? room.toString('utf8', 0, used) : part.toString('utf8');
      used = 0;
      receive(line);
      rest = rest.subarray(end + 1);
    }
  });
}
