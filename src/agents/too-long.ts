import type { AgentCli } from './agents.ts';
import { reportedLines, type FailedRun } from './refusal.ts';

/** Errors of CLIs when a prompt exceeds the model's context (docs/agents.md). */
const PATTERNS: Record<string, RegExp> = {
  claude: /^(?:API Error: \S* ?)?prompt is too long/i,
  codex: /ran out of room in the model's context window/,
  gemini: /exceeds the maximum number of tokens/,
  opencode: /ContextOverflowError|prompt is too long/i,
  pi: /^(?:Error: )?(?:400 )?.{0,40}prompt is too long/i,
};

/**
 * Finds the error of a failed run of a known agent CLI whose prompt was too long. A pure function; the output is
 * treated as hostile, as in `refusalOf`.
 *
 * @returns the error, on one line and without control characters
 */
export function tooLongOf(agent: AgentCli, run: FailedRun): string | undefined {
  const pattern = PATTERNS[agent.name];
  return pattern && reportedLines(agent, run).find((line) => pattern.test(line));
}
