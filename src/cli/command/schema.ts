import { resolve } from 'node:path';
import { readInRun, readTextFile } from './body.ts';
import { text, type Call } from './command.ts';

/**
 * The input's part for `--schema`: the text of its file, which whoever writes the message examines.
 *
 * @throws CrosstalkError `usage` for a file that cannot be read, or that a run may not send
 */
export async function readSchema(call: Call): Promise<{ schema?: string }> {
  const { agentMode, cwd } = call.io;
  const file = text(call, 'schema');
  if (file === undefined) return {};
  if (agentMode === undefined)
    return { schema: await readTextFile(resolve(cwd, file), `--schema ${file}`, 'name another') };
  return { schema: await readInRun(agentMode, cwd, file, '--schema') };
}
