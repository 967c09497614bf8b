import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { ask } from '../../dispatcher/socket/wake.ts';
import {
  type PermissionAnswer,
  permissionAnswerIn,
} from '../../dispatcher/permission/run-permission.ts';
import { CrosstalkError } from '../../errors.ts';
import type { Clock } from '../../clock.ts';
import { drop, noRun, runHasEnded } from './in-run.ts';
import { newIdempotencyKey } from './handed.ts';
import type { AgentMode } from '../agent-mode.ts';

/** Maximum milliseconds of a wait; the dispatcher ends it long before. */
const LONGEST_MS = 2 ** 31 - 1;

/**
 * Asks the dispatcher of a run whether a tool may be used, and waits until a person has decided, or the
 * time is over: through the run's socket, or through its drop folder when there is no socket. A request
 * that may have reached the dispatcher is not repeated in the other way.
 *
 * @param gone ends the wait; the dispatcher then withdraws the request, if it came by the socket
 * @throws CrosstalkError `usage` outside of a run; `refused` when the run or the dispatcher has ended
 */
export async function askPermission(
  mode: AgentMode | undefined,
  call: { tool: string; input: Record<string, unknown> },
  chance: Pick<Clock, 'newId' | 'now' | 'secret'>,
  gone: AbortSignal,
): Promise<PermissionAnswer> {
  if (mode?.ended === true) throw runHasEnded();
  if (mode?.runDir === undefined) throw noRun();
  const { runDir } = mode;
  const request = { kind: 'permission', ...newIdempotencyKey(chance), input: call } as const;
  const socket = join(runDir, 's');
  const hasSocket = await lstat(socket).then(
    () => true,
    () => false,
  );
  const answer = hasSocket
    ? await overSocket(socket, request, gone)
    : await drop(runDir, request, LONGEST_MS, gone);
  const said = permissionAnswerIn(answer);
  if (said === undefined)
    throw new CrosstalkError('refused', 'the dispatcher has ended, and nobody decides any more');
  return said;
}

async function overSocket(socket: string, request: unknown, gone: AbortSignal): Promise<unknown> {
  const asked = await ask(socket, { op: 'send_talk', request }, LONGEST_MS, gone);
  return asked.kind === 'answered' ? asked.answer.send : undefined;
}
