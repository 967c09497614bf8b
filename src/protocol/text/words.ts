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
