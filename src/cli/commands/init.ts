import { realpathSync } from 'node:fs';
import { relative } from 'node:path';
import { agentOf } from '../../agents/agents.ts';
import { withoutCredentials, withoutWebToken } from '../../credentials.ts';
import { CrosstalkError, reasonOf } from '../../errors.ts';
import { binPath, INSTALL, isPassing } from '../../package.ts';
import type { Initialised } from '../../actions/setup/input.ts';
import { init } from '../../actions/setup/init.ts';
import { projectInput, projectLines } from '../command/init-project.ts';
import {
  flag,
  given,
  note,
  print,
  text,
  type Call,
  type CommandOptions,
} from '../command/command.ts';
import { EXIT } from '../command/io.ts';
import { SANDBOX, type CommandSpec } from '../command/spec.ts';
import { converse } from '../conversation/questions.ts';
import { promptsOn, type Prompts } from '../conversation/prompts.ts';
import { run as ask } from './ask.ts';
import { run as dispatch } from './dispatch.ts';
import { run as service } from './service.ts';
import { missingProgram } from '../../actions/setup/actors.ts';

/** Options in a project, whose own remote carries the bus. */
const IN_PROJECT: NonNullable<CommandSpec['options']> = [
  ['--public', 'in a project: everybody may read the bus, since everybody can read the project'],
  [
    '--anyone-who-can-push',
    'in a project: the actor serves everybody who can push, not only keys pinned here',
  ],
  ['--as-branch', 'in a project whose remote takes no other ref: the branch crosstalk-bus'],
  ['--join <url>', 'in a fork or a mirror: join the original bus at this address'],
];
const PROJECT_DETAILS =
  'In a git project, without [dir], the bus is the ref refs/crosstalk/bus at the project\u2019s own remote, which clones, branches and CI do not see.';

export const commands: readonly CommandSpec[] = [
  {
    name: 'init',
    args: '[dir]',
    summary: 'make a transport, or join the one at a remote from this machine',
    standalone: true,
    options: [
      [
        '--remote <url>',
        'the git remote: empty, or an existing transport to join; in a project, which of its remotes',
      ],
      ['--alias <alias>', 'name of this machine in addresses (default: its hostname)'],
      ['--actor <name>', 'the first actor this machine serves (default: concierge)'],
      ['--cli <command>', 'its CLI: claude, codex, gemini, opencode, qwen, pi, or a command line'],
      [
        '--from <name>',
        'who you are in this clone (default: asked on a terminal, else your login)',
      ],
      ['--channel <name>', 'the first channel (default: general)'],
      ['--workdir <dir>', 'where the actor works (default: an empty folder for each thread)'],
      ['--no-workdir', 'in an empty folder for each thread, without a question'],
      ['--worktree <repository>', 'each thread gets a copy of this git repository to work in'],
      ...SANDBOX,
      ['--service', 'keep its dispatcher running as a service (default: not)'],
      ['--no-service', 'without a service, and without a question'],
      ['--window <days>', 'joining: the checkout shows messages of so many days, as 7d'],
      ...IN_PROJECT,
    ],
    details: `On a terminal, what no option says is asked, each with a default; off a terminal, or with CI set, nothing is. ${PROJECT_DETAILS}`,
    example: 'crosstalk init team --remote git@example.com:team/bus.git',
    run,
  },
];

async function run(call: Call): Promise<number> {
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
  let code = made.refused === true ? EXIT.failed : EXIT.ok;
  if (isServed) {
    isServed = await isInstalled(call, made.dir);
    if (!isServed) code = EXIT.failed;
  }
  if (prompts !== undefined && prompts.count() > 0 && made.refused !== true) {
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
      ...(isPassing(binPath()) ? [`First: ${INSTALL}, as this copy does not stay`] : []),
      made.refused === true
        ? 'Next: the right to push, and then: crosstalk sync'
        : `Next: ${made.project === undefined ? goThere(io.cwd, made.dir) : ''}${isServed ? '' : 'crosstalk dispatch, and in another shell there: '}crosstalk ask ${made.actor} "hello"`,
      `To check: crosstalk doctor${agent === undefined ? '' : `, and whether ${agent} answers: crosstalk agents --run ${agent}`}`,
      ...(isServed ? ['Its dispatcher runs as a service: crosstalk service status'] : []),
      ...projectLines(made),
      `Transport: ${made.dir}`,
    ];
    return lines.join('\n');
  });
  return code;
}

/** Returns the command that goes to a folder, followed by the next one; nothing where one is there. */
function goThere(cwd: string, dir: string): string {
  const there = relative(realpathSync(cwd), dir);
  if (there === '') return '';
  const short = there.startsWith('..') ? dir : there;
  return `cd ${/^[\w./-]+$/.test(short) ? short : `'${short.replaceAll("'", `'\\''`)}'`} && `;
}

/** Runs a step that a person may interrupt, and reports the remaining state then. */
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
    if (await installService(call, dir)) return true;
  } catch (error) {
    note(call, reasonOf(error));
  }
  note(
    call,
    'the transport is made, but its dispatcher is not a service; try: crosstalk service install',
  );
  return false;
}

/** Has the new actor asked something; the transport is there, whatever the outcome. */
async function firstAnswer(
  call: Call,
  prompts: Prompts,
  made: Initialised & { isServed: boolean },
): Promise<number> {
  try {
    await breakable(call, `the transport stays: ${made.dir}`, () => askFirst(call, prompts, made));
    return EXIT.ok;
  } catch (error) {
    if (error instanceof CrosstalkError && error.code === 'aborted') return EXIT.interrupted;
    note(call, reasonOf(error));
    return EXIT.ok;
  }
}

const PROPOSED = 'What can you do for me here? One line.';

/**
 * Asks the new actor something, after asking the person. Where no service runs a dispatcher, one runs in this
 * process until the answer is there.
 */
async function askFirst(
  call: Call,
  prompts: Prompts,
  { dir, actor, cli, isServed }: Initialised & { isServed: boolean },
): Promise<void> {
  const { io } = call;
  if ((await missingProgram(io, cli)) !== undefined) return;
  const chosen = await prompts.choose(
    `Ask ${actor} something now?`,
    [
      { value: 'proposed', label: PROPOSED, hint: 'one model call' },
      { value: 'own', label: 'Something else' },
      { value: 'no', label: 'Not now' },
    ],
    'proposed',
  );
  const own = chosen === 'own' ? await prompts.text(`What do you ask ${actor}?`) : '';
  const question = chosen === 'proposed' ? PROPOSED : own;
  if (question === '') return;
  io.interrupts?.('clean');
  io.err('\n');
  const dispatcher = isServed ? undefined : await startDispatcher(call, dir);
  try {
    await ask(callOf(call, 'ask', { transport: dir }, [actor, question]));
  } finally {
    await dispatcher?.stop();
  }
}

/**
 * Installs the service of a new transport; its plan, which can be shown later, is not printed.
 *
 * @returns false where this machine has no service manager
 */
async function installService(call: Call, dir: string): Promise<boolean> {
  let said = '';
  const io = {
    ...call.io,
    ask: undefined,
    out: (text: string) => {
      said += text;
    },
  };
  const options = { transport: dir, yes: true };
  const code = await service(callOf({ ...call, io }, 'service install', options));
  // If there is no service manager, this explains how to do without.
  if (code !== EXIT.ok) call.io.err(said);
  return code === EXIT.ok;
}

/** Starts a dispatcher in this process, whose log nobody reads. */
async function startDispatcher(call: Call, dir: string): Promise<{ stop: () => Promise<unknown> }> {
  const ended = new AbortController();
  let started: () => void = () => undefined;
  const starts = new Promise<void>((resolve) => (started = resolve));
  const io = {
    ...call.io,
    ask: undefined,
    errIsTty: false,
    err: (line: string) => {
      if (line.includes('"dispatcher_started"')) started();
    },
    stop: ended.signal,
  };
  const done = dispatch(callOf({ ...call, io }, 'dispatch', { transport: dir, grace: '0' }));
  // It is awaited at its end, where problems that came up meanwhile are reported.
  void done.catch(() => undefined);
  await Promise.race([starts, done]);
  return {
    stop: () => {
      ended.abort();
      return done;
    },
  };
}

function callOf({ io }: Call, name: string, options: CommandOptions, args: string[] = []): Call {
  return { io, name, args, options };
}
