import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { apiOf, readRequest, type ModelRequest } from './model-request.ts';
import { wire, type Turn } from './wire.ts';

/** What the fake model does with each request; the test's whole script. */
export type Script = (request: ModelRequest) => Turn;

/** A model server on loopback that follows a script and remembers what it was asked. */
export interface ModelServer {
  /** As `http://127.0.0.1:<port>`, no slash at the end. */
  url: string;
  /** Requests to the model, oldest first. */
  requests: ModelRequest[];
  /** Other requests, as `GET /path`: what a CLI asks its vendor for beside the model. */
  others: string[];
  close: () => Promise<void>;
}

/** The shell tool of each CLI, by the names they have. */
const SHELL_TOOLS = [
  'Bash',
  'bash',
  'exec_command',
  'shell_command',
  'shell',
  'run_shell_command',
  'local_shell',
];

/** Starts the server; it answers until `close()`, which also cuts open connections. */
export async function startModelServer(script: Script): Promise<ModelServer> {
  const requests: ModelRequest[] = [];
  const others: string[] = [];
  const server = createServer((incoming, outgoing) => {
    void answer(incoming, outgoing);
  });
  const answer = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const path = new URL(incoming.url ?? '/', 'http://localhost').pathname;
    const body = await read(incoming);
    const api = apiOf(incoming.method ?? '', path);
    if (api === undefined) {
      others.push(`${incoming.method ?? ''} ${path}`);
      outgoing.writeHead(404, { 'content-type': 'application/json' }).end('{}');
      return;
    }
    const request = readRequest(api, path, body);
    requests.push(request);
    const turn = shellOf(request) === undefined ? side(script(request)) : script(request);
    const wired = wire(request, turn, String(requests.length));
    outgoing.writeHead(wired.status, wired.headers).end(wired.body);
  };
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    requests,
    others,
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        for (const socket of sockets) socket.destroy();
      }),
  };
}

/** A call of the CLI's own shell tool, under the name and in the shape that CLI gave it. */
export function shell(request: ModelRequest, command: string): Turn {
  const tool = shellOf(request);
  if (tool === undefined) throw new Error(`no shell tool among: ${request.tools.join(', ')}`);
  const description = 'A command of the script';
  if (tool === 'exec_command') return { tool, arguments: { cmd: command } };
  if (tool === 'shell') return { tool, arguments: { command: ['bash', '-lc', command] } };
  return { tool, arguments: { command, description } };
}

function shellOf(request: ModelRequest): string | undefined {
  return SHELL_TOOLS.find((name) => request.tools.includes(name));
}

/** CLIs ask beside the point too (a title, a route): those get words and the same refusals. */
function side(turn: Turn): Turn {
  return 'status' in turn ? turn : { say: 'ok' };
}

async function read(incoming: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8')) as unknown;
  } catch {
    return undefined;
  }
}
