import type { WebForce } from '../../api/api.ts';
import { CANCELLED, cancelOf, mayCancel } from '../../protocol/cancel.ts';
import { EVERYONE } from '../../protocol/address.ts';
import { isAnswer } from '../../protocol/owed.ts';
import type { Located } from '../../protocol/message.ts';
import type { MessageRef } from '../../protocol/layout.ts';
import { tipOf, type Context } from '../context.ts';
import { believed } from './marked.ts';
import { withNaming, type Naming } from './naming.ts';
import { whoHas } from './people.ts';
import { queuedCancels, queuedMessage, type CancelHere } from './queued.ts';

/** Message that cancels another one. */
export interface Cancellation extends CancelHere {
  force: WebForce;
}

/**
 * Returns the messages that cancel another one, as far as is known here, the oldest first and those of the outbox
 * last.
 *
 * @param mentions the messages on the bus that name it
 */
export async function cancellationsOf(
  context: Context,
  { channel, relPath }: MessageRef,
  mentions: readonly Located[],
): Promise<Cancellation[]> {
  const found: CancelHere[] = [
    ...mentions.filter(({ message }) => message.cancels === relPath),
    ...(await queuedCancels(context, { channel, relPath })),
  ];
  if (found.length === 0) return [];
  const tip = await tipOf(context);
  const message =
    (await context.reader.message(tip, channel, relPath)) ??
    (await queuedMessage(context, { channel, relPath }));
  if (message === undefined) return found.map((one) => ({ ...one, force: 'none' }));
  const isNobodys =
    isHonoured({ relPath, message }, mentions) || (await whoHas(context, message.to)) === undefined;
  const placed = found.map((one) => ({ ...one, channel }));
  const onTheBus = placed.filter(({ queued }) => queued !== true);
  const counted = new Set((await believed(context, tip, onTheBus)).map((one) => one.relPath));
  return found.map((one) => {
    const counts = one.queued === true || counted.has(one.relPath);
    const mayDoIt = cancelOf({ relPath, message }, [one], { isNobodys }) !== undefined;
    if (!counts || !mayDoIt) return { ...one, force: 'none' };
    const before = mentions.filter(
      (said) => said.relPath < one.relPath && said.message.re.includes(relPath),
    );
    const hasAnswered = ({ name }: { name: string }): boolean =>
      name !== EVERYONE &&
      before.some((said) => said.message.from === name && isAnswer(said.message));
    return { ...one, force: message.to.every(hasAnswered) ? 'late' : 'cancels' };
  });
}

/** Whether an addressee that nobody served is served by now, and its host has obeyed an operator's cancellation. */
function isHonoured({ relPath, message }: Located, mentions: readonly Located[]): boolean {
  if (mentions.some((said) => said.message.cancels === relPath && mayCancel(said.message, message)))
    return false;
  return mentions.some(
    ({ message: { failed, from, re } }) =>
      failed?.reason === CANCELLED &&
      re.includes(relPath) &&
      message.to.some(({ name }) => name === from || name === EVERYONE),
  );
}

/**
 * Adds to some messages the force of those that cancel, and the cancellations of those among them. A cancellation is
 * newer than its message, and has its writer and its addressees: it is among those shown.
 */
export async function withForces<T extends Located & MessageRef>(
  context: Context,
  some: readonly T[],
): Promise<(T & { cancelled?: Cancellation; force?: WebForce })[]> {
  const targets = some.flatMap(({ channel, message: { cancels } }) =>
    cancels === undefined ? [] : [{ channel, relPath: cancels }],
  );
  const found = await cancellationsHere(context, targets);
  return some.map((one) => {
    const { relPath, message } = one;
    const cancelled = inForce(found.filter((other) => other.message.cancels === relPath));
    return {
      ...one,
      ...(cancelled && { cancelled }),
      ...(message.cancels !== undefined && { force: forceIn(found, relPath) ?? 'none' }),
    };
  });
}

/** As {@link cancellationsOf}, where the messages that name it are still to be found. */
export async function cancellationsHere(
  context: Context,
  refs: readonly MessageRef[],
): Promise<Cancellation[]> {
  if (refs.length === 0) return [];
  return withNaming(context, await tipOf(context), async (naming) =>
    (await Promise.all(refs.map((ref) => cancellationsIn(context, ref, naming)))).flat(),
  );
}

async function cancellationsIn(
  context: Context,
  ref: MessageRef,
  naming: Naming,
): Promise<Cancellation[]> {
  return cancellationsOf(context, ref, await naming(ref, 're'));
}

/** Returns the force of one of some messages; undefined if it is not among them. */
export function forceIn(found: readonly Cancellation[], relPath: string): WebForce | undefined {
  return found.find((one) => one.relPath === relPath)?.force;
}

/** Returns the cancellation of a message that has force. */
export function inForce(found: readonly Cancellation[]): Cancellation | undefined {
  return found.find(({ force }) => force !== 'none');
}
