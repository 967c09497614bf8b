import { realpathSync } from 'node:fs';
import { relative } from 'node:path';
import { agentOf } from '../../agents/agents.ts';
import { withoutCredentials, withoutWebToken } from '../../credentials.ts';
import { init } from '../../operations/setup/init.ts';
import { sandboxSuggestion } from '../../operations/setup/sandbox-option.ts';
import { projectInput, projectLines } from '../command/init-project.ts';
import { flag, given, note, print, text, type Call } from '../command/command.ts';

export async function run(call: Call): Promise<number> {
  const { io, args, options } = call;
  const remote = text(call, 'remote') ?? '';
  // Other users can see the command lines of all processes, except for titles that were
  // overwritten.
  if (withoutCredentials(remote) !== remote) process.title = 'crosstalk init';
  let suggestsSandbox = false;
  const made = await init(
    { env: withoutWebToken(io.env), cwd: io.cwd },
    {
      ...(args[0] === undefined ? {} : { dir: args[0] }),
      ...given(call, 'remote', 'alias', 'actor', 'cli', 'from', 'channel', 'window'),
      ...given(call, 'workdir', 'worktree'),
      ...projectInput(call),
      ...(io.ask !== undefined &&
        !flag(call, 'json') && {
          askWorkdir: asking(io.ask),
          askCopies: askingCopies(io.ask),
          askName: askingName(io.ask),
          suggestSandbox: () => {
            suggestsSandbox = true;
          },
        }),
      ...(typeof options['sandbox'] === 'boolean' && { wantsSandbox: options['sandbox'] }),
      login: io.login,
      note: (line) => {
        note(call, line);
      },
    },
  );
  return print(call, made, () => {
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
      `Next: ${made.project === undefined ? goThere(io.cwd, made.dir) : ''}crosstalk dispatch, and in another shell there: crosstalk ask ${made.actor} "hello"`,
      `To check: crosstalk doctor${agent === undefined ? '' : `, and whether ${agent} answers: crosstalk agents --run ${agent}`}`,
      ...(suggestsSandbox ? [sandboxSuggestion(made.actor)] : []),
      ...projectLines(made),
      `Transport: ${made.dir}`,
    ];
    return (flag(call, 'json') ? [] : lines).join('\n');
  });
}

/** The command that goes to a folder, followed by the next one; nothing where one is there. */
function goThere(cwd: string, dir: string): string {
  const there = relative(realpathSync(cwd), dir);
  if (there === '') return '';
  const short = there.startsWith('..') ? dir : there;
  return `cd ${/^[\w./-]+$/.test(short) ? short : `'${short.replaceAll("'", `'\\''`)}'`} && `;
}

function askingName(ask: (question: string) => Promise<string>): (name: string) => Promise<string> {
  return (proposal) => ask(`Your name in messages, or just Enter for ${proposal}: `);
}

function asking(ask: (question: string) => Promise<string>): (actor: string) => Promise<string> {
  return (actor) =>
    ask(
      `Where shall ${actor} work? A folder, such as ~/src/app, or just Enter for an empty one of its own: `,
    );
}

function askingCopies(
  ask: (question: string) => Promise<string>,
): (repository: string) => Promise<boolean> {
  return async (repository) => {
    const answer = await ask(
      `${repository} is a git repository. Shall each thread get a copy of it, on a branch of its own? [Y/n] `,
    );
    return !/^n/i.test(answer.trim());
  };
}
