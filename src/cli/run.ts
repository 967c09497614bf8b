import { realpath } from 'node:fs/promises';
import { resolve } from 'node:path';
import { withoutCredentials } from '../credentials.ts';
import { CrosstalkError, hasCode, reasonOf } from '../errors.ts';
import { EXIT, type Io } from './command/io.ts';
import type { Chosen } from './program.ts';
import { GROUPS, type CommandSpec, camelCase, longName, optionsOf } from './command/spec.ts';
import { escapeLines } from '../protocol/text/quoted.ts';
import { withoutDispatch } from '../agents/dispatch-variables.ts';
import { readAgentMode, type AgentMode } from '../actions/agent-mode.ts';
import { shown } from '../protocol/text/result.ts';

/**
 * Runs one command line in this process. This is the only place that prints errors and decides the
 * exit code (cli.md, Conventions).
 *
 * @param onChosen receives the command before it runs
 * @returns the exit code
 */
export async function run(
  given: readonly string[],
  surroundings: Io,
  onChosen: (spec: CommandSpec) => void = () => undefined,
): Promise<number> {
  const { argv, io } = await inAgentMode(given, surroundings);
  let name = argv.find((word) => !word.startsWith('-')) ?? '';
  try {
    if (io.agentMode !== undefined) await assertCommandInRun(argv);
    if (argv.length === 0 && io.outIsTty && io.agentMode === undefined) {
      const { whereOneStands } = await import('./conversation/here.ts');
      return await whereOneStands(io);
    }
    const chosen = await parse(argv, io);
    if (typeof chosen === 'number') return chosen;
    name = chosen.spec.name;
    if (io.agentMode !== undefined) await assertInRun(io.agentMode, io.cwd, chosen);
    // A pager is a program that a variable names.
    onChosen(io.agentMode === undefined ? chosen.spec : { ...chosen.spec, paged: false });
    const call = { io, name, args: chosen.args, options: chosen.options };
    if (isLookUp({ io, spec: chosen.spec })) {
      const { lookUp } = await import('./command/look-up.ts');
      return await lookUp(call, chosen.spec);
    }
    const { COMMANDS } = await import('./commands.ts');
    return await chosen.spec.run(call, COMMANDS);
  } catch (error) {
    return report(io, argv, name, error);
  }
}

async function parse(given: readonly string[], io: Io): Promise<Chosen | number> {
  const { buildProgram, helpAsked, wholeHelp } = await import('./program.ts');
  const whole = wholeHelp(given);
  const argv = whole === undefined ? helpAsked(given) : given.length === 0 ? [] : ['--help'];
  let chosen: Chosen | undefined;
  const program = buildProgram(io, { first: argv[0], few: whole === 'few' }, (found) => {
    chosen = found;
  });
  if (argv.length === 0) {
    program.outputHelp();
    return EXIT.usage;
  }
  try {
    // An item of a list is a text, and no option has a blank there; the parser takes it for one.
    const words = argv.map((word) => (/^-\s/.test(word) ? `${TEXT}${word}` : word));
    program.parse(words, { from: 'user' });
  } catch (error) {
    return await reportUsage(io, argv, error);
  }
  return chosen === undefined ? EXIT.usage : withoutMarks(chosen);
}

/** Marks a word for the parser as a text; no word of a command line has it. */
const TEXT = '\0';

function withoutMarks({ spec, args, options }: Chosen): Chosen {
  const bare = <T>(value: T): T =>
    (typeof value === 'string' ? value.replace(TEXT, '') : value) as T;
  const values = Object.entries(options).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.map(bare) : bare(value),
  ]);
  return { spec, args: args.map(bare), options: Object.fromEntries(values) as Chosen['options'] };
}

/** Reports Commander's own errors and its help, both of which arrive as exceptions with a code. */
async function reportUsage(io: Io, argv: readonly string[], error: unknown): Promise<number> {
  const {
    code = '',
    message = '',
    exitCode,
  } = error as { code?: string; message?: string; exitCode?: number };
  if (code.startsWith('commander.') && exitCode === 0) return EXIT.ok;
  if (!code.startsWith('commander.')) throw error;
  if (code === 'commander.help')
    return failed(io, argv, {
      code: 'usage',
      command: withoutCredentials(argv.filter((word) => !/^--jsonl?$/.test(word)).join(' ')),
      message: `a subcommand is missing; see: crosstalk ${argv[0] ?? ''} --help`,
    });
  const words = argv.filter((word) => !word.startsWith('-'));
  const [first = '', second = ''] = words;
  const { COMMANDS } = await import('./commands.ts');
  const names = COMMANDS.map(({ name }) => name);
  const command =
    [`${first} ${second}`, first].find((name) => names.includes(name)) ??
    (Object.hasOwn(GROUPS, first) ? first : '');
  const what = withoutCredentials(message.replaceAll(TEXT, ''))
    .replace(/^error: /, '')
    .replace(/\.?\n\s*/g, ' ')
    .replace(/ for '.*'\. Expected (\d+) arguments? but got (\d+)\./, ': expected $1, got $2')
    .trim();
  const help = ['crosstalk', command, '--help'].filter(Boolean).join(' ');
  return failed(io, argv, {
    code: 'usage',
    command,
    message: `${what}${after(message)}; see: ${help}`,
  });
}

/** Explains where a text has been taken for an option: words that no option looks like. */
function after(message: string): string {
  const [, word] = /^error: unknown option '(.*)'/s.exec(message) ?? [];
  const isText = word !== undefined && !/^(?:--[a-z][\w-]*(?:=.*)?|-[a-z])$/is.test(word);
  return isText ? '; a text that begins with - comes after --, as in: -- "-1"' : '';
}

function report(io: Io, argv: readonly string[], command: string, error: unknown): number {
  const { code, message } = describe(error);
  if (code === 'aborted') return EXIT.interrupted;
  const exit = failed(io, argv, { code, command, message });
  if ((io.env['CROSSTALK_DEBUG'] ?? '') !== '' && error instanceof Error)
    io.err(`${withoutCredentials(error.stack ?? '')}\n`);
  return exit;
}

/**
 * Reports in one line on stderr why a command failed; with `--json` also as a document on stdout, where a caller who
 * asked for JSON reads. Returns the exit code.
 */
function failed(
  io: Io,
  argv: readonly string[],
  error: { code: string; command: string; message: string },
): number {
  const { code, command, message } = error;
  io.err(`${['crosstalk', command].filter(Boolean).join(' ')}: ${escapeLines(message)}\n`);
  const options = argv.includes('--') ? argv.slice(0, argv.indexOf('--')) : argv;
  if (options.some((one) => /^--jsonl?$/.test(one))) io.out(`${JSON.stringify({ error })}\n`);
  return code === 'usage' ? EXIT.usage : EXIT.failed;
}

function describe(error: unknown): { code: string; message: string } {
  if (error instanceof CrosstalkError) return { code: error.code, message: error.message };
  if (error instanceof Error && error.name === 'AbortError')
    return { code: 'aborted', message: 'interrupted' };
  if (hasCode(error, 'ENOSPC') || hasCode(error, 'EDQUOT'))
    return {
      code: 'refused',
      message: `${reasonOf(error)}: make room, and try again; nothing sent is lost`,
    };
  return {
    code: 'internal',
    message: `${reasonOf(error)}; nothing sent is lost. CROSSTALK_DEBUG=1 shows where it happened`,
  };
}

/** The addition to the error for a command that is not meant for runs at all. */
const WHO_MAY =
  'which has the commands to send, to read and to look things up; an operator may, in a terminal of their own';

/**
 * Determines whether an agent's run gives the command, and sets the options that a run cannot
 * choose (trust.md §3).
 */
async function inAgentMode(
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
async function assertCommandInRun(argv: readonly string[]): Promise<void> {
  if (argv.some((word) => word === '--help' || word === '-h')) return;
  const { COMMANDS } = await import('./commands.ts');
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
 * Whether a run in a sandbox, which hides the transport, has to ask the dispatcher to look something up for it. A run
 * that falsely claims to be in one gets only what it would have got anyway.
 */
function isLookUp({ io, spec }: { io: Io; spec: CommandSpec }): boolean {
  const isRun = io.agentMode?.runDir !== undefined && io.env['CROSSTALK_SANDBOX'] === '1';
  return isRun && !REQUESTS.includes(spec.name);
}

/** Options and arguments of commands for runs that name no file; all else counts as naming one. */
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

/** Returns the options of a command that may name files or folders. */
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

/** Returns an option as it is typed; the parser knows it in camelCase. */
function dashed(option: string): string {
  return option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/**
 * Refuses a command, or an option of it, that a run may not use.
 *
 * @throws CrosstalkError `usage` for another command, another sender or another transport
 */
async function assertInRun(mode: AgentMode, cwd: string, chosen: Chosen): Promise<void> {
  const { spec, options } = chosen;
  if (spec.inRun === undefined) throw notForRuns(WHO_MAY);
  if (spec.inRun !== true) {
    for (const [option, why] of Object.entries(spec.inRun))
      if (options[option] !== undefined) throw notForRuns(`--${dashed(option)}: ${why}`);
  }
  if (mode.looksUp === true) assertLooksUp(chosen);
  const { from, transport } = options;
  if (
    typeof from === 'string' &&
    spec.selectsByWriter !== true &&
    mode.actor !== undefined &&
    from !== mode.actor
  )
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

function notForRuns(why: string): CrosstalkError {
  return new CrosstalkError('usage', `not for a run, ${why}`);
}
