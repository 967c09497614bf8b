import { withoutSequences } from '../protocol/text/words.ts';
import type { InvocationResult } from './runner.ts';

/** The outcome of a run; `failed` carries what the dead letter records (protocol.md §8). */
export type CliOutcome =
  | { kind: 'answered'; text: string }
  | { kind: 'silent' }
  | { kind: 'stopped' }
  | {
      kind: 'failed';
      reason:
        | 'not_started'
        | 'exit_code'
        | 'signal'
        | 'timed_out'
        | 'too_much_output'
        | 'empty_answer'
        /** JSON was requested, and the output contains no answer. */
        | 'bad_output'
        | 'bad_workdir'
        /** The command that prepares a new copy of a repository failed. */
        | 'before_failed'
        | 'misconfigured'
        /** The answer is not JSON that fits the question's schema. */
        | 'misfit'
        /** The JSON Schema of the question cannot be used. */
        | 'bad_schema'
        /** The tier does not serve tasks of the sender. */
        | 'not_accepted'
        /** The prompt exceeds the model's context. */
        | 'prompt_too_long';
      detail: string;
      /** The messages of the batch that failed, if the others can still be handled. */
      only?: readonly string[];
    };

/** Exit codes of `sh` for a command that it may not execute (126) and one that it cannot find (127). */
const NOT_STARTED = [126, 127];

/** Classifies a run; the caller has to know whether giving no answer is allowed. */
export function outcomeOf(
  result: InvocationResult,
  limits: { timeout: number; maxOutput: number },
): CliOutcome {
  const failed = (
    reason: (CliOutcome & { kind: 'failed' })['reason'],
    detail: string,
  ): CliOutcome => ({
    kind: 'failed',
    reason,
    detail,
  });
  if (result.aborted) return { kind: 'stopped' };
  if (result.startError !== undefined) return failed('not_started', result.startError);
  if (result.timedOut)
    return failed('timed_out', `did not end within ${String(limits.timeout / 1000)} s`);
  if (result.tooMuchOutput)
    return failed('too_much_output', `printed more than ${String(limits.maxOutput)} bytes`);
  if (result.signal !== null) return failed('signal', `ended by ${result.signal}`);
  if (result.exitCode !== 0) {
    const code = result.exitCode ?? -1;
    const reason = NOT_STARTED.includes(code) ? 'not_started' : 'exit_code';
    const { reported = '', stderrTail, stdout } = result;
    const said = lastLine(reported) || lastLine(stderrTail) || lastLine(stdout);
    return failed(reason, `exit code ${String(code)}${said}`);
  }
  if (result.reported !== undefined)
    return failed('exit_code', `exit code 0, and yet it failed${lastLine(result.reported)}`);
  if (result.unreadable)
    return failed(
      'bad_output',
      `printed ${String(result.raw?.bytes)} bytes without an answer in JSON`,
    );
  if (Buffer.byteLength(result.stdout) > limits.maxOutput)
    return failed('too_much_output', `printed more than ${String(limits.maxOutput)} bytes`);
  return result.stdout.trim() === ''
    ? { kind: 'silent' }
    : { kind: 'answered', text: result.stdout };
}

/** Returns the last line of the output, because some CLIs report on stdout why they failed. */
function lastLine(output: string): string {
  const line = withoutSequences(output).trim().split('\n').at(-1)?.trim() ?? '';
  return line === '' ? '' : `: ${line.slice(0, 200)}`;
}
