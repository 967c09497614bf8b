import { lookup } from 'node:dns/promises';
import { createServer, request, type IncomingMessage, type Server } from 'node:http';
import { BlockList, connect, isIP, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** Addresses of this machine and its surroundings, to which the name of a host must not lead. */
const LOCAL = new BlockList();
for (const [net, bits] of [
  ['0.0.0.0', 8],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['224.0.0.0', 4],
] as const)
  LOCAL.addSubnet(net, bits, 'ipv4');
for (const [net, bits] of [
  ['::', 127],
  ['fe80::', 10],
  ['ff00::', 8],
] as const)
  LOCAL.addSubnet(net, bits, 'ipv6');

/** Most open connections of one run. */
const MOST_SOCKETS = 200;

/** Reports a connection that is not allowed to the log. */
type Refused = (host: string, port: number) => void;

/**
 * Opens the network access of a sandboxed run: an HTTP proxy on a socket of its own, which connects to allowed hosts
 * only. It checks names and ports, not content.
 *
 * @param socket the path of a unix socket
 * @param refused called for each connection that was not allowed
 */
export async function openProxy(
  socket: string,
  allowed: readonly Allowed[],
  refused: Refused,
): Promise<{ close: () => Promise<void> }> {
  const server = createServer((asked, answer) => {
    const url = URL.canParse(asked.url ?? '') ? new URL(asked.url ?? '') : undefined;
    const port = Number(url?.port === '' ? 80 : (url?.port ?? 0));
    if (url?.protocol !== 'http:' || !mayReach(allowed, url.hostname, port)) {
      refused(url?.hostname ?? '', port);
      answer.writeHead(403, { connection: 'close' }).end(NOT_ALLOWED);
      return;
    }
    void addressOf(url.hostname).then(
      (host) => {
        const onward = request(
          {
            ...{ host, port, method: asked.method, path: `${url.pathname}${url.search}` },
            headers: { ...withoutHops(asked), host: url.host },
            agent: false,
          },
          (came) => {
            answer.writeHead(came.statusCode ?? 502, came.headers);
            came.pipe(answer);
          },
        );
        onward.on('error', () => answer.destroy());
        answer.on('close', () => onward.destroy());
        asked.pipe(onward);
      },
      () => answer.writeHead(502, { connection: 'close' }).end(),
    );
  });
  server.maxConnections = MOST_SOCKETS;
  server.on('connect', (asked: IncomingMessage, client: Duplex, head: Buffer) => {
    client.on('error', () => undefined);
    const [, host = '', digits = ''] = /^\[?([^\]]*?)\]?:(\d{1,5})$/.exec(asked.url ?? '') ?? [];
    const port = Number(digits);
    if (!mayReach(allowed, host, port)) {
      refused(host, port);
      client.end(`HTTP/1.1 403 Forbidden\r\nconnection: close\r\n\r\n${NOT_ALLOWED}`);
      return;
    }
    void tunnel(client, host, port, head);
  });
  server.on('clientError', (_, client) => client.destroy());
  await listening(server, socket);
  return {
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
        for (const open of tunnels) if (open.server === server) open.socket.destroy();
      }),
  };

  async function tunnel(client: Duplex, host: string, port: number, head: Buffer): Promise<void> {
    const address = await addressOf(host).catch(() => undefined);
    if (address === undefined) {
      client.end('HTTP/1.1 502 Bad Gateway\r\nconnection: close\r\n\r\n');
      return;
    }
    const onward = connect({ host: address, port });
    const entry = { server, socket: onward };
    tunnels.add(entry);
    onward.once('connect', () => {
      client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      onward.write(head);
      client.pipe(onward).pipe(client);
    });
    onward.on('error', () => client.destroy());
    client.on('close', () => onward.destroy());
    onward.on('close', () => {
      tunnels.delete(entry);
      client.destroy();
    });
  }
}

const NOT_ALLOWED = 'the sandbox of this run does not reach this host\n';
const tunnels = new Set<{ server: Server; socket: Socket }>();

/**
 * Returns the address of a host. A name that leads to this machine is refused; an address that was allowed
 * explicitly is not.
 */
async function addressOf(host: string): Promise<string> {
  if (isIP(host) !== 0) return host;
  const { address, family } = await lookup(host);
  if (host !== 'localhost' && LOCAL.check(address, family === 6 ? 'ipv6' : 'ipv4'))
    throw new Error(`${host} is an address of this machine`);
  return address;
}

function withoutHops({ headers }: IncomingMessage): IncomingMessage['headers'] {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !HOPS.includes(name)));
}

/** Headers that are meant for the proxy. */
const HOPS = ['connection', 'proxy-authorization', 'proxy-connection'];

function listening(server: Server, socket: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(socket, () => {
      resolve();
    });
  });
}

/** An allowed host: a name, perhaps with all names below it, and a port if only one is meant. */
interface Allowed {
  name: string;
  below: boolean;
  port?: number;
}

/** Parses a host in a sandbox's settings: `api.example.com`, `*.example.com`, `127.0.0.1:8080`. */
export function allowedOf(text: string): Allowed {
  const [, star, name = '', port] = /^(\*\.)?(.*?)(?::(\d+))?$/.exec(text.toLowerCase()) ?? [];
  return { name, below: star !== undefined, ...(port !== undefined && { port: Number(port) }) };
}

/** Allowed ports of a host without a port. */
const USUAL_PORTS = [80, 443];

function mayReach(allowed: readonly Allowed[], host: string, port: number): boolean {
  const name = host.toLowerCase().replace(/\.$/, '');
  return allowed.some(
    (one) =>
      (one.below ? name.endsWith(`.${one.name}`) : name === one.name) &&
      (one.port === undefined ? USUAL_PORTS.includes(port) : one.port === port),
  );
}
