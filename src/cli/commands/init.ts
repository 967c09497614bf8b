import { realpathSync } from 'node:fs';
import { relative } from 'node:path';
import { agentOf } from '../../agents/agents.ts';
import { withoutCredentials, withoutWebToken } from '../../credentials.ts';
import { CrosstalkError, reasonOf } from '../../errors.ts';
import type { Initialised } from '../../operations/setup/input.ts';
import { init } from '../../operations/setup/init.ts';
import { projectInput, projectLines } from '../command/init-project.ts';
import { flag, given, note, print, text, type Call } from '../command/command.ts';
import { EXIT } from '../command/io.ts';
import { converse } from '../conversation/questions.ts';
import { promptsOn, type Prompts } from '../conversation/prompts.ts';
import { askFirst, installService } from '../conversation/first-question.ts';

export async function run(call: Call): Promise<number> {
  const { io, args, options } = call;
  const remote = text(call, 'remote') ?? '';
  // Other users can see the command lines of all processes, except for titles that were
  // overwritten.
  if (withoutCredentials(remote) !== remote) process.title = 'crosstalk init';
  const prompts = flag(call, 'json') ? undefined : await promptsOn(io, 'A bus for agent CLIs');
  let isServed = options['service'] === true;
  const made = await init(
    { env: withoutWebToken(io.env), cwd: io.cwd },
    {
      ...(args[0] === undefined ? {} : { dir: args[0] }),
      ...given(call, 'remote', 'alias', 'actor', 'cli', 'from', 'channel', 'window'),
      ...given(call, 'workdir', 'worktree'),
      hasNoPlace: options['workdir'] === false,
      ...projectInput(call),
      ...(typeof options['sandbox'] === 'boolean' && { wantsSandbox: options['sandbox'] }),
      ...(prompts !== undefined && {
        converse: async (dir) => {
          const { service = isServed, ...answers } = await breakable(call, 'nothing was made', () =>
            converse(call, prompts, dir),
          );
          isServed = service;
          return answers;
        },
      }),
      login: io.login,
      note: (line) => {
        note(call, line);
      },
    },
  );
  let code = EXIT.ok;
  if (isServed) {
    isServed = await isInstalled(call, made.dir);
    if (!isServed) code = EXIT.failed;
  }
  if (prompts !== undefined && prompts.count() > 0) {
    code = (await firstAnswer(call, prompts, { ...made, isServed })) || code;
    io.err('\n');
  }
  print(call, made, () => {
    const agent = agentOf(made.cli)?.name;
    const lines = [
      made.joined ? `Joined as ${made.alias}.` : `A new transport with the host ${made.alias}.`,
      ...(made.channel === undefined ? [] : [`Channel: ${made.channel}`]),
      `Actor: ${made.actor}, run by: ${made.cli}`,
      ...(made.from === undefined ? [] : [`You write as: ${made.from}`]),
      ...(made.workdir === undefined ? [] : [`It works in: ${made.workdir}`]),
      ...(made.worktree === undefined
        ? []
        : [`Each thread works in a copy of: ${made.worktree}, on a branch of its own`]),
      ...(made.sandbox === undefined ? [] : ['Its runs are kept in a sandbox']),
      `Next: ${made.project === undefined ? goThere(io.cwd, made.dir) : ''}${isServed ? '' : 'crosstalk dispatch, and in another shell there: '}crosstalk ask ${made.actor} "hello"`,
      `To check: crosstalk doctor${agent === undefined ? '' : `, and whether ${agent} answers: crosstalk agents --run ${agent}`}`,
      ...(isServed ? ['Its dispatcher runs as a service: crosstalk service status'] : []),
      ...projectLines(made),
      `Transport: ${made.dir}`,
    ];
    return lines.join('\n');
  });
  return code;
}

/** The command that goes to a folder, followed by the next one; nothing where one is there. */
function goThere(cwd: string, dir: string): string {
  const there = relative(realpathSync(cwd), dir);
  if (there === '') return '';
  const short = there.startsWith('..') ? dir : there;
  return `cd ${/^[\w./-]+$/.test(short) ? short : `'${short.replaceAll("'", `'\\''`)}'`} && `;
}

/** Does what a person may break off, and says what is left then. */
async function breakable<T>(call: Call, left: string, work: () => Promise<T>): Promise<T> {
  const { io } = call;
  // Without a screen, Ctrl-C at a question ends this process.
  io.lastWord(`\ncrosstalk init: interrupted; ${left}\n`);
  try {
    return await work();
  } catch (error) {
    if (error instanceof CrosstalkError && error.code === 'aborted')
      note(call, `interrupted; ${left}`);
    throw error;
  } finally {
    io.lastWord('');
  }
}

/** @returns whether the service of the new transport was installed */
async function isInstalled(call: Call, dir: string): Promise<boolean> {
  try {
    if (await installService(call, dir, await import('./service.ts'))) return true;
  } catch (error) {
    note(call, reasonOf(error));
  }
  note(
    call,
    'the transport is made, but its dispatcher is not a service; try: crosstalk service install',
  );
  return false;
}

const FIRST = { ask: () => import('./ask.ts'), dispatch: () => import('./dispatch.ts') };

/** Has the new actor asked something; the transport is there, whatever becomes of it. */
async function firstAnswer(
  call: Call,
  prompts: Prompts,
  made: Initialised & { isServed: boolean },
): Promise<number> {
  try {
    await breakable(call, `the transport stays: ${made.dir}`, () =>
      askFirst(call, prompts, made, FIRST),
    );
    return EXIT.ok;
  } catch (error) {
    if (error instanceof CrosstalkError && error.code === 'aborted') return EXIT.interrupted;
    note(call, reasonOf(error));
    return EXIT.ok;
  }
}
