import { spawn } from 'node:child_process';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** Serves repositories by smart HTTP on loopback, and counts what goes over its connections. */
export class HttpRemote {
  /** Where the repositories below its folder are. */
  readonly url: string;
  readonly #server;
  readonly #open = new Set<Socket>();
  #over = 0;

  private constructor(server: ReturnType<typeof createServer>) {
    this.#server = server;
    this.url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
    server.on('connection', (socket) => {
      this.#open.add(socket);
      socket.once('close', () => {
        this.#open.delete(socket);
        this.#over += bytesOf(socket);
      });
    });
  }

  static async start(root: string): Promise<HttpRemote> {
    const server = createServer((request, response) => {
      backend(root, request, response);
    });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    return new HttpRemote(server);
  }

  /** Bytes in both directions, without the headers of TCP. */
  get bytes(): number {
    return [...this.#open].reduce((sum, socket) => sum + bytesOf(socket), this.#over);
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

function bytesOf({ bytesRead, bytesWritten }: Socket): number {
  return bytesRead + bytesWritten;
}

/** One request, answered by git's own http-backend. */
function backend(root: string, request: IncomingMessage, response: ServerResponse): void {
  const url = new URL(request.url ?? '/', 'http://localhost');
  const child = spawn('git', ['http-backend'], {
    env: {
      PATH: process.env['PATH'],
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      PATH_INFO: url.pathname,
      QUERY_STRING: url.search.slice(1),
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
      HTTP_GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
      REMOTE_USER: 'bench',
      REMOTE_ADDR: '127.0.0.1',
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  child.stdin.on('error', () => undefined);
  request.pipe(child.stdin);
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  child.once('close', () => {
    const all = Buffer.concat(chunks);
    const end = all.indexOf('\r\n\r\n');
    for (const line of all.subarray(0, end).toString('latin1').split('\r\n')) {
      const colon = line.indexOf(':');
      const [name, value] = [line.slice(0, colon), line.slice(colon + 1).trim()];
      if (name === 'Status') response.statusCode = Number.parseInt(value, 10);
      else response.setHeader(name, value);
    }
    response.end(all.subarray(end + 4));
  });
}
