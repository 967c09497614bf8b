import { createServer, type Server, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import type { BellSettings } from '../../src/bell/settings.ts';

const INFO =
  'INFO {"server_id":"x","server_name":"x","version":"2.10.0","proto":1,"headers":true,"max_payload":1048576}\r\n';
/** Words without end stop after so many bytes, so that a test ends where nothing stops them. */
const END = 8 * 1024 * 1024;

/** What a false server says to whoever connects, and after it has let them in. */
interface Words {
  /** Said at once; a proper server says what it is. */
  first?: string;
  /** Said again and again after that. */
  firstEndless?: string;
  /** Said together with the words that let a client in. */
  then?: string;
  thenEndless?: string;
  /** The bytes after which words without end stop. */
  end?: number;
  /** Said to whoever begins to listen, once. */
  heard?: string;
  /** Whether the server ends the connection after its words. */
  isEnded?: boolean;
}

/** A server on loopback that is no NATS server, or a hostile one. */
export class FalseNats {
  /** Connections that there were. */
  count = 0;
  readonly #server: Server;
  readonly #open = new Set<Socket>();

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(words: Words): Promise<FalseNats> {
    const {
      first = INFO,
      firstEndless,
      then = '',
      heard = '',
      thenEndless,
      end = END,
      isEnded = false,
    } = words;
    const server = createServer();
    const self = new FalseNats(server);
    server.on('connection', (socket) => {
      self.count++;
      self.#open.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => self.#open.delete(socket));
      socket.write(first);
      if (firstEndless !== undefined) repeat(socket, firstEndless, END);
      let [isIn, isHeard] = [false, false];
      socket.on('data', (bytes) => {
        if (!isHeard && bytes.includes('SUB ')) {
          isHeard = true;
          socket.write(heard);
        }
        const pings = bytes.toString('latin1').split('PING\r\n').length - 1;
        if (pings === 0) return;
        socket.write(Buffer.from('PONG\r\n'.repeat(pings), 'latin1'));
        if (isIn) return;
        isIn = true;
        socket.write(Buffer.from(then, 'latin1'));
        if (thenEndless !== undefined) repeat(socket, thenEndless, end);
        if (isEnded) socket.end();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      for (const socket of self.#open) socket.destroy();
      server.close();
    });
    return self;
  }

  /** Connections that nobody has ended. */
  get open(): number {
    return this.#open.size;
  }

  get address(): string {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('it does not listen');
    return `127.0.0.1:${String(address.port)}`;
  }

  get url(): string {
    return `nats://${this.address}`;
  }

  get settings(): BellSettings {
    return { servers: [this.address], tls: false, files: {}, subject: 'crosstalk.x' };
  }
}

function repeat(socket: Socket, words: string, end: number): void {
  const bytes = Buffer.from(words.repeat(Math.ceil(65_536 / words.length)), 'latin1');
  let left = end;
  const more = (): void => {
    while (left > 0 && !socket.destroyed) {
      left -= bytes.length;
      if (!socket.write(bytes)) {
        socket.once('drain', more);
        return;
      }
    }
  };
  more();
}
