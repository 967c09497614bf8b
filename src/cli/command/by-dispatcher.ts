import { CrosstalkError } from '../../errors.ts';
import {
  askDispatcher,
  noRun,
  runHasEnded,
  type RunRequest,
  type RunWork,
} from '../../actions/sending/in-run.ts';
import { newIdempotencyKey } from '../../actions/sending/handed.ts';
import { clockOf } from '../../actions/clock.ts';
import { note, type Call } from './command.ts';

/**
 * Asks the dispatcher to do something that a run may not do itself.
 *
 * @returns its result; undefined when this command has to do it
 * @throws CrosstalkError `timed_out` when no dispatcher answers; the request is carried out later
 */
export async function byDispatcher<K extends 'channel' | 'memory' | 'memory_add' | 'memory_change'>(
  call: Call,
  kind: K,
  input: RunWork[K],
): Promise<unknown> {
  const { agentMode } = call.io;
  if (agentMode === undefined) return undefined;
  if (agentMode.runDir === undefined) {
    if (agentMode.actor === undefined) throw agentMode.ended === true ? runHasEnded() : noRun();
    return undefined;
  }
  const request: RunRequest<K> = {
    kind,
    ...newIdempotencyKey(clockOf(call.io)),
    input,
  };
  const answered = await askDispatcher(agentMode.runDir, request, (line) => {
    note(call, line);
  });
  if (answered !== undefined) return answered.result;
  throw new CrosstalkError(
    'timed_out',
    'the dispatcher has not answered; what you asked for is safe, and is done when it looks again',
  );
}
