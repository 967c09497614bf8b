import { realpath } from 'node:fs/promises';
import { resolve } from 'node:path';
import { withoutDispatch } from '../agents/dispatch-variables.ts';
import { CrosstalkError } from '../errors.ts';
import { readAgentMode, type AgentMode } from '../operations/agent-mode.ts';
import { shown } from '../protocol/text/result.ts';
import type { Io } from './command/io.ts';
import type { Chosen } from './program.ts';
import { camelCase, FROM, longName, optionsOf, type CommandSpec } from './command/spec.ts';

/** The addition to the error for a command that is not meant for runs at all. */
const WHO_MAY =
  'which has the commands to send, to read and to look things up; an operator may, in a terminal of their own';

/**
 * Determines whether an agent's run gives the command, and sets the options that a run cannot
 * choose (trust.md §3).
 */
export async function inAgentMode(
  argv: readonly string[],
  io: Io,
): Promise<{ argv: readonly string[]; io: Io }> {
  const read = await readAgentMode(argv, io.env);
  if (read === undefined) return { argv, io };
  const { mode, words } = read;
  const inRun = mode.runDir !== undefined || mode.looksUp === true;
  const env = inRun ? { ...io.env } : withoutDispatch(io.env);
  if (mode.state !== undefined) env['CROSSTALK_STATE_DIR'] = mode.state;
  if (mode.transport !== undefined) env['CROSSTALK_TRANSPORT'] = mode.transport;
  if (mode.actor !== undefined) env['CROSSTALK_FROM'] = mode.actor;
  return { argv: words, io: { ...io, env, agentMode: mode } };
}

/**
 * Refuses a command that a run may not use, before its arguments are parsed.
 *
 * @throws CrosstalkError `usage`
 */
export async function assertCommandInRun(argv: readonly string[]): Promise<void> {
  if (argv.some((word) => word === '--help' || word === '-h')) return;
  const { COMMANDS } = await import('./tables/table.ts');
  const [first = '', second = ''] = argv;
  const named = COMMANDS.find(({ name }) => name === `${first} ${second}`);
  const spec = named ?? COMMANDS.find(({ name }) => name === first);
  if (spec !== undefined && spec.inRun === undefined) throw notForRuns(spec.notInRun ?? WHO_MAY);
}

/**
 * Commands that a run requests of the dispatcher, in a sandbox and outside of one. The last is called by
 * its agent CLI, for permission.
 */
const REQUESTS = [
  ...['send', 'reply', 'channel', 'channel create', '__permission'],
  ...['memory add', 'memory forget', 'memory alias', 'memory restore'],
];

/**
 * Whether a run in a sandbox, which hides the transport, has to ask the dispatcher to look something up
 * for it. Whoever says falsely that it is in one gets what it would have got anyway.
 */
export function isLookUp({ io, spec }: { io: Io; spec: CommandSpec }): boolean {
  const isRun = io.agentMode?.runDir !== undefined && io.env['CROSSTALK_SANDBOX'] === '1';
  return isRun && !REQUESTS.includes(spec.name);
}

/** What options and arguments of commands for runs take that names no file; all else counts as naming one. */
const NAMES_NO_FILE = [
  ...['-', 'actor', 'alias', 'body', 'channel', 'id', 'kind', 'note', 'message', 'messages', 'n'],
  ...[
    'name',
    'names',
    'reason',
    'scope',
    'skill',
    'slug',
    'text',
    'tier',
    'time',
    'topic',
    'when',
    'word',
  ],
  'words',
];

function namesFile(words: string): boolean {
  const taken = words.match(/[<[][^<>[\]]+/g) ?? [];
  return taken.some((word) => !NAMES_NO_FILE.includes(word.slice(1).replace('...', '')));
}

/** The options of a command that may name files or folders. */
export function fileOptions(spec: CommandSpec): string[] {
  return optionsOf(spec).flatMap(([flags]) => {
    const name = longName(flags);
    return namesFile(flags) && name !== 'transport' ? [name] : [];
  });
}

/**
 * Refuses everything but reading, to a command line that the dispatcher was asked for: its words are those
 * of a run, and it works outside of that run's sandbox, so that it must not touch a file that they name.
 */
function assertLooksUp({ spec, options }: Chosen): void {
  if (REQUESTS.includes(spec.name)) throw notForRuns('whose dispatcher sends for it');
  if (namesFile(spec.args ?? '')) throw notForRuns('a file is for its own process');
  if (options['transport'] !== undefined) throw notForRuns('--transport: it has one');
  for (const name of fileOptions(spec)) {
    if (options[camelCase(name)] !== undefined)
      throw notForRuns(`--${name}: a file is for its own process`);
  }
}

/** An option as it is typed; the parser knows it in camelCase. */
function dashed(option: string): string {
  return option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/**
 * Refuses a command, or an option of it, that a run may not use.
 *
 * @throws CrosstalkError `usage` for another command, another sender or another transport
 */
export async function assertInRun(mode: AgentMode, cwd: string, chosen: Chosen): Promise<void> {
  const { spec, options } = chosen;
  if (spec.inRun === undefined) throw notForRuns(WHO_MAY);
  if (spec.inRun !== true) {
    for (const [option, why] of Object.entries(spec.inRun))
      if (options[option] !== undefined) throw notForRuns(`--${dashed(option)}: ${why}`);
  }
  if (mode.looksUp === true) assertLooksUp(chosen);
  const { from, transport } = options;
  if (typeof from === 'string' && writes(spec) && mode.actor !== undefined && from !== mode.actor)
    throw notForRuns(`--from ${shown(from)}: it writes as ${mode.actor}; leave --from out`);
  if (typeof transport !== 'string' || mode.transport === undefined) return;
  const [asked, fixed] = await Promise.all(
    [resolve(cwd, transport), mode.transport].map((dir) => realpath(dir).catch(() => dir)),
  );
  if (asked !== fixed)
    throw notForRuns(
      `--transport ${shown(transport)}: its transport is ${mode.transport}; leave --transport out`,
    );
}

/** Whether `--from` names the sender rather than filtering messages. */
function writes({ options }: CommandSpec): boolean {
  return options?.includes(FROM) === true;
}

function notForRuns(why: string): CrosstalkError {
  return new CrosstalkError('usage', `not for a run, ${why}`);
}
