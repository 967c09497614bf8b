import { KNOWN_AGENTS } from '../../agents/agents.ts';
import { commandLine, programToFind } from '../../agents/command-line.ts';
import { didYouMean } from '../../protocol/text/nearest.ts';
import { canStart } from '../path.ts';

/** Returns the program of a command line, if it cannot be started here. */
export async function missingProgram(
  { env, cwd }: { env: NodeJS.ProcessEnv; cwd: string },
  cli: string,
): Promise<string | undefined> {
  const program = programToFind(commandLine(cli), env['HOME']);
  if (program === undefined || (await canStart(program, env['PATH'] ?? '', cwd))) return undefined;
  return program;
}

/** Notes that the program of a command line cannot be started here, with the known agent it may mean. */
export async function noteMissingProgram(
  { env, cwd, note }: { env: NodeJS.ProcessEnv; cwd: string; note: (line: string) => void },
  cli: string,
): Promise<void> {
  const program = await missingProgram({ env, cwd }, cli);
  if (program === undefined) return;
  const names = KNOWN_AGENTS.map(({ name }) => name);
  const where = program.includes('/') ? 'is not there' : 'is not on the PATH';
  note(`${program} ${where}, so mail for the actor would fail${didYouMean(program, names)}`);
}
