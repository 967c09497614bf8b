import type { Socket } from 'node:net';

/** Enough for a message of 1 MiB of which every byte takes six in JSON. */
const MAX_LINE = 8 * 1024 * 1024;
const FIRST_ROOM = 4096;
const LINE_FEED = 10;

/**
 * Passes on each line once it has arrived completely. The cost grows with what arrives, however
 * small the pieces are; a connection that sends a line longer than 8 MiB is closed.
 */
export function onLines(socket: Socket, receive: (line: string) => void): void {
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
