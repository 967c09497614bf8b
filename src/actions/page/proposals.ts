import type { WebDecided, WebDecideRequest, WebProposal, WebProposed } from '../../api/api.ts';
import { CrosstalkError } from '../../errors.ts';
import { whyIgnored } from '../../protocol/decision/judge.ts';
import type { MessageRef } from '../../protocol/layout.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import type { Context } from '../context.ts';
import { decide, proposalAt, type ShownProposal } from '../deciding/decide.ts';
import { publish } from './queue-send.ts';

/**
 * Returns the decision that somebody is asked to make, as `crosstalk approve` shows it, or the reason why there is
 * none.
 *
 * @throws CrosstalkError as {@link proposalAt} does for the name of the message
 */
export async function proposalPage(
  context: Context,
  message: string,
  login: string,
): Promise<WebProposal> {
  try {
    return { proposal: shownOf(await proposalAt(context, { message, login })), why: null };
  } catch (error) {
    const isSaid = error instanceof CrosstalkError && ['refused', 'usage'].includes(error.code);
    if (!isSaid) throw error;
    return { proposal: null, why: error.message };
  }
}

/** Converts it so that everything in it can be seen: each foreign text is escaped. */
function shownOf({
  permission,
  ignored,
  host,
  body,
  approver,
  ...proposal
}: ShownProposal): WebProposed {
  return {
    ...proposal,
    approver,
    host: host ?? null,
    body: body.split('\n').map(drawn).join('\n'),
    permission:
      permission === undefined
        ? null
        : {
            tool: escapeInvisible(permission.tool),
            input: escapeInvisible(permission.input),
            marks: permission.marks ?? [],
          },
    ignored: ignored.map(({ relPath, from, decision, reason }) => ({
      ...{ relPath, from, decision },
      why: whyIgnored(reason, { from, approver }),
    })),
  };
}

function drawn(line: string): string {
  return line.split('\t').map(escapeInvisible).join('\t');
}

/**
 * Decides on a proposal, by the same operation as `crosstalk approve` and `deny`; returns as soon as the decision is
 * safe on this machine's disk, and the push follows.
 *
 * @param queued receives the durable entry, before anybody can push it
 * @throws CrosstalkError as {@link decide} does; nothing is written then
 */
export async function decideOnPage(
  context: Context,
  { message, decision, note, digest }: WebDecideRequest,
  login: string,
  queued: (refs: readonly MessageRef[]) => void,
): Promise<{ decided: WebDecided; pushed: Promise<unknown> }> {
  let pushed: Promise<unknown> = Promise.resolve();
  const theirs: Context = {
    ...context,
    publish: (entry) => {
      const outcome = publish(context, entry, 'plain');
      pushed = outcome.catch(() => undefined);
      return outcome;
    },
  };
  const said = note?.trim() ?? '';
  const sent = await decide(
    theirs,
    { message, decision, digest, login, wait: false, ...(said !== '' && { note: `${said}\n` }) },
    { onDurable: queued },
  );
  const [made] = sent.messages;
  const { channel, relPath: proposal } = sent.proposal;
  return { decided: { decision, channel, proposal, relPath: made?.relPath ?? '' }, pushed };
}
