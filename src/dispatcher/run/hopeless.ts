import { accountOf } from '../../agents/account.ts';
import { misconfigurationOf } from '../../agents/misconfigured.ts';
import { tooLongOf } from '../../agents/too-long.ts';
import type { DeadLetter } from '../../state/dead-letters.ts';
import type { FailedJob } from './job.ts';

/** Why a run has failed, where its CLI says it: its command or settings are wrong, or the prompt is too long. */
export function asItsCliSays(command: string, ended: FailedJob): FailedJob {
  const agent = accountOf(command)?.agent;
  if (agent === undefined || ended.failure.reason !== 'exit_code') return ended;
  const long = tooLongOf(agent, ended.result);
  const said = long ?? misconfigurationOf(agent, ended.result);
  if (said === undefined) return ended;
  const reason = long === undefined ? 'misconfigured' : 'prompt_too_long';
  return { ...ended, failure: { kind: 'failed', reason, detail: said } };
}

/** What the shell says of a program that is just being written, such as by an update. */
const BUSY = /text file busy/i;

/**
 * Whether another attempt would fail in the same way (talk.md, "Bad news"): there is no such program,
 * it may not be executed, it cannot work as it is configured, no answer can be checked, or whoever asks may not. What the system refused for a
 * moment, such as a process too many, is not hopeless. A prompt that was too long is tried once more, with
 * half of its thread.
 *
 * @param before the letter of the attempt before this one
 */
export function isHopeless(
  { failure, result }: FailedJob,
  before: Pick<DeadLetter, 'reason'> | undefined,
): boolean {
  if (failure.reason === 'prompt_too_long') return before?.reason === failure.reason;
  if (['misconfigured', 'bad_schema', 'not_accepted'].includes(failure.reason)) return true;
  const isBusy = result.startError !== undefined || BUSY.test(result.stderrTail);
  return failure.reason === 'not_started' && !isBusy;
}
