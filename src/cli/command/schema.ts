import { resolve } from 'node:path';
import { readTextFile } from './body.ts';
import { text, type Call } from './command.ts';
import { readInRun } from './run-files.ts';

/**
 * The input's part for `--schema`: the text of its file, which whoever writes the message examines.
 *
 * @throws CrosstalkError `usage` for a file that cannot be read, or that a run may not send
 */
export async function readSchema(call: Call): Promise<{ schema?: string }> {
  const { agentMode, cwd } = call.io;
  const file = text(call, 'schema');
  if (file === undefined) return {};
  const schema =
    agentMode === undefined
      ? await readTextFile(resolve(cwd, file), `--schema ${file}`, 'name another')
      : await readInRun(agentMode, cwd, file, '--schema');
  return { schema };
}
