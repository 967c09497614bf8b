import { CrosstalkError } from '../../errors.ts';
import { cancelMessage, mayCancel, NO_REASON } from '../../protocol/cancel.ts';
import { outgoing } from '../../protocol/outgoing.ts';
import { isOrigin } from '../../protocol/reference.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { shown } from '../../protocol/text/result.ts';
import type { Context } from '../context.ts';
import type { Message } from '../../protocol/message.ts';
import { whoHas } from '../lookup/people.ts';
import { readMessage } from '../reading/read.ts';
import type { Prepared, SendInput } from './input.ts';
import { suffixOf, type Marks } from './marks.ts';

/**
 * Creates the message of a cancellation. A run has no such message (trust.md §3).
 *
 * @throws CrosstalkError `usage` when somebody else wrote the message, unless an operator takes back what no host
 *   serves
 */
export async function prepareCancel(
  context: Context,
  { cancels = '', body, only = false, asOperator = false }: SendInput,
  from: string,
  { at, seed }: Omit<Marks, 'id'>,
): Promise<Prepared> {
  const problem = `${shown(cancels)} is no message to cancel: expected <channel id>/<relPath>`;
  if (!isOrigin(cancels)) throw new CrosstalkError('usage', problem);
  const { channel, relPath, message: target } = await readMessage(context, cancels);
  const writer = { actor: from, at: new Date(at) };
  if (target.cancels !== undefined)
    throw new CrosstalkError(
      'usage',
      `${relPath} takes ${target.cancels} back, which cannot be undone; send that message again`,
    );
  if (asOperator) await assertNobodys(context, relPath, target);
  else if (!mayCancel({ from }, target)) {
    const { from: name, host: where } = target;
    const whose = where === undefined ? name : `${name}@${where}`;
    throw new CrosstalkError(
      'usage',
      `${relPath} is from ${escapeInvisible(whose)}, and only its writer can cancel it, not ${from}`,
    );
  }
  const why = body.trim() === '' ? `${NO_REASON}\n` : body;
  const message = cancelMessage({ relPath, message: target }, why, writer, { only, asOperator });
  const written = outgoing(message, channel.id, context.hostname, suffixOf(seed, 0));
  return {
    channel: channel.id,
    from,
    dispatch: undefined,
    messages: [{ channel: channel.id, message, ...written }],
  };
}

/** Refuses to take back in place of its writer what somebody serves, or has in an inbox. */
async function assertNobodys(context: Context, relPath: string, { to }: Message): Promise<void> {
  const why = await whoHas(context, to);
  if (why === undefined) return;
  throw new CrosstalkError(
    'usage',
    `${relPath}: ${why}, so only its writer can cancel it; --as-operator is for what nobody serves`,
  );
}
