import type { Socket } from 'node:net';
import type * as packages from './nats-packages.ts';

/** The most bytes of a line of a server; what a server of a large cluster says of itself takes half of it. */
const MOST_LINE_BYTES = 64 * 1024;
/** The time in which the following is counted, in milliseconds. */
const WINDOW_MS = 10_000;
/** A proper server keeps 64 MiB for a client that does not read, and the rest of a flood arrives after we stop it. */
const MOST_BYTES = 128 * 1024 * 1024;
/** Lines that are no messages, each of which may want an answer; a proper server sends a few a minute. */
const MOST_LINES = 1000;

type Handler = InstanceType<typeof packages.ProtocolHandler>;

/** What the library does before each attempt to connect; its types do not show it. */
interface Preparing {
  prepare: (this: Handler) => Promise<void>;
}

/** How the library reads the first line of a server; its types do not show it. */
interface Peeking {
  socket: Socket;
  peekInfo: () => Promise<unknown>;
}

const guarded = new WeakSet<object>();

/**
 * Bounds what a server can do to us through the library, which trusts it: it joins all of a first line that
 * never ends again at each packet, keeps a connection that it gave up, and, after words that it cannot parse,
 * prints them and stops reading while the connection goes on to fill the memory. Whoever does such things
 * loses the connection.
 */
export function guardConnections({ ProtocolHandler }: typeof packages): void {
  const prototype = ProtocolHandler.prototype as unknown as Preparing;
  if (guarded.has(prototype)) return;
  guarded.add(prototype);
  const { prepare } = prototype;
  prototype.prepare = function () {
    const letIn = prepare.call(this);
    const { transport } = this;
    // Without this, a connection that was not let in in time stays open.
    letIn.catch(() => {
      transport.discard();
    });
    limitFirstLine(transport as unknown as Peeking);
    guardParser(this);
    return letIn;
  };
}

/** Ends the connection of a server whose first line does not end. The library reads it before any TLS. */
function limitFirstLine(transport: Peeking): void {
  const peek = transport.peekInfo.bind(transport);
  transport.peekInfo = () => {
    const { socket } = transport;
    let bytes = 0;
    // The library takes this listener away, together with its own, when the line is there.
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.byteLength;
      if (bytes > MOST_LINE_BYTES)
        socket.destroy(new Error('more than 64 KiB before the end of its first line'));
    });
    return peek();
  };
}

/** Sees all that the library reads after the first line, with TLS as without, before the library does. */
function guardParser(handler: Handler): void {
  const { transport, parser } = handler;
  const parse = parser.parse.bind(parser);
  let isLost = false;
  let since = -Infinity;
  let bytes = 0;
  let lines = 0;
  const lose = (why: string): void => {
    isLost = true;
    const error = new Error(why);
    transport.discard();
    handler.connectError?.(error);
    // The same words may have let us in just before, which the library finds out only now.
    setImmediate(() => {
      if (handler.connected && handler.transport === transport)
        void handler.close(error).catch(() => undefined);
    });
  };
  parser.dispatcher = {
    push: (said) => {
      const event = said as Parameters<Handler['push']>[0];
      if (event.msg === undefined && ++lines > MOST_LINES) throw new TooMuch('lines');
      handler.push(event);
    },
  };
  parser.parse = (chunk) => {
    if (isLost) return;
    const now = performance.now();
    if (now - since >= WINDOW_MS) {
      since = now;
      bytes = 0;
      lines = 0;
    }
    bytes += chunk.byteLength;
    try {
      if (bytes > MOST_BYTES) throw new TooMuch('bytes');
      parse(chunk);
      if ((parser.argBuf?.length ?? 0) > MOST_LINE_BYTES) throw new TooMuch('line');
    } catch (error) {
      // The library would print its words.
      lose(error instanceof TooMuch ? error.message : 'it does not keep to the protocol of NATS');
    }
  };
}

class TooMuch extends Error {
  constructor(of: 'line' | 'lines' | 'bytes') {
    super(
      {
        line: 'it says a line of more than 64 KiB',
        lines: 'it says more than 1,000 lines in 10 s',
        bytes: 'it says more than 128 MiB in 10 s',
      }[of],
    );
  }
}
