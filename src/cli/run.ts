import { withoutCredentials } from '../credentials.ts';
import { CrosstalkError, reasonOf } from '../errors.ts';
import { assertCommandInRun, assertInRun, inAgentMode, isLookUp } from './agent-mode.ts';
import { EXIT } from './command/exit.ts';
import type { Io } from './command/io.ts';
import type { Chosen } from './program.ts';
import { GROUPS, type CommandSpec } from './command/spec.ts';
import { escapeLines } from '../protocol/text/quoted.ts';

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
    const module = await chosen.spec.load();
    return await module.run(call);
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
    return reportUsage(io, argv, error);
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

/** Subcommands of a command that is one itself. */
const SUBCOMMANDS = new Set([
  ...['channel archive', 'channel create', 'channel list', 'dispatch wake', 'doctor index'],
  ...['create', 'use', 'pin', 'unpin', 'list', 'verify'].map((name) => `key ${name}`),
]);

/** Reports Commander's own errors and its help, both of which arrive as exceptions with a code. */
function reportUsage(io: Io, argv: readonly string[], error: unknown): number {
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
  const isGroup = Object.hasOwn(GROUPS, first) || SUBCOMMANDS.has(`${first} ${second}`);
  const known = (isGroup ? 2 : 1) - (code === 'commander.unknownCommand' ? 1 : 0);
  const command = words.slice(0, known).join(' ');
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

/** Where a text has been taken for an option: words that no option looks like. */
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
 * Says in one line on stderr why a command failed; with `--json` also as a document on stdout, where
 * whoever asked for JSON reads. Returns the exit code.
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
  return {
    code: 'internal',
    message: `${reasonOf(error)}; nothing sent is lost. CROSSTALK_DEBUG=1 shows where it happened`,
  };
}
