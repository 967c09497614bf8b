import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { CrosstalkError, reasonOf } from '../../errors.ts';
import { readInRun } from './run-files.ts';
import { text, type Call } from './command.ts';

/**
 * The text for a command: its argument; stdin for `-`, or when there is no argument and stdin is
 * not a terminal; or the file of `--file` (cli.md).
 *
 * @param what the name of the text for errors, such as `message`
 * @throws CrosstalkError `usage` when there is no text, when there are two, and when a file cannot
 *   be read
 */
export async function readBody(call: Call, what: string): Promise<string> {
  const { io, args } = call;
  const argument = args[0];
  const file = text(call, 'file');
  if (file !== undefined && argument !== undefined) {
    throw new CrosstalkError('usage', 'both a text and --file were given; give one of them');
  }
  if (file !== undefined) {
    if (io.agentMode !== undefined) return readInRun(io.agentMode, io.cwd, file);
    try {
      return await readFile(resolve(io.cwd, file), 'utf8');
    } catch (error) {
      throw new CrosstalkError(
        'usage',
        `--file ${file} cannot be read: ${reasonOf(error)}; name another`,
        { cause: error },
      );
    }
  }
  if (argument !== undefined && argument !== '-') return argument;
  const piped = io.readStdin();
  if (piped === undefined)
    throw new CrosstalkError(
      'usage',
      `the ${what} has no text; give it as an argument, on stdin, or with --file <path>`,
    );
  return piped;
}
