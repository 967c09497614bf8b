import { realpath } from 'node:fs/promises';
import { ask } from '../../dispatcher/socket/wake.ts';
import { CrosstalkError } from '../../errors.ts';
import { likelySocket } from '../../state/directory.ts';
import { locateTransport, type Surroundings } from '../locate.ts';
import { parseSendAnswer } from './answer.ts';
import type { HandedSend } from './handed.ts';
import type { Sent } from './input.ts';

const ANSWER_LIMIT_MS = 30_000;

/**
 * Passes a `send` to the dispatcher of this machine, which already has everything it needs, so that
 * the command itself starts no git and reads nothing.
 *
 * Nothing is lost or duplicated if the dispatcher dies meanwhile: the command then does the same
 * itself, under the same ids, and what was already published is recognised by its path.
 *
 * @returns undefined when no dispatcher could be asked, `timeout` when it did not answer in time
 * @throws CrosstalkError whatever the dispatcher's `send` threw
 */
export async function handOver(
  surroundings: Surroundings,
  transport: string | undefined,
  request: Omit<HandedSend, 'dir'>,
  note: (line: string) => void,
): Promise<Sent | 'timeout' | undefined> {
  const { env } = surroundings;
  const dir = await realpath(await locateTransport(surroundings, transport));
  const socket = await likelySocket(env, dir);
  if (socket === undefined) return undefined;
  const asked = await ask(socket, { op: 'send', request: { ...request, dir } }, ANSWER_LIMIT_MS);
  if (asked.kind === 'timeout') return 'timeout';
  const answer = asked.kind === 'answered' ? parseSendAnswer(asked.answer.send) : undefined;
  if (answer === undefined) return undefined;
  for (const line of answer.notes) note(line);
  if (answer.error !== undefined) throw new CrosstalkError(answer.error.code, answer.error.message);
  return answer.sent;
}
