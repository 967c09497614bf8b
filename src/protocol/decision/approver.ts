import { ASKER } from '../files/tier-gate.ts';
import type { Message } from '../message.ts';

/**
 * Determines who decides on the proposals of a tier.
 *
 * An actor can't decide. So if a thread was started by one, as by a run in another thread, or by an actor of this
 * machine, it is the operator of the machine that asks (decision 46).
 *
 * @param approver as set in the tier
 * @param root the message that started the thread; undefined if unknown
 * @param operator the name under which the operator of this machine writes
 * @param isActor whether a name is that of an actor of this machine
 */
export function approverOf(
  approver: string,
  root: Pick<Message, 'from' | 'host'> | undefined,
  operator: string,
  isActor: (name: string) => boolean,
): string {
  if (approver !== ASKER) return approver;
  const isPerson = root !== undefined && root.host === undefined && !isActor(root.from);
  return isPerson ? root.from : operator;
}
