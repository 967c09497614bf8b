import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runPlain } from '../../runner/plain-session.ts';
import { loadPty } from '../../runner/pty.ts';
import { runOnPty } from '../../runner/pty-session.ts';
import { openTerminal } from '../../runner/terminal.ts';
import { CrosstalkError } from '../../errors.ts';
import { makeFolder } from '../../folder.ts';
import { interactive } from '../../agents/interactive.ts';
import { shown } from '../../protocol/text/result.ts';
import { announcerFor } from './announcer.ts';
import type { Context } from '../context.ts';
import { canStart } from '../path.ts';

export interface InteractiveSession {
  /** The name of its instructions file. */
  name: string;
  /** A command line, or the name of a known agent CLI. */
  command: string;
  /** The instructions. */
  text: string;
  /** The variables that the CLI receives beside those of every session. */
  env: NodeJS.ProcessEnv;
  /** The name whose messages are announced while it runs. */
  recipient: string;
  /** What to do where it cannot be started. */
  otherwise: string;
  /** The folder in which it works. */
  cwd: string;
  /** The folder of the `crosstalk` on its PATH; see {@link prepareBin}. */
  bin: string;
}

/** Milliseconds between the signal that ends a session and SIGKILL. */
const GRACE_MS = 5000;

/**
 * Runs an agent CLI as an interactive session: on a pseudo-terminal if there is a terminal,
 * otherwise on the standard streams. It also finds its instructions in a file, which
 * `CROSSTALK_INSTRUCTIONS` names.
 *
 * @returns the exit code of the CLI
 * @throws CrosstalkError `not_found` when it cannot be started
 */
export async function startInteractiveSession(
  context: Context,
  input: InteractiveSession,
): Promise<number> {
  const { paths, transport, note } = context;
  await makeFolder(paths.sessions, 0o700);
  const file = join(paths.sessions, `${input.name}.md`);
  await writeFile(file, input.text, { mode: 0o600 });
  const { argv, program, instructed } = interactive(input.command, input.text, file);
  if (!instructed)
    note(`instructions for this session are in ${file}, also named by CROSSTALK_INSTRUCTIONS`);
  const { cwd } = input;
  const path = `${input.bin}:${input.env['PATH'] ?? ''}`;
  const env = {
    ...input.env,
    PATH: path,
    CROSSTALK_TRANSPORT: transport.dir,
    CROSSTALK_INSTRUCTIONS: file,
  };
  if (program !== undefined && !(await canStart(program, path, cwd)))
    throw notStarted(program, 'no such program', input);
  const announcer = await announcerFor(context, input.recipient);
  const terminal = openTerminal();
  if (terminal !== undefined) {
    const open = await loadPty();
    const ended =
      'problem' in open
        ? open
        : await runOnPty({ command: argv, cwd, env, terminal, open, grace: GRACE_MS, announcer });
    if ('exitCode' in ended) return ended.exitCode;
    note(`no pseudo-terminal here: ${ended.problem}; the session goes on without announcements`);
  }
  const ended = await runPlain(argv, { cwd, env }, GRACE_MS);
  if ('exitCode' in ended) return ended.exitCode;
  throw notStarted(argv[0], ended.startError, input);
}

function notStarted(
  program: string | undefined,
  why: string,
  { otherwise }: InteractiveSession,
): CrosstalkError {
  return new CrosstalkError('not_found', `cannot start ${shown(program)}: ${why}; ${otherwise}`);
}
