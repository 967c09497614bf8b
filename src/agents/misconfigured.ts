import type { AgentCli } from './agents.ts';
import type { FailedRun } from './refusal.ts';
import { cleanLine } from './clean-line.ts';

/**
 * What a CLI prints at once when it cannot work as its command or its settings stand, which no
 * second attempt changes (docs/agents.md): one of the first lines of stderr, before anything of a
 * prompt can be there, or the only words on stdout.
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

/** The lines of stderr that are looked at; a warning may come before the one that counts. */
const FIRST_LINES = 4;
/** More output than this is an answer, or the work of a model. */
const MAX_WHOLE = 8000;

/**
 * Whether a failed run of a known agent CLI could not work as it is configured. A pure function; the
 * output is taken as hostile, as in `refusalOf`.
 *
 * @returns the line that says so, on one line and without control characters
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

/** A line that ends in a colon is completed by the next one. */
function withNext(line: string, lines: readonly string[]): string {
  const next = lines[lines.indexOf(line) + 1];
  return line.endsWith(':') && next !== undefined ? `${line} ${next}` : line;
}
