import { realpathSync } from 'node:fs';
import { findEar } from '../../dispatcher/socket/ear.ts';
import { ask } from '../../dispatcher/socket/wake.ts';
import { likelyState } from '../../state/directory.ts';
import { locateTransport, type Surroundings } from '../locate.ts';
import { parseSendAnswer, type SendAnswer } from './answer.ts';
import { sendOp, type HandedSend } from './handed.ts';
import type { Marks } from './marks.ts';

/** Milliseconds after which the dispatcher is not waited for any more. */
export const ANSWER_LIMIT_MS = 30_000;

/**
 * What the dispatcher says to a `send` that was passed on; `timeout` when it says nothing in time,
 * undefined when there is none, or when it leaves the work to the command.
 */
export type Answered = SendAnswer | 'timeout' | undefined;

/** A `send` for which a dispatcher was asked before the whole program was loaded. */
export interface Begun {
  marks: Marks;
  /** What the dispatcher says; it is still awaited where it has something to do meanwhile. */
  answer: Answered | Promise<Answered>;
  dispatcher: Listener['state'];
  /** What is to be said if the command is interrupted from now on. */
  lastWord?: string;
  /** Leaves interrupts to others. */
  letGo: () => void;
}

/** Where a dispatcher listens that could send something. */
export interface Listener {
  /** The absolute path of the transport. */
  dir: string;
  state: NonNullable<ReturnType<typeof likelyState>>;
}

/**
 * The dispatcher of the transport that a command is about, which need not run.
 *
 * @throws CrosstalkError `not_found` where there is no transport
 */
export function listenerFor(
  surroundings: Surroundings,
  transport: string | undefined,
): Listener | undefined {
  const dir = realpathSync.native(locateTransport(surroundings, transport));
  const state = likelyState(surroundings.env, dir);
  return state && { dir, state };
}

/** Whether somebody may be listening there: the dispatcher, or one that was killed. */
export function isHeard({ state }: Listener): boolean {
  return findEar(state.socket).kind === 'found';
}

/**
 * Asks a dispatcher to send a message.
 *
 * @param onAsked called once it was asked; the message is on its way then
 */
export async function askToSend(
  { dir, state }: Listener,
  request: Omit<HandedSend, 'dir'>,
  onAsked?: () => void,
): Promise<Answered> {
  const question = { op: sendOp(request.input), request: { ...request, dir } };
  let isNobody = false;
  // A request that cannot be written calls back as well, when it is known that nobody is there.
  const onWritten = (): void => {
    setImmediate(() => {
      if (!isNobody) onAsked?.();
    });
  };
  const asked = await ask(state.socket, question, ANSWER_LIMIT_MS, undefined, onWritten);
  isNobody = asked.kind === 'nobody';
  if (asked.kind === 'answered') return parseSendAnswer(asked.answer.send);
  return asked.kind === 'timeout' ? 'timeout' : undefined;
}
