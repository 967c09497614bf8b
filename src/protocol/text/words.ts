import { isOneLine, escapeInvisible } from './quoted.ts';

/** Phrases for the reasons of a failed delivery (protocol.md §8). */
const FAILURES: Readonly<Record<string, string>> = {
  not_started: 'the command could not be started',
  exit_code: 'the command failed',
  signal: 'the command was killed',
  timed_out: 'the command took too long',
  too_much_output: 'the command printed too much',
  empty_answer: 'the command gave no answer',
  bad_workdir: 'the working directory cannot be used',
  before_failed: 'the command that prepares a new copy of the repository failed',
  misconfigured: 'the command cannot work as it is configured',
  bad_output: 'it printed no answer in the JSON it was asked for',
  misfit: 'the answer is not the JSON that was asked for',
  bad_schema: 'the JSON Schema of the question cannot be used',
  not_accepted: 'it serves only tasks that certain people have signed',
  prompt_too_long: 'the prompt is too long for the model',
  interrupted: 'the dispatcher ended in the middle of the run',
  too_deep: 'the thread is too deep',
  no_planning: 'its tier has a gate, and no command that plans',
  missing_secret: 'a secret that its tools need is not kept on this machine',
  secret: 'its answer looked like a secret, and was dropped',
  cancelled: 'it was cancelled',
  host_gone: 'the host that had taken it was not heard of again',
};

/** Phrases for the reasons why mail waits although its actor could run. */
const HOLDS: Readonly<Record<string, string>> = {
  paused: 'paused',
  max_runs_per_hour: 'the hourly limit of runs is reached',
  rate_limited: 'rate limited',
  out_of_credit: 'its account has no credit or quota left',
  not_logged_in: 'not logged in',
  no_sandbox: 'no sandbox can be made here',
  budget: 'the budget of the day is spent',
  thread_budget: 'the budget of the thread is spent, or cannot be kept',
};

/**
 * Returns the phrase for the code of a failure or of a hold, for every place where people read it.
 *
 * @param reason such as `exit_code` or `rate_limited`; an unknown one loses its underscores
 */
export function reasonInWords(reason: string): string {
  const known = [FAILURES, HOLDS].find((words) => Object.hasOwn(words, reason));
  return known?.[reason] ?? reason.replaceAll('_', ' ');
}

/** Whether a hold ends without anybody's action, as a limit does and a missing login does not. */
export function endsByItself(reason: string): boolean {
  return ['max_runs_per_hour', 'rate_limited', 'budget'].includes(reason);
}

/** Most messages that are counted for a name that nobody serves. */
export const MOST_COUNTED = 1000;

/** Most names in a line. */
const MOST_NAMED = 8;

/** Lists some of many names. */
export function someOf(names: readonly string[]): string {
  const more = names.length - MOST_NAMED;
  const listed = names.slice(0, MOST_NAMED).join(', ');
  return more > 0 ? `${listed} and ${String(more)} more` : listed;
}

// The expressions are inside the functions: their tables of characters take a moment to load, and a command
// that prints to no terminal needs none of them.

/** Returns text that can neither control a terminal nor colour what is printed after it. */
export function colourless(text: string): string {
  // Control characters except line feed and tab, and those that reorder text.
  return text.replace(/(?![\n\t])\p{Cc}|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, '');
}

/**
 * Removes, in addition, what a command wrote for a terminal alone: its sequences disappear as a whole, so
 * that nobody reads `[31m`.
 */
export function withoutSequences(text: string): string {
  // Colours and the cursor (`ESC [ … m`), titles and links (`ESC ] … BEL`), and character sets (`ESC ( B`).
  // All lengths are bounded, so that an unfinished sequence hides nothing.
  const sequences =
    /(?:(?![\n\r\t])\p{Cc}\[|\u009b)[0-?]{0,64}[ -/]{0,8}[@-~]|(?![\n\r\t])\p{Cc}(?:\][^\p{Cc}]{0,512}\p{Cc}\\?|\([0-9A-Z])/gu;
  return colourless(text.replace(sequences, ''));
}

/** A message's claim about the schedule that sent it; anybody who can push can make it. */
export interface StartedBy {
  schedule: string;
  /** Time at which it was due, ISO 8601 in UTC. */
  due: string;
}

/** Describes the schedule of a message in a few words. */
export function firedText({ schedule, due }: StartedBy): string {
  return `fired by schedule ${schedule}, due ${due.slice(0, 16).replace('T', ' ')} UTC`;
}

/** Formats a whole number with separators between thousands; the first number that `Intl` formats takes 14 ms. */
export function grouped(count: number): string {
  const digits = String(count);
  const parts: string[] = [];
  for (let end = digits.length; end > 0; end -= 3)
    parts.unshift(digits.slice(Math.max(0, end - 3), end));
  return parts.join(',');
}

/** Returns a count with its noun, such as `1 message` or `3 messages`. */
export function countOf(count: number, noun: string): string {
  return `${String(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** Formats an amount of US dollars; `-` if no CLI stated any. */
export function dollars(usd: number | null): string {
  return usd === null ? '-' : `$${usd.toFixed(usd < 1 ? 4 : 2)}`;
}

/** Parses a number from 0 to `most`, which YAML without types may have read as text. */
export function amount(value: unknown, most: number): number | undefined {
  const isText = typeof value === 'string' && /^\d{1,15}(?:\.\d{1,15})?(?:e-\d{1,2})?$/.test(value);
  if (typeof value !== 'number' && !isText) return undefined;
  const number = Number(value);
  return number >= 0 && number <= most ? number : undefined;
}

const REF_PART = /^(?:[A-Za-z0-9_]|[A-Za-z0-9_][A-Za-z0-9._+#-]*[A-Za-z0-9_+#-])$/;

/** Whether a text is the name of a branch, a tag or a remote, as git allows it and a command line may contain it. */
export function isRefName(text: unknown): text is string {
  return (
    typeof text === 'string' &&
    text.length <= 200 &&
    text.split('/').every((part) => REF_PART.test(part) && !part.endsWith('.lock'))
  );
}

/** The branch of an answer's run, as the answer records it (work.md). */
export interface BranchOnRecord {
  /** Name in the repository of the tier, such as `crosstalk/0a1b2c3d`. */
  name: string;
  commit: string;
  /** The commit from which the branch started. */
  base: string;
  /** Number of files that differ between the two. */
  changed: number;
  /**
   * Reason why the commit is not on that branch in the repository itself, or what else was not transferred,
   * in one line.
   */
  held?: string;
}

const OID = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/;
const MAX_FILES = 1e9;
const MAX_WORDS = 300;

/** Parses a branch from a header, which anybody may have pushed; undefined if it is invalid. */
export function branchIn(value: unknown): BranchOnRecord | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const { name, commit, base, changed, held } = value as Record<string, unknown>;
  const isOid = (text: unknown): text is string => typeof text === 'string' && OID.test(text);
  const files = amount(changed, MAX_FILES);
  if (!isRefName(name) || !isOid(commit) || !isOid(base) || files === undefined) return undefined;
  const why = isOneLine(held) && held.length <= MAX_WORDS ? held : undefined;
  return { name, commit, base, changed: files, ...(why !== undefined && { held: why }) };
}

/** Number of digits of a commit that distinguish it for people. */
const SHORT = 12;

/** Describes a branch in one line for people, such as `crosstalk/0a1b2c3d from 3f2a9c1d77e0, 4 files changed`. */
export function branchInWords({ name, base, changed, held }: BranchOnRecord): string {
  const files = changed === 1 ? '1 file' : `${String(changed)} files`;
  const why = held === undefined ? '' : `; ${escapeInvisible(held)}`;
  return `${name} from ${base.slice(0, SHORT)}, ${files} changed${why}`;
}

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
