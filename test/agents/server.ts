import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { apiOf, readRequest, type ModelRequest } from './model-request.ts';
import { wire, type Turn, type Used } from './wire.ts';

type Answer = Turn | { shell: string; used?: Used };

/** The fake model's answer to each request, as the whole script of a test; it may take its time. */
export type Script = (request: ModelRequest) => Answer | Promise<Answer>;

/** A model server on loopback that follows a script and records the requests. */
export interface ModelServer {
  /** For example `http://127.0.0.1:<port>`, without a slash at the end. */
  url: string;
  /** Requests to the model, oldest first. */
  requests: ModelRequest[];
  /** Other requests, as `GET /path`: those that a CLI sends to its vendor besides the model's. */
  others: string[];
  close: () => Promise<void>;
}

/** The shell tools of all CLIs, by name. */
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
    const turn = inItsWords(request, await script(request));
    const wired = wire(request, turn, String(requests.length));
    outgoing.writeHead(wired.status, wired.headers).end(wired.body);
  };
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
        server.closeAllConnections();
      }),
  };
}

/** Calls the CLI's own shell tool, with the name and the parameters that the CLI gave it. */
function inItsWords(request: ModelRequest, turn: Answer): Turn {
  if ('status' in turn) return turn;
  // CLIs also send auxiliary requests (a title, a route), which offer no tools.
  if (request.tools.length === 0) return { say: 'ok' };
  if (!('shell' in turn)) return turn;
  const tool = SHELL_TOOLS.find((name) => request.tools.includes(name));
  const { shell: command, used } = turn;
  const by = used === undefined ? {} : { used };
  if (tool === undefined) return { say: `no shell tool among ${request.tools.join(', ')}` };
  if (tool === 'exec_command') return { tool, arguments: { cmd: command }, ...by };
  if (tool === 'shell') return { tool, arguments: { command: ['bash', '-c', command] }, ...by };
  return { tool, arguments: { command, description: 'A command of the script' }, ...by };
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
