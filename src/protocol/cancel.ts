import { reach } from './address.ts';
import type { Lookup } from './causality.ts';
import type { Located, Message } from './message.ts';
import type { Writer } from './reply.ts';

/** Code of a cancelled delivery in its dead letter and its notice. */
export const CANCELLED = 'cancelled';

/** Text of a cancellation without a reason. */
export const NO_REASON = 'Cancelled.';

/**
 * Composes the message that cancels another one (talk.md, "Cancelling"). It goes to the same addressees, and `re` names
 * the cancelled message, so that a plain 6.0 host does not take it for a task.
 *
 * @param only whether the tasks that its addressees gave to others for it continue; `asOperator`: somebody else wrote
 *   the cancelled message
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
 * Whether a message may cancel another one: its writer may, on the host where it was written. A cancellation
 * cannot be cancelled: it has already taken effect.
 */
export function mayCancel(
  { from, host }: Pick<Message, 'from' | 'host'>,
  target: Pick<Message, 'from' | 'host' | 'cancels'>,
): boolean {
  return from === target.from && host === target.host && target.cancels === undefined;
}

/**
 * Whether a message cancels, in the operator's name, one that nobody serves, as any person may. Anybody who
 * can push can write one, so a host that serves an addressee, or knows one that does, must ignore it.
 */
export function isByOperator(
  { host, as_operator: asOperator }: Pick<Message, 'host' | 'as_operator'>,
  target: Pick<Message, 'cancels'>,
): boolean {
  return asOperator === true && host === undefined && target.cancels === undefined;
}

/**
 * Finds the message that cancelled another one.
 *
 * @param naming the messages that name it in `re`
 * @param isNobodys whether it is neither for an actor that a host serves nor for a person: then an operator may have
 *   cancelled it
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

/** Whether a message is for an actor on a host, so that this host has to end its work on it. */
export function isFor({ type, to, from }: Message, actor: string, host: string): boolean {
  return type === 'text' && from !== actor && reach(to, from, actor, host) === 'addressed';
}

/**
 * Collects the messages that an actor need not work on any more: those that their writers cancelled, and those that its
 * dispatcher has reported as cancelled.
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
