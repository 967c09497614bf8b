import type { Readable, Writable } from 'node:stream';
import { reasonOf } from '../../errors.ts';

/** Bytes of one line; the input of a question may be much shorter (`MAX_TOOL_INPUT`). */
const MAX_LINE = 16 * 1024 * 1024;

/**
 * Serves an agent CLI on its pipes until it closes them.
 *
 * @returns false when it sent a line that is too long: the server then ends, so that the CLI, which gets no answer,
 * takes its request as denied
 */
export async function servePermission(
  pipes: { input: Readable; output: Writable },
  ask: Ask,
  version: string,
): Promise<boolean> {
  const server = new PermissionServer(ask, version);
  pipes.output.on('error', () => {
    server.close();
  });
  const isWhole = await eachLine(pipes.input, MAX_LINE, (line) => {
    void server.receive(line).then((reply) => {
      if (reply !== undefined) pipes.output.write(`${JSON.stringify(reply)}\n`);
    });
  });
  server.close();
  return isWhole;
}

/** Answer to an agent CLI about its request. */
export type Verdict =
  /** `input`: exactly the input that was shown to the person who allowed it. */
  | { behavior: 'allow'; updatedInput: Record<string, unknown> }
  | { behavior: 'deny'; message: string };

/** Asks whether a tool may be used with an input; ends early when the CLI does not wait any more. */
export type Ask = (
  call: { tool: string; input: Record<string, unknown> },
  gone: AbortSignal,
) => Promise<Verdict>;

/** The version that is spoken with a client which names none. */
const VERSION = '2025-06-18';
/** Most calls that are answered at a time; a CLI makes a few. */
const MOST_CALLS = 64;

const TOOL = {
  name: 'ask',
  description:
    'Asks a person whether a tool may be used. It is called by the agent CLI, not by the model.',
  inputSchema: {
    type: 'object',
    properties: {
      tool_name: { type: 'string' },
      input: { type: 'object' },
      tool_use_id: { type: 'string' },
    },
    required: ['tool_name', 'input'],
  },
} as const;

/**
 * Server that an agent CLI asks for permission: one tool, over the Model Context Protocol. It answers any input in
 * the form of the protocol, and a call that cannot be read is denied.
 */
export class PermissionServer {
  readonly #ask: Ask;
  readonly #version: string;
  readonly #calls = new Map<unknown, AbortController>();

  /** @param version of this program */
  constructor(ask: Ask, version: string) {
    this.#ask = ask;
    this.#version = version;
  }

  /**
   * Takes a line that the client has sent.
   *
   * @returns the answer; undefined if none is due
   */
  async receive(line: string): Promise<Reply | undefined> {
    if (line.trim() === '') return undefined;
    let message: unknown;
    try {
      message = JSON.parse(line);
    } catch {
      return failure(null, -32_700, 'this is no JSON');
    }
    if (!isRecord(message)) return failure(null, -32_600, 'one object a line is expected');
    const { id, method, params } = message;
    if (typeof method !== 'string')
      return id === undefined || 'result' in message || 'error' in message
        ? undefined
        : failure(id, -32_600, 'a method is expected');
    if (id === undefined) {
      if (method === 'notifications/cancelled' && isRecord(params))
        this.#calls.get(params['requestId'])?.abort();
      return undefined;
    }
    if (typeof id !== 'string' && typeof id !== 'number')
      return failure(null, -32_600, 'an id is a text or a number');
    return this.#answer(id, method, isRecord(params) ? params : {});
  }

  /** Ends all calls: the client is gone. */
  close(): void {
    for (const call of this.#calls.values()) call.abort();
  }

  async #answer(
    id: string | number,
    method: string,
    params: Record<string, unknown>,
  ): Promise<Reply | undefined> {
    switch (method) {
      case 'initialize': {
        const { protocolVersion: asked } = params;
        const version = typeof asked === 'string' && /^\d{4}-\d\d-\d\d$/.test(asked);
        return success(id, {
          protocolVersion: version ? asked : VERSION,
          capabilities: { tools: {} },
          serverInfo: { name: 'crosstalk permission', version: this.#version },
        });
      }
      case 'ping':
        return success(id, {});
      case 'tools/list':
        return success(id, { tools: [TOOL] });
      case 'tools/call':
        return params['name'] === TOOL.name
          ? this.#call(id, params['arguments'])
          : failure(id, -32_602, 'there is no such tool');
      default:
        return failure(id, -32_601, 'there is no such method');
    }
  }

  async #call(id: string | number, given: unknown): Promise<Reply | undefined> {
    if (this.#calls.has(id) || this.#calls.size >= MOST_CALLS)
      return said(
        id,
        deny('too many questions at once, or two with the same id; ask one at a time'),
      );
    const { tool_name: tool, input } = isRecord(given) ? given : {};
    if (typeof tool !== 'string' || tool === '' || !isRecord(input))
      return said(id, deny('the question cannot be read: a tool and its input are expected'));
    const call = new AbortController();
    this.#calls.set(id, call);
    try {
      const verdict = await this.#ask({ tool, input }, call.signal);
      // A request that was cancelled is not answered.
      return call.signal.aborted ? undefined : said(id, verdict);
    } catch (error) {
      return said(id, deny(`nobody could be asked: ${reasonOf(error)}`));
    } finally {
      this.#calls.delete(id);
    }
  }
}

function deny(message: string): Verdict {
  return { behavior: 'deny', message };
}

function said(id: string | number, verdict: Verdict): Reply {
  return success(id, { content: [{ type: 'text', text: JSON.stringify(verdict) }] });
}

function success(id: string | number, result: unknown): Reply {
  return { jsonrpc: '2.0', id, result };
}

function failure(id: unknown, code: number, message: string): Reply {
  return {
    jsonrpc: '2.0',
    id: typeof id === 'string' || typeof id === 'number' ? id : null,
    error: { code, message },
  };
}

/** An answer to one request (JSON-RPC 2.0). */
type Reply =
  | { jsonrpc: '2.0'; id: string | number; result: unknown }
  | { jsonrpc: '2.0'; id: string | number | null; error: { code: number; message: string } };

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const LINE_FEED = 10;

/**
 * Passes on each line of a stream once it has arrived; resolves at its end.
 *
 * @param limit the most bytes of a line
 * @returns whether the stream came to its end; false if a line was longer, after which nothing more is read
 */
export async function eachLine(
  stream: AsyncIterable<Buffer>,
  limit: number,
  take: (line: string) => void,
): Promise<boolean> {
  let [parts, size] = [[] as Buffer[], 0];
  for await (const chunk of stream) {
    let rest = chunk;
    for (let end = rest.indexOf(LINE_FEED); end >= 0; end = rest.indexOf(LINE_FEED)) {
      if (size + end > limit) return false;
      take(Buffer.concat([...parts, rest.subarray(0, end)]).toString('utf8'));
      [parts, size] = [[], 0];
      rest = rest.subarray(end + 1);
    }
    size += rest.length;
    if (size > limit) return false;
    if (rest.length > 0) parts.push(rest);
  }
  return true;
}
