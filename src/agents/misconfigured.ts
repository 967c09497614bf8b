import type { AgentCli } from './agents.ts';
import type { FailedRun } from './refusal.ts';
import { cleanLine } from './clean-line.ts';

/**
 * Immediate errors of a CLI that cannot work with its command or its settings, which no second attempt
 * changes (docs/agents.md): one of the first lines of stderr, before anything of a prompt can be there, or
 * the only words on stdout.
 */
const PATTERNS: Record<string, { stderr: RegExp; stdout?: RegExp }> = {
  claude: {
    stderr:
      /^(?:error: (?:unknown option |unknown command |option '[^']{1,80}' argument .{0,80} is invalid)|Error: (?:Invalid MCP configuration|Settings file not found))/,
    stdout: /^There's an issue with the selected model /,
  },
  codex: {
    stderr:
      /^(?:error: (?:unexpected argument |invalid value |unrecognized subcommand )|Error loading config\.toml|Error: Model provider .{1,80} not found)/,
  },
  gemini: { stderr: /^(?:Unknown arguments?: |Invalid values:)/ },
  opencode: { stderr: /^opencode run \[message\.\.\]$/ },
  qwen: { stderr: /^(?:Unknown arguments?: |Invalid values:)/ },
  pi: { stderr: /^Error: (?:Unknown option: |Model .{1,120} not found)/ },
};

/** Number of lines of stderr that are examined; a warning may precede the significant one. */
const FIRST_LINES = 4;
/** Most characters of output that are examined; more is an answer, or the work of a model. */
const MAX_WHOLE = 8000;

/**
 * Finds the error of a failed run of a known agent CLI that could not work as it is configured. A pure function; the
 * output is treated as hostile, as in `refusalOf`.
 *
 * @returns the error, on one line and without control characters
 */
export function misconfigurationOf(agent: AgentCli, run: FailedRun): string | undefined {
  const patterns = PATTERNS[agent.name];
  if (patterns === undefined) return undefined;
  if (run.stderrTail.length <= MAX_WHOLE && run.stdout.trim() === '') {
    const lines = run.stderrTail.split('\n').map(cleanLine);
    const first = lines.filter((line) => line !== '').slice(0, FIRST_LINES);
    const found = first.find((line) => patterns.stderr.test(line));
    if (found !== undefined) return withNext(found, first);
  }
  const only = cleanLine(run.stdout.trim());
  return !run.stdout.trim().includes('\n') && patterns.stdout?.test(only) === true
    ? only
    : undefined;
}

/** Completes a line that ends in a colon by the next one. */
function withNext(line: string, lines: readonly string[]): string {
  const next = lines[lines.indexOf(line) + 1];
  return line.endsWith(':') && next !== undefined ? `${line} ${next}` : line;
}
