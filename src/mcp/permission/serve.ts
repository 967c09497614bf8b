import type { Readable, Writable } from 'node:stream';
import { eachLine } from './rpc.ts';
import { PermissionServer, type Ask } from './server.ts';

/** Bytes of one line; the input of a question may be much shorter (`MAX_TOOL_INPUT`). */
const MAX_LINE = 16 * 1024 * 1024;

/**
 * Serves an agent CLI on its pipes until it closes them.
 *
 * @returns false when it sent a line that is too long: the server then ends, so that the CLI, which gets no
 *   answer, takes what it asked for as denied
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
