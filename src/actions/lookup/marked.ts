import type { Claim } from '../../bus/verifier.ts';
import type { Located } from '../../protocol/message.ts';
import type { Context } from '../context.ts';

/** A message, and the channel in which it is. */
type Placed = Located & { channel: string | { id: string }; oid?: string };

/**
 * Adds to messages whether their writers have signed them ({@link Claim}), for everybody who shows messages; those of
 * names that are not pinned here stay as they are.
 *
 * A run may be kept from the files that this needs; then it receives no marks.
 *
 * @param tip the commit at which they were read
 * @param queued the file of a message that waits in the outbox here
 */
export async function marked<T extends Placed>(
  { verifier, agentMode }: Context,
  tip: string,
  placed: readonly T[],
  queued: (one: T) => string | undefined = () => undefined,
): Promise<T[]> {
  const claims = placed.map((one): Claim => {
    const { channel, relPath, message, oid } = one;
    const file = queued(one);
    const id = typeof channel === 'string' ? channel : channel.id;
    const known = {
      ...(file !== undefined && { queued: file }),
      ...(oid !== undefined && { oid }),
    };
    return { channel: id, relPath, message, ...known };
  });
  const asked = verifier.verdicts(tip, claims);
  const found = await (agentMode === undefined ? asked : asked.catch(() => []));
  return placed.map((one, at) => {
    const verified = found[at];
    return verified === undefined ? one : { ...one, verified };
  });
}

/** Messages without the cancellations in a pinned name that their writer has not signed: they take nothing back. */
export async function believed<T extends Placed>(
  context: Context,
  tip: string,
  placed: readonly T[],
): Promise<T[]> {
  const isCancel = ({ message }: T): boolean =>
    message.cancels !== undefined && message.host === undefined;
  if (!placed.some(isCancel)) return [...placed];
  const found: (T & { verified?: boolean })[] = await marked(context, tip, placed);
  return found.filter((one) => one.verified !== false || !isCancel(one));
}
