/** Why a delivery failed, by the reasons of protocol.md §8. */
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

/** Why mail waits although its actor could run. */
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
 * The code of a failure or of a hold in words, for every place where people read it.
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
