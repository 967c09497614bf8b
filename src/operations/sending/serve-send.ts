import type { Outcome } from '../../bus/publisher.ts';
import { withoutOurs } from '../../dispatcher/run/environment.ts';
import { CrosstalkError, reasonOf } from '../../errors.ts';
import type { Context } from '../context.ts';
import { isDispatchLink } from './handed.ts';
import { isRecord } from '../../state/files.ts';
import type { SendRequest } from './hand-over.ts';
import type { SendAnswer } from './answer.ts';
import { suffixOf } from './marks.ts';
import { send, type Sent } from './perform.ts';

/**
 * Does a `send` that was handed over, inside the dispatcher; see {@link handOver}.
 *
 * @param publish the dispatcher's own publisher
 * @returns undefined for one that is meant for another transport
 */
export async function serveSend(
  context: Context,
  publish: (id: string) => Promise<Outcome>,
  request: unknown,
): Promise<SendAnswer | undefined> {
  if (!isSendRequest(request) || request.dir !== context.transport.dir) return undefined;
  const notes: string[] = [];
  const note = (line: string): void => {
    notes.push(line);
  };
  const theirs = { ...context, env: withoutOurs(context.env), dispatch: {}, publish, note };
  try {
    const input = { ...request.input, ...(await configuredSender(context, request)) };
    return { sent: await sendAgain(theirs, { ...request, input }), notes };
  } catch (error) {
    const code = error instanceof CrosstalkError ? error.code : 'internal';
    return { error: { code, message: reasonOf(error) }, notes };
  }
}

/** `git config crosstalk.from` as it is now: a dispatcher lives long. */
async function configuredSender(
  { transport }: Context,
  { input }: SendRequest,
): Promise<{ from?: string }> {
  if (input.from !== undefined) return {};
  await transport.reread();
  const from = transport.defaultFrom;
  return from === undefined || from === '' ? {} : { from };
}

/** Does a `send` under ids that are the same each time it is done. */
export function sendAgain(
  context: Context,
  { id, at, seed, input }: Pick<SendRequest, 'id' | 'at' | 'seed' | 'input'>,
): Promise<Sent> {
  let serial = 0;
  return send(
    { ...context, now: () => new Date(at), suffix: () => suffixOf(seed, serial++) },
    { ...input, id },
  );
}

/** It comes from a command of the same user, perhaps of another version. */
function isSendRequest(value: unknown): value is SendRequest {
  if (!isRecord(value) || !isRecord(value['input'])) return false;
  const { dir, id, at, seed, input } = value;
  if (input['link'] !== undefined && !isDispatchLink(input['link'])) return false;
  return [dir, id, at, seed, input['to'], input['body'], input['login']].every(
    (text) => typeof text === 'string',
  );
}
