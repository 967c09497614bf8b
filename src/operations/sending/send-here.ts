import { randomBytes } from 'node:crypto';
import { ulid } from 'ulid';
import { relPathAt } from '../../protocol/names.ts';
import type { Context } from '../context.ts';
import { inSurroundings } from './handed.ts';
import { handOver } from './hand-over.ts';
import type { Sent } from './perform.ts';
import type { SendInput } from './input.ts';
import { suffixOf } from './marks.ts';
import { sendAgain } from './serve-send.ts';

/** A message that is about to be sent. */
export interface Sending {
  /** Where it will stand in its channel. */
  relPath: string;
  /** ISO 8601 UTC. */
  at: string;
  /**
   * Sends it: the dispatcher does where one runs, else this process.
   *
   * @throws CrosstalkError as `send` does
   */
  go: () => Promise<Sent>;
}

/**
 * Prepares to send from a process that has its transport open already, so that the message can be
 * shown before it is on its way.
 *
 * @param input of an operator: a message to several is one
 */
export function prepareSend(
  context: Context,
  input: Omit<SendInput, 'isNew' | 'wait' | 'unanswered' | 'id'>,
): Sending {
  const whole = inSurroundings(context, { ...input, isNew: true, wait: true });
  const seed = randomBytes(16).toString('hex');
  const request = { id: ulid(), at: context.now().toISOString(), seed, input: whole };
  const go = async (): Promise<Sent> => {
    const served = await handOver(context, context.transport.dir, request, context.note);
    if (typeof served === 'object') return served;
    if (served === 'timeout') whole.unanswered = 'the dispatcher has not answered yet, and goes on';
    return sendAgain(context, request);
  };
  return { relPath: relPathAt(new Date(request.at), suffixOf(seed, 0)), at: request.at, go };
}
