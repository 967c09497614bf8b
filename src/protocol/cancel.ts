import { reach } from './address.ts';
import type { Lookup } from './causality.ts';
import type { Located, Message } from './message.ts';
import type { Writer } from './reply.ts';

/** The code of a delivery that somebody took back, as its dead letter and its notice give it. */
export const CANCELLED = 'cancelled';

/** The text of a cancellation for which no reason was given. */
export const NO_REASON = 'Cancelled.';

/**
 * The message that takes another one back (talk.md, "Cancelling"). It goes to the same addressees, and
 * `re` names the cancelled message, so that a plain 6.0 host does not take it for a task.
 *
 * @param only whether the tasks that its addressees gave to others for it go on; `asOperator`: somebody else wrote it
 */
export function cancelMessage(
  target: { relPath: string; message: Pick<Message, 'to'> },
  body: string,
  { actor, host, at }: Writer,
  { only, asOperator = false }: { only: boolean; asOperator?: boolean },
): Message {
  return {
    from: actor,
    to: target.message.to,
    type: 'text',
    timestamp: at.toISOString(),
    re: [target.relPath],
    cause: [],
    cancels: target.relPath,
    ...(only && { only: true as const }),
    ...(asOperator && { as_operator: true as const }),
    ...(host === undefined ? {} : { host }),
    extra: {},
    body,
  };
}

/**
 * Whether a message takes another one back: whoever wrote that one may, where it was written. What takes a message
 * back cannot be taken back: it is done by then.
 */
export function mayCancel(
  { from, host }: Pick<Message, 'from' | 'host'>,
  target: Pick<Message, 'from' | 'host' | 'cancels'>,
): boolean {
  return from === target.from && host === target.host && target.cancels === undefined;
}

/**
 * Whether a message takes another one back that nobody serves, as any person may. Whoever can push can write one, so
 * it is for those who serve an addressee, or know who does, to let none of it count.
 */
export function isByOperator(
  { host, as_operator: asOperator }: Pick<Message, 'host' | 'as_operator'>,
  target: Pick<Message, 'cancels'>,
): boolean {
  return asOperator === true && host === undefined && target.cancels === undefined;
}

/**
 * The message by which another one was taken back.
 *
 * @param naming the messages that name it in `re`
 * @param isNobodys whether it is for nobody whom a host serves, nor for a person: then an operator may have done it
 */
export function cancelOf<T extends Located>(
  { relPath, message }: Located,
  naming: readonly T[],
  { isNobodys }: { isNobodys: boolean },
): T | undefined {
  return naming.find(
    ({ message: later }) =>
      later.cancels === relPath &&
      (mayCancel(later, message) || (isNobodys && isByOperator(later, message))),
  );
}

/** Whether a message is for an actor on a host, so that this host has to end what it does for it. */
export function isFor({ type, to, from }: Message, actor: string, host: string): boolean {
  return type === 'text' && from !== actor && reach(to, from, actor, host) === 'addressed';
}

/**
 * The messages that an actor need not work on any more: those that their writers took back, and those
 * of which its dispatcher has said that they were cancelled.
 *
 * @param channel the messages of a thread, as they are seen from one channel
 */
export function cancelledIn(
  channel: readonly Located[],
  { actor, host }: { actor: string; host: string },
  lookup: Lookup,
): Set<string> {
  const cancelled = new Set<string>();
  for (const { message } of channel) {
    const { cancels, failed, from, re } = message;
    const target = cancels === undefined ? undefined : lookup(cancels);
    if (cancels !== undefined && target !== undefined && mayCancel(message, target))
      cancelled.add(cancels);
    if (failed?.reason === CANCELLED && from === actor && message.host === host)
      for (const question of re) cancelled.add(question);
  }
  return cancelled;
}
