import { commandLine } from '../command-line.ts';

/** Name of our MCP server in a CLI, which no server of an operator has. */
const SERVER = 'crosstalk_permission';
/** The tool of that server that a CLI calls for permission. */
const ASK_TOOL = 'ask';
/** File in the directory of a run that names our server. */
export const SERVER_FILE = 'permission.json';

/** The method by which an agent CLI is made to ask for permission (work.md, "A person in the loop"). */
interface AskingCli {
  /** A word that makes a call one without a terminal. */
  headless: RegExp;
  /** Words, or a word and the next, by which the operator has settled who is asked, and the reason. */
  settled: readonly (readonly [RegExp, string])[];
  /** Flags that are added at the end of a plain call. */
  flags: string;
}

/**
 * CLIs that can ask in the middle of a run, by name. The servers that the operator has set for claude stay as
 * they are: one more is added, for this run alone.
 */
const ASKING: Readonly<Record<string, AskingCli>> = {
  claude: {
    headless: /^(?:-p|--print)$/,
    settled: [
      [/^--permission-prompt-tool(?:[= ]|$)/, 'it names another tool that is asked for permission'],
      [/^--dangerously-skip-permissions(?: |$)/, 'it never asks for permission'],
      [
        /^--permission-mode[= ](?:bypassPermissions|dontAsk|auto)(?: |$)/,
        'it never asks for permission',
      ],
      [/^--safe-mode(?: |$)/, 'it starts without the server that is asked'],
      [/^--(?:help|version)(?: |$)|^-[hv](?: |$)/, 'it does no work'],
    ],
    flags: `--mcp-config "$CROSSTALK_RUN_DIR/${SERVER_FILE}" --permission-prompt-tool mcp__${SERVER}__${ASK_TOOL}`,
  },
};

/** The flags by which a command line is made to ask for permission, or the reason why it cannot. */
export type Asking = { ok: true; flags: string } | { ok: false; why: string };

/**
 * Recognizes a command line that starts an agent CLI which can ask for permission in the middle of a run.
 * Flags are added to nothing else (trust.md §2).
 *
 * @param command as the operator approved it
 */
export function askingOf(command: string): Asking {
  const { whole, start } = commandLine(command);
  const names = Object.keys(ASKING).join(', ');
  const cli = start && Object.hasOwn(ASKING, start.name) ? ASKING[start.name] : undefined;
  if (start === undefined || cli === undefined)
    return {
      ok: false,
      why: `no way is known in which this CLI asks for permission; known: ${names}`,
    };
  const words = start.args.map(({ text }) => text);
  const isPlain = whole && start.program.value !== undefined && !command.trimEnd().endsWith('\\');
  if (!isPlain || words.includes('--') || !words.some((word) => cli.headless.test(word)))
    return { ok: false, why: `it is no plain call of ${start.name} without a terminal` };
  for (const [at, word] of words.entries())
    for (const [pattern, why] of cli.settled)
      if (pattern.test(`${word} ${words[at + 1] ?? ''}`)) return { ok: false, why };
  return { ok: true, flags: cli.flags };
}

/**
 * Returns the content of {@link SERVER_FILE}.
 *
 * @param program the `crosstalk` of runs, by its path
 * @param runDir the directory of the run
 * @param patience milliseconds for which the CLI waits for an answer, whatever its own settings say
 */
export function serverFile(program: string, runDir: string, patience: number): string {
  const server = {
    type: 'stdio',
    command: program,
    args: ['__permission'],
    env: { CROSSTALK_RUN_DIR: runDir },
    timeout: Math.min(patience, 2 ** 31 - 1),
  };
  return `${JSON.stringify({ mcpServers: { [SERVER]: server } }, undefined, 1)}\n`;
}
