import { knownAgent } from './agents.ts';
import { commandLine, isOfShell, programToFind, type Start, type Word } from './command-line.ts';

/** The start of a command on a terminal. */
export interface Interactive {
  /** Program and arguments. */
  argv: readonly string[];
  /** The program that has to be installed, if the command line determines it. */
  program?: string;
  /** Whether the arguments hold the instructions. */
  instructed: boolean;
}

/** The options that only make sense in a run without a terminal, by the name of the CLI. */
interface Headless {
  /** The subcommand that starts such a run. */
  verbs?: readonly string[];
  flags: readonly string[];
  /** Options that are followed by a value. */
  valued: readonly string[];
}

const GEMINI: Headless = { flags: [], valued: ['-p', '--prompt', '-o', '--output-format'] };

/** Taken from each CLI's `--help`. */
const HEADLESS: ReadonlyMap<string, Headless> = new Map([
  [
    'claude',
    {
      flags: [
        '-p',
        '--print',
        '--verbose',
        '--include-partial-messages',
        '--include-hook-events',
        '--replay-user-messages',
        '--no-session-persistence',
      ],
      valued: [
        '--output-format',
        '--input-format',
        '--max-turns',
        '--max-budget-usd',
        '--json-schema',
        '--fallback-model',
        '--permission-prompt-tool',
      ],
    },
  ],
  [
    'codex',
    {
      verbs: ['exec', 'e'],
      flags: ['--skip-git-repo-check', '--trust', '--ephemeral', '--json', '-'],
      valued: ['-o', '--output-last-message', '--output-schema', '--color'],
    },
  ],
  ['gemini', GEMINI],
  ['qwen', GEMINI],
  [
    'opencode',
    {
      verbs: ['run'],
      flags: ['--share', '--thinking'],
      valued: ['--format', '--command', '-f', '--file', '--title', '--variant', '--dir'],
    },
  ],
  ['pi', { flags: ['-p', '--print', '--no-session'], valued: ['--mode'] }],
]);

/** Longest argument in bytes: Linux takes none of 128 KiB or more. */
const LONGEST_ARGUMENT = 120 * 1024;
const PROGRAM = /^[\w./~-]+$/;

/**
 * Converts a command line of a host file, or one an operator gave, into its start on a terminal: a known CLI without
 * its headless flags and with its instructions, and any other command unchanged.
 *
 * @param text the instructions; never part of a command line
 * @param file a file with the same instructions, for those too long for an argument
 */
export function interactive(command: string, text: string, file: string): Interactive {
  const line = commandLine(command);
  const { start, whole } = line;
  const known = start && knownAgent(start.name);
  if (start === undefined || known === undefined) {
    const asItStands = ['/bin/sh', '-c', unknown(command, whole ? start : undefined)];
    return { argv: asItStands, instructed: false };
  }
  const [, ...template] = known.interactive;
  const instructions = template.map((part) => filled(part, text, file));
  const program = programToFind(line);
  const there = program === undefined ? {} : { program };
  const { assignments, starters } = start;
  // If only a shell can parse the line, the started program is known, but its arguments are not.
  const kept = whole ? withoutHeadless(start.args, HEADLESS.get(known.name)) : [];
  if (start.program.value !== undefined && [...assignments, ...starters, ...kept].length === 0)
    return { argv: [start.program.value, ...instructions], ...there, instructed: true };
  // `env` and `nice` are themselves programs that start a program, so the shell's `exec` comes
  // before them.
  const script = [
    ...assignments.map(rawOf),
    'exec',
    ...starters.map(rawOf),
    start.program.raw,
    '"$@"',
    ...kept.map(rawOf),
  ].join(' ');
  return { argv: ['/bin/sh', '-c', script, 'sh', ...instructions], ...there, instructed: true };
}

/**
 * Replaces the shell by the program where possible. A shell in front of the program would be ended by signals
 * that the program handles in its own way.
 */
function unknown(command: string, start: Start | undefined): string {
  if (start === undefined || [...start.assignments, ...start.starters].length > 0) return command;
  const { program } = start;
  const isProgram = PROGRAM.test(program.raw) && !isOfShell(program);
  return isProgram && command.trim().startsWith(program.raw) ? `exec ${command.trim()}` : command;
}

function rawOf({ raw }: Word): string {
  return raw;
}

function withoutHeadless(words: readonly Word[], headless: Headless | undefined): Word[] {
  if (headless === undefined) return [...words];
  const kept: Word[] = [];
  let verb = headless.verbs;
  for (let at = 0; at < words.length; at++) {
    const word = words[at];
    if (word === undefined) break;
    const value = word.value ?? '';
    if (verb?.includes(value) === true) verb = undefined;
    else if (headless.valued.includes(value)) {
      const next = words[at + 1]?.value;
      if (next?.startsWith('-') !== true) at++;
    } else if (
      !headless.flags.includes(value) &&
      !headless.valued.some((flag) => value.startsWith(`${flag}=`))
    )
      kept.push(word);
  }
  return kept;
}

function filled(part: string, text: string, file: string): string {
  const put = (words: string): string =>
    part.replace('{text}', () => words).replace('{toml}', () => JSON.stringify(words));
  // Text that begins like an option could be taken for one, and an argument cannot contain a NUL.
  const clean = text.replaceAll('\0', '').replace(/^(?=-)/, '\n');
  const whole = put(clean);
  return new TextEncoder().encode(whole).length <= LONGEST_ARGUMENT
    ? whole
    : put(`Before anything else read the file ${file}: it holds your instructions.`);
}
