import { accountOf } from '../../agents/account.ts';
import { misconfigurationOf } from '../../agents/misconfigured.ts';
import type { FailedJob } from './job.ts';

/** A failed run whose CLI says that its command or its settings are wrong is `misconfigured`. */
export function misconfiguredIfSo(command: string, ended: FailedJob): FailedJob {
  const agent = accountOf(command)?.agent;
  if (agent === undefined || ended.failure.reason !== 'exit_code') return ended;
  const said = misconfigurationOf(agent, ended.result);
  if (said === undefined) return ended;
  return { ...ended, failure: { kind: 'failed', reason: 'misconfigured', detail: said } };
}

/** What the shell says of a program that is just being written, such as by an update. */
const BUSY = /text file busy/i;

/**
 * Whether another attempt would fail in the same way (talk.md, "Bad news"): there is no such program,
 * it may not be executed, it cannot work as it is configured, or no answer can be checked. What the system refused for a
 * moment, such as a process too many, is not hopeless.
 */
export function isHopeless({ failure, result }: FailedJob): boolean {
  if (failure.reason === 'misconfigured' || failure.reason === 'bad_schema') return true;
  const isBusy = result.startError !== undefined || BUSY.test(result.stderrTail);
  return failure.reason === 'not_started' && !isBusy;
}
