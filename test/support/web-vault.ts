import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An MCP server over HTTP with one tool, `open`. */
export interface WebVault {
  /** On loopback. */
  url: string;
  /** What its tool was called with in the header `Authorization`. */
  calls: string[];
  /** Command lines of this machine that held what was given in that header, while the tool was called. */
  seen: string[];
  close: () => Promise<void>;
}

interface Request {
  id?: number | string;
  method: string;
  params?: { protocolVersion?: string };
}

export async function startWebVault(): Promise<WebVault> {
  const vault = { calls: [] as string[], seen: [] as string[] };
  const server = createServer((incoming, outgoing) => {
    void answer(incoming, outgoing);
  });
  const answer = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    let body = '';
    for await (const chunk of incoming) body += String(chunk);
    if (incoming.method !== 'POST') {
      outgoing.writeHead(405).end();
      return;
    }
    const { id, method, params } = JSON.parse(body) as Request;
    if (id === undefined) {
      outgoing.writeHead(202).end();
      return;
    }
    if (method === 'tools/call') {
      const given = incoming.headers.authorization ?? '';
      vault.calls.push(given);
      vault.seen.push(...commandLines().filter((line) => line.includes(given.slice(7))));
    }
    const result = RESULTS[method]?.(params);
    const said =
      result === undefined ? { error: { code: -32601, message: 'no method' } } : { result };
    outgoing
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ jsonrpc: '2.0', id, ...said }));
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    ...vault,
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/mcp`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}

const RESULTS: Record<string, ((params: Request['params']) => unknown) | undefined> = {
  initialize: (params) => ({
    protocolVersion: params?.protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'web-vault', version: '1.0.0' },
  }),
  ping: () => ({}),
  'tools/list': () => ({
    tools: [
      {
        name: 'open',
        description: 'Says what is in the vault.',
        inputSchema: { type: 'object', properties: {} },
        annotations: { readOnlyHint: true },
      },
    ],
  }),
  'tools/call': () => ({ content: [{ type: 'text', text: 'The vault on the web is open.' }] }),
};

/** The command lines of all processes of this machine. */
function commandLines(): string[] {
  return readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid))
    .flatMap((pid) => {
      try {
        return [readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')];
      } catch {
        return []; // It has ended.
      }
    });
}
