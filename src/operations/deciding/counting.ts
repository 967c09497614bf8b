import { CrosstalkError } from '../../errors.ts';
import type { Proposal } from '../../protocol/decision/judge.ts';
import type { Message } from '../../protocol/message.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import type { Context } from '../context.ts';
import type { WaitingHere } from '../lookup/waiting-here.ts';

/**
 * On the machine that asked it is known what waits: a plan that was dropped, or done, is not decided on, and
 * neither is a text that somebody has put in its place. What is forged on the bus ends no waiting there.
 *
 * @param takenBack the message that says on the bus that nothing is to be decided any more
 * @throws CrosstalkError `refused`
 */
export function assertWaits(
  here: WaitingHere,
  { channel, relPath, digest, isElsewhere = false }: Proposal,
  takenBack: string | undefined,
): void {
  const ref = { channel, relPath };
  const isWaiting = here.waits(ref);
  const known = here.digestOf(ref);
  if (known !== undefined && known !== digest)
    throw new CrosstalkError(
      'refused',
      `${relPath} has another text on the bus than this machine has proposed, so somebody has changed it; nothing was decided. See what waits with: crosstalk status`,
    );
  if (!isWaiting && takenBack !== undefined)
    throw new CrosstalkError(
      'refused',
      `${relPath} waits for nobody any more: ${takenBack} takes it back; nothing was decided`,
    );
  if (!isWaiting && !isElsewhere)
    throw new CrosstalkError(
      'refused',
      `nothing waits for a decision on ${relPath} any more: what it was about is answered, taken back or planned anew; see what waits with: crosstalk status`,
    );
}

/**
 * Where another machine has asked, a decision without a signature would be ignored there.
 *
 * @throws CrosstalkError `refused` where nothing is signed here
 */
export function assertSigns(
  { transport }: Context,
  { host = '' }: Message,
  { relPath, approver }: Proposal,
): void {
  if ((transport.defaults.signingKey ?? '') !== '') return;
  const where = host === '' ? 'another machine' : escapeInvisible(host);
  throw new CrosstalkError(
    'refused',
    `${relPath} was proposed on ${where}, and this is another machine: there a decision counts only if it is signed, and no key is configured here. Make one with: crosstalk key create; have it pinned on ${where} with: crosstalk key pin ${approver} <public key>; or decide on ${where}. Nothing was decided`,
  );
}
