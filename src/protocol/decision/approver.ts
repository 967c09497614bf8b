import { ASKER } from '../files/tier-gate.ts';
import type { Message } from '../message.ts';

/**
 * Who decides on what a tier proposes.
 *
 * An actor can't decide. So where a thread was begun by one, as by a run in another thread, or by an
 * actor of this machine, it is the operator of the machine that asks (decision 46).
 *
 * @param approver as the tier says it
 * @param root the message that began the thread; undefined where it is not known
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
