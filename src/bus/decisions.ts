import { createHash } from 'node:crypto';
import { decidesOn, judge, type CountedDecision, type Judged } from '../protocol/decision/judge.ts';
import type { Candidate, Proposal } from '../protocol/decision/judge.ts';
import { proposedText } from '../protocol/text/decision.ts';
import { mayCancel } from '../protocol/cancel.ts';
import { messageFile } from '../protocol/layout.ts';
import type { Located, Message } from '../protocol/message.ts';
import { messageKey, type MessageRef } from '../protocol/message-ref.ts';
import type { Decided } from '../state/keys/decided.ts';
import type { Transport } from '../transport/transport.ts';
import { Beginning } from './beginning.ts';
import type { ChannelLinks } from './channel-links.ts';
import { inCommitOrder } from './commit-order.ts';
import type { Verifier } from './verifier.ts';

/** The digest by which a decision names a proposal: its place and its whole file. */
export function digestOfProposal(ref: MessageRef, text: string): string {
  return createHash('sha256')
    .update(proposedText(messageKey(ref), text))
    .digest('hex');
}

export interface DecisionsParts {
  transport: Transport;
  links: ChannelLinks;
  verifier: Verifier;
  decided: Decided;
}

/** Finds what was decided on a proposal, and says what of it counts on this machine ({@link judge}). */
export class Decisions {
  readonly #parts: DecisionsParts;

  constructor(parts: DecisionsParts) {
    this.#parts = parts;
  }

  /**
   * Judges all that a commit of the bus says of a proposal. It reads what was added to its channel since
   * the last look, and starts a process for each signature by a pinned key that was not verified before.
   *
   * @param known a decision that counted at an earlier look
   * @throws CrosstalkError `refused` where signatures cannot be verified, so that nobody can say;
   *   `invalid` when the pinned keys cannot be read
   */
  async judge(tip: string, proposal: Proposal, known?: CountedDecision): Promise<Judged> {
    return judge(proposal, await this.#candidates(tip, proposal), known);
  }

  /** The message by which its writer has taken a proposal back, if there is one on the bus. */
  async takenBack(
    tip: string,
    { channel, relPath }: MessageRef,
    writer: Pick<Message, 'from' | 'host' | 'cancels'>,
  ): Promise<string | undefined> {
    const named = await this.#naming(tip, { channel, relPath });
    const found = named.find(
      ({ message }) => message.cancels === relPath && mayCancel(message, writer),
    );
    return found?.relPath;
  }

  #naming(tip: string, { channel, relPath }: MessageRef): Promise<Located[]> {
    const { transport, links } = this.#parts;
    const begun = new Beginning(transport, tip, relPath, [messageFile(channel, relPath)]);
    return links.since(tip, channel, begun, []);
  }

  async #candidates(tip: string, { channel, relPath }: Proposal): Promise<Candidate[]> {
    const { transport, verifier, decided } = this.#parts;
    const named = await this.#naming(tip, { channel, relPath });
    const found = await this.#inOrder(
      tip,
      channel,
      named.filter(({ message }) => decidesOn(message, relPath)),
    );
    if (found.length === 0) return [];
    const claims = found.map((located) => ({ channel, ...located }));
    const verdicts = await verifier.verdicts(tip, claims, { sure: true });
    const isMadeHere = await decided.look();
    return Promise.all(
      found.map(async (located, at): Promise<Candidate> => {
        const path = messageFile(channel, located.relPath);
        const content = await transport.objects.text(tip, path);
        const verified = verdicts[at];
        return {
          ...located,
          isMadeHere: content !== undefined && isMadeHere({ path, content }),
          ...(verified !== undefined && { verified }),
        };
      }),
    );
  }

  async #inOrder(tip: string, channel: string, found: Located[]): Promise<Located[]> {
    const placed = found.map((located) => ({ ...located, channel, actor: '' }));
    return inCommitOrder(this.#parts.transport, undefined, tip, placed);
  }
}
