import { readFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import type { ConnectionOptions, NatsConnection } from '@nats-io/transport-node';
import { CrosstalkError, reasonOf } from '../errors.ts';
import { shown } from '../protocol/text/result.ts';
import type { BellSettings } from './settings.ts';
import type * as packages from './nats-packages.ts';

/** Milliseconds in which a server has to accept the connection. */
const CONNECT_MS = 5000;
/** Milliseconds between two pings; a server that leaves two unanswered counts as gone. */
const PING_MS = 10_000;

/**
 * Connects to one of the servers of a bell. Only servers from the settings are contacted: a server cannot send us to
 * others.
 *
 * @param settings `echo`: whether our own publications come back to us
 * @throws CrosstalkError `refused` with the remedy
 */
export async function connectBell(
  settings: BellSettings,
  { echo }: { echo: boolean },
): Promise<NatsConnection> {
  const packages = await import('./nats-packages.ts');
  guardConnections(packages);
  const { servers, tls, user, password, files } = settings;
  const creds = await content(files.credentials, 'crosstalk.bellCredentials');
  const ca = await content(files.ca, 'crosstalk.bellCa');
  const cert = await content(files.cert, 'crosstalk.bellCert');
  const key = await content(files.key, 'crosstalk.bellKey');
  const options: ConnectionOptions = {
    servers,
    name: 'crosstalk',
    // Reconnecting is decided in one place (line.ts).
    reconnect: false,
    ignoreClusterUpdates: true,
    noEcho: !echo,
    timeout: CONNECT_MS,
    pingInterval: PING_MS,
    ...(tls && {
      tls: {
        ...(ca && { ca: ca.toString('utf8') }),
        ...(cert && { cert: cert.toString('utf8') }),
        ...(key && { key: key.toString('utf8') }),
      },
    }),
    ...(creds && { authenticator: packages.credsAuthenticator(creds) }),
    // A name without a password is a token, as with NATS's own tools.
    ...(user !== undefined &&
      (password === undefined ? { token: user } : { user, pass: password })),
  };
  try {
    return await packages.connect(options);
  } catch (error) {
    throw new CrosstalkError('refused', explained(error, settings), { cause: error });
  }
}

/**
 * Resolves when the server refuses to let us publish, which means that it is configured wrongly, or when the connection
 * ends.
 *
 * @returns the reason
 */
export async function refusalIn(connection: NatsConnection): Promise<string> {
  for await (const status of connection.status())
    if (status.type === 'error' && status.error.name === 'PermissionViolationError')
      return `${shown(status.error.message)}; ask the operator of the server for the right`;
  return endOf(connection);
}

/** Resolves when a connection has ended, with the reason; the server may have chosen the text. */
async function endOf(connection: NatsConnection): Promise<string> {
  const error = await connection.closed();
  return error ? shown(error.message) : 'the server ended it';
}

async function content(path: string | undefined, setting: string): Promise<Buffer | undefined> {
  if (path === undefined) return undefined;
  try {
    return await readFile(path);
  } catch (error) {
    throw new CrosstalkError(
      'refused',
      `${setting} cannot be read: ${reasonOf(error)}; name a file that is there`,
      { cause: error },
    );
  }
}

/** Returns the reason why there is no connection, and what to do. */
function explained(error: unknown, { servers, tls, files, user }: BellSettings): string {
  const where = servers.join(', ');
  const reason = reasonOf(error);
  if (/authorization violation|authentication/i.test(reason)) {
    const shows = files.credentials ?? (user === undefined ? 'none' : 'those of the address');
    return `${where} refuses the credentials (${shows}); get valid ones, and name their file: git config crosstalk.bellCredentials <file>`;
  }
  if (reason.includes('unable to parse credentials'))
    return `crosstalk.bellCredentials ${files.credentials ?? ''} holds no credentials of NATS; name the .creds file that the server's operator made`;
  if (/certificate|self.signed|TLS|SSL|issuer/i.test(reason)) {
    const next = tls
      ? 'name the certificates that sign those of the server: git config crosstalk.bellCa <file>'
      : 'use tls:// in crosstalk.bell';
    return `${where}: no safe connection: ${shown(reason)}; ${next}`;
  }
  if (/timeout|refused|ENOTFOUND|EAI_AGAIN|EHOST|ENET|reset/i.test(reason))
    return `${where} cannot be reached: ${shown(reason)}; see that a NATS server runs there, and that the address is right: git config crosstalk.bell`;
  return `${where} does not answer as a NATS server: ${shown(reason)}; see git config crosstalk.bell`;
}

/** Most bytes of a server's line; the INFO line of a server in a large cluster has half of it. */
const MOST_LINE_BYTES = 64 * 1024;
/** Milliseconds over which bytes and lines are counted. */
const WINDOW_MS = 10_000;
/**
 * Most bytes in a window. A proper server keeps 64 MiB for a client that does not read, and the rest of a
 * flood arrives after we stop it.
 */
const MOST_BYTES = 128 * 1024 * 1024;
/**
 * Most protocol lines in a window that are not messages, each of which may need a reply; a proper server
 * sends a few a minute.
 */
const MOST_LINES = 1000;

type Handler = InstanceType<typeof packages.ProtocolHandler>;

/** The library's step before each attempt to connect, which its types do not declare. */
interface Preparing {
  prepare: (this: Handler) => Promise<void>;
}

/** The library's reader of a server's first line, which its types do not declare. */
interface Peeking {
  socket: Socket;
  peekInfo: () => Promise<unknown>;
}

const guarded = new WeakSet<object>();

/**
 * Bounds the harm a server can do through the library, which trusts it: the library concatenates an endless first line
 * again at each packet, keeps a connection that it gave up, and, after input that it cannot parse, prints it and stops
 * reading while the connection goes on to fill the memory. A server that does any of this loses the connection.
 */
function guardConnections({ ProtocolHandler }: typeof packages): void {
  const prototype = ProtocolHandler.prototype as unknown as Preparing;
  if (guarded.has(prototype)) return;
  guarded.add(prototype);
  const { prepare } = prototype;
  prototype.prepare = function () {
    const letIn = prepare.call(this);
    const { transport } = this;
    // Without this, a connection that was not accepted in time stays open.
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
    // The library removes this listener, together with its own, once the line is complete.
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.byteLength;
      if (bytes > MOST_LINE_BYTES)
        socket.destroy(new Error('more than 64 KiB before the end of its first line'));
    });
    return peek();
  };
}

/** Watches everything after the first line, with or without TLS, before the library parses it. */
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
    // The same bytes may have completed the connection just before, which the library notices only later.
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
      // The library would print the server's words.
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

/** Milliseconds in which the published message has to come back. */
const ECHO_MS = 5000;

/**
 * Connects to a bell, publishes a message that nobody takes for a ring, and waits until it comes back.
 *
 * @returns the server that was reached
 * @throws CrosstalkError `refused` with the remedy
 */
export async function hearItself(settings: BellSettings): Promise<string> {
  const connection = await connectBell(settings, { echo: true });
  const server = connection.getServer();
  const said = `${settings.subject}.echo`;
  let timer: NodeJS.Timeout | undefined;
  try {
    const problem = await new Promise<string | undefined>((resolve) => {
      timer = setTimeout(resolve, ECHO_MS, 'nothing that is said there comes back');
      connection.subscribe(`${settings.subject}.*`, {
        callback: (error, { subject }) => {
          if (error) resolve(shown(error.message));
          else if (subject === said) resolve(undefined);
        },
      });
      void refusalIn(connection).then(resolve);
      connection.publish(said, '');
    });
    if (problem === undefined) return server;
    throw new CrosstalkError('refused', `${server}: ${problem}`);
  } finally {
    clearTimeout(timer);
    await connection.close().catch(() => undefined);
  }
}
