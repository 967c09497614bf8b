import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import type { RequestOptions } from '@modelcontextprotocol/sdk/shared/protocol.js';
import { onTestFinished } from 'vitest';
import type { Host } from './bus.ts';

const bin = fileURLToPath(new URL('../../bin/crosstalk.js', import.meta.url));

/** The answer of a tool. */
export interface Called {
  isError: boolean;
  text: string;
  data: Record<string, unknown>;
}

/** The official client, connected to the real program in its own process. */
export class McpClient {
  readonly client = new Client({ name: 'test', version: '1' });
  readonly transport: StdioClientTransport;
  err = '';

  private constructor(host: Host, argv: readonly string[], env: Record<string, string>) {
    const all: NodeJS.ProcessEnv = {
      ...process.env,
      ...host.env,
      CROSSTALK_TRANSPORT: host.dir,
      ...env,
    };
    this.transport = new StdioClientTransport({
      command: process.execPath,
      args: [bin, 'mcp', ...argv],
      cwd: host.bus.root,
      env: Object.fromEntries(
        Object.entries(all).flatMap(([name, value]) =>
          value === undefined ? [] : [[name, value] as const],
        ),
      ),
      stderr: 'pipe',
    });
    this.transport.stderr?.on('data', (chunk: Buffer) => {
      this.err += chunk.toString();
    });
  }

  /** The caller has to close it. */
  static async start(
    host: Host,
    argv: readonly string[] = [],
    env: Record<string, string> = { CROSSTALK_FROM: 'anna' },
  ): Promise<McpClient> {
    const made = new McpClient(host, argv, env);
    await made.client.connect(made.transport);
    return made;
  }

  /** A client that is closed when the test is over. */
  static async of(...given: Parameters<typeof McpClient.start>): Promise<McpClient> {
    const made = await McpClient.start(...given);
    onTestFinished(() => made.client.close());
    return made;
  }

  get pid(): number {
    return this.transport.pid ?? 0;
  }

  async call(name: string, args: object = {}, options?: RequestOptions): Promise<Called> {
    const called = await this.client.callTool({ name, arguments: { ...args } }, undefined, options);
    const content = called.content as { text: string }[];
    return {
      isError: called.isError === true,
      text: content.map(({ text }) => text).join('\n'),
      data: (called.structuredContent ?? {}) as Record<string, unknown>,
    };
  }

  /** A resource's JSON. */
  async read(uri: string): Promise<Record<string, unknown>> {
    const { contents } = await this.client.readResource({ uri });
    const [first] = contents as { text: string }[];
    return JSON.parse(first?.text ?? '') as Record<string, unknown>;
  }
}

/** The child processes of a process that still exist, as Linux shows them. */
export function childrenOf(pid: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((child) => parentOf(child) === pid);
}

function parentOf(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${String(pid)}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return undefined;
  }
}
