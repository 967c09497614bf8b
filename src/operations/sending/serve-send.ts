import { linkOf } from '../../agents/dispatch-variables.ts';
import type { PublishOutcome } from '../../bus/publisher.ts';
import { withoutOurs } from '../../dispatcher/run/environment.ts';
import { CrosstalkError, reasonOf } from '../../errors.ts';
import type { Context } from '../context.ts';
import type { SendAnswer } from './answer.ts';
import { isSendRequest, type HandedInput } from './handed.ts';
import { perform } from './perform.ts';

/**
 * Carries out a `send` that was passed on, inside the dispatcher; see {@link handOver}.
 *
 * @param publish the dispatcher's own publisher
 * @returns undefined for a request that is meant for another transport, and for one that its sender has
 *   to sign: the key is a person's, and so is its agent; the command then does the work itself
 */
export async function serveSend(
  context: Context,
  publish: (id: string) => Promise<PublishOutcome>,
  request: unknown,
): Promise<SendAnswer | undefined> {
  if (!isSendRequest(request) || request.dir !== context.transport.dir) return undefined;
  const { link = {}, ...said } = request.input;
  const notes: string[] = [];
  const note = (line: string): void => {
    notes.push(line);
  };
  const dispatch = linkOf(link);
  await context.transport.reread();
  const { signingKey = '' } = context.transport.defaults;
  if (signingKey !== '' && dispatch.id === undefined) return undefined;
  const theirs = { ...context, dispatch, env: withoutOurs(context.env), publish, note };
  try {
    const input = { ...said, ...(await configuredSender(context, said)) };
    const since = said.awaited === true ? await context.transport.tip() : undefined;
    const sent = await perform(theirs, input, request);
    return { sent, notes, ...(since !== undefined && { since }) };
  } catch (error) {
    // Whoever asks has files of its own to open, and does it itself.
    if (/\bE[MN]FILE\b/.test(reasonOf(error))) return undefined;
    const code = error instanceof CrosstalkError ? error.code : 'internal';
    return { error: { code, message: reasonOf(error) }, notes };
  }
}

/**
 * The current value of `git config crosstalk.from`, as a dispatcher lives long. The clone's settings are
 * read again, also for the channel of a message that names none.
 */
async function configuredSender(
  { transport }: Context,
  input: HandedInput,
): Promise<{ from?: string }> {
  if (input.from !== undefined && input.channel !== undefined) return {};
  await transport.reread();
  if (input.from !== undefined) return {};
  const { from } = transport.defaults;
  return from === undefined || from === '' ? {} : { from };
}
