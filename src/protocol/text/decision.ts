import { isOneLine } from './quoted.ts';

/** A person's decision on a proposal (work.md, "A person in the loop"). */
export type Decision = 'approve' | 'deny';

/** A tool call that waits for permission, as data and never as part of a command. */
export interface PermissionOnRecord {
  /** Name of the tool, as the agent CLI gives it. */
  tool: string;
  /** Its input as JSON text on one line. */
  input: string;
  /** Its effects, as far as its host can tell: `reads`, `writes`, `dangerous`. */
  marks?: string[];
}

/** Most characters of a tool's name, and of its input. */
const MAX_TOOL = 200;
export const MAX_TOOL_INPUT = 16_384;
const MAX_MARKS = 8;
const MARK = /^[a-z_]{1,32}$/;
const DIGEST = /^[0-9a-f]{64}$/;

/** Parses a decision; undefined for anything else. */
export function decisionIn(value: unknown): Decision | undefined {
  return value === 'approve' || value === 'deny' ? value : undefined;
}

/** Parses the digest of a proposal: SHA-256 in hex ({@link proposedText}). */
export function digestIn(value: unknown): string | undefined {
  return typeof value === 'string' && DIGEST.test(value) ? value : undefined;
}

/** Parses the tool call of a permission question. */
export function permissionIn(value: unknown): PermissionOnRecord | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const { tool, input, marks } = value as Record<string, unknown>;
  if (!isOneLine(tool) || tool.length > MAX_TOOL) return undefined;
  if (!isOneLine(input) || input.length > MAX_TOOL_INPUT) return undefined;
  if (marks === undefined) return { tool, input };
  const isList = Array.isArray(marks) && marks.length > 0 && marks.length <= MAX_MARKS;
  if (!isList || !marks.every((mark) => typeof mark === 'string' && MARK.test(mark)))
    return { tool, input };
  return { tool, input, marks: marks as string[] };
}

/** Whether a message is a decision: it is for the machine that asked, and wakes no actor. */
export function isDecision({
  re,
  decision,
}: {
  re: readonly string[];
  decision?: Decision;
}): boolean {
  return decision !== undefined && re.length > 0;
}

/** First line of the text to which a decision is bound: its last word is the version of this form. */
const FIRST_LINE = 'crosstalk proposal 1';

/**
 * Returns the text whose SHA-256 a decision carries: the whole file of the proposal, and its place. So a decision is
 * about one text at one place, and about nothing that is put there later.
 *
 * @param ref its place, as `<channel id>/<relPath>`
 * @param text the whole file
 */
export function proposedText(ref: string, text: string): string {
  return `${FIRST_LINE}\n${ref}\n${text}`;
}
