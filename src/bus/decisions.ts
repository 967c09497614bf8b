import type { App } from './app.ts';
import { createHash } from 'node:crypto';
import {
  couldCount,
  decidesOn,
  judge,
  type CountedDecision,
  type Judged,
  type Candidate,
  type Proposal,
} from '../protocol/decision/judge.ts';
import { proposedText } from '../protocol/text/words.ts';
import { mayCancel } from '../protocol/cancel.ts';
import { messageFile, messageKey, type MessageRef } from '../protocol/layout.ts';
import type { Located, Message } from '../protocol/message.ts';
import { nameOfDecision } from '../state/keys/decided.ts';
import { ThreadStart } from './thread-start.ts';
import type { ChannelLinks } from './channel-links.ts';
import { inCommitOrder } from './commit-order.ts';

/** Computes the digest by which a decision names a proposal: of its place and its whole file. */
export function digestOfProposal(ref: MessageRef, text: string): string {
  return createHash('sha256')
    .update(proposedText(messageKey(ref), text))
    .digest('hex');
}

/** The parts of the app that {@link Decisions} uses. */
interface DecisionsApp extends Pick<App, 'transport' | 'verifier' | 'decided'> {
  links: ChannelLinks;
}

/** A question for a decision, and for what it is asked. */
interface Asked extends MessageRef {
  actor: string;
  host: string;
  messages: readonly string[];
}

/** A file of a decision. */
interface ReadDecision {
  path: string;
  oid: string;
  /** Its name in the record of decisions made on this machine. */
  name: string;
}

/**
 * A reader of the decisions on a proposal, which determines those that are valid on this machine
 * ({@link judge}).
 */
export class Decisions {
  readonly #app: DecisionsApp;
  /** Decisions that were read, cached as long as their message is. */
  readonly #read = new WeakMap<Message, ReadDecision>();

  constructor(app: DecisionsApp) {
    this.#app = app;
  }

  /**
   * Judges all decisions on a proposal at a commit of the bus. It reads the messages added to its channel
   * since the last call, and starts a process for each signature by a pinned key that was not verified
   * before.
   *
   * @param known a decision that was valid at an earlier call
   * @throws CrosstalkError `refused` when signatures cannot be verified, so that the result is unknown;
   *   `invalid` when the pinned keys cannot be read
   */
  async judge(tip: string, proposal: Proposal, known?: CountedDecision): Promise<Judged> {
    return this.among(tip, proposal, await this.#naming(tip, proposal), known);
  }

  /**
   * Judges decisions among messages that the caller has found.
   *
   * @param named messages of its channel that name the proposal, in the order of their paths
   * @throws CrosstalkError as {@link judge} does
   */
  async among(
    tip: string,
    proposal: Proposal,
    named: readonly Located[],
    known?: CountedDecision,
  ): Promise<Judged> {
    return judge(proposal, await this.#candidates(tip, proposal, named), known);
  }

  /** Returns the message by which its writer has withdrawn a proposal, if there is one on the bus. */
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

  /**
   * Whether nobody need be told any more that a question is over, as whoever asked it has taken it back, or
   * answered after it was decided: an older state, put back, has it open again. Nothing is permitted by that,
   * so no decision is verified.
   */
  async isOver(tip: string, { actor, host, messages, ...question }: Asked): Promise<boolean> {
    const named = (await this.#naming(tip, question)).map(({ message }) => message);
    const own = named.filter(({ from, host: at }) => from === actor && at === host);
    const isAnswer = ({ re, interim }: Message): boolean =>
      interim !== true && re.some((ref) => messages.includes(ref));
    return (
      own.some(({ cancels }) => cancels === question.relPath) ||
      (own.some(isAnswer) && named.some((message) => decidesOn(message, question.relPath)))
    );
  }

  #naming(tip: string, { channel, relPath }: MessageRef): Promise<Located[]> {
    const { transport, links } = this.#app;
    const begun = new ThreadStart(transport, tip, relPath, [messageFile(channel, relPath)]);
    return links.since(tip, channel, begun, []);
  }

  /**
   * Returns the candidates, the possibly valid ones in commit order first. Anyone who can push can forge
   * any number of decisions, so each is read and verified once, and only those that could be valid are
   * sorted, which takes a process of git.
   */
  async #candidates(
    tip: string,
    proposal: Proposal,
    named: readonly Located[],
  ): Promise<Candidate[]> {
    const { verifier, decided } = this.#app;
    const { channel, relPath, approver } = proposal;
    const found = named.filter(({ message }) => decidesOn(message, relPath));
    const theirs = found.filter(
      ({ message: { from, host } }) => from === approver && host === undefined,
    );
    if (theirs.length === 0) return found.map((one) => ({ ...one, isMadeHere: false }));
    const read = await Promise.all(theirs.map((one) => this.#readOnce(tip, channel, one)));
    const claims = theirs.map((located, at) => {
      const oid = read[at]?.oid;
      return { channel, ...located, ...(oid !== undefined && { oid }) };
    });
    const verdicts = await verifier.verdicts(tip, claims, { sure: true });
    const isMadeHere = await decided.lookForNames();
    const judged = new Map(
      theirs.map((located, at): [string, Candidate] => {
        const verified = verdicts[at];
        const name = read[at]?.name;
        const candidate: Candidate = {
          ...located,
          isMadeHere: name !== undefined && isMadeHere(name),
          ...(verified !== undefined && { verified }),
        };
        return [located.relPath, candidate];
      }),
    );
    const all = found.map((one) => judged.get(one.relPath) ?? { ...one, isMadeHere: false });
    const good = all.filter((one) => couldCount(proposal, one));
    return [
      ...(await this.#inOrder(tip, channel, good)),
      ...all.filter((one) => !good.includes(one)),
    ];
  }

  async #readOnce(
    tip: string,
    channel: string,
    { relPath, message }: Located,
  ): Promise<ReadDecision | undefined> {
    const path = messageFile(channel, relPath);
    const known = this.#read.get(message);
    if (known?.path === path) return known;
    const object = await this.#app.transport.objects.read(`${tip}:${path}`);
    if (object?.content === undefined) return undefined;
    const content = object.content.toString('utf8');
    const read = { path, oid: object.oid, name: nameOfDecision({ path, content }) };
    this.#read.set(message, read);
    return read;
  }

  async #inOrder(tip: string, channel: string, found: Candidate[]): Promise<Candidate[]> {
    const placed = found.map((candidate) => ({ ...candidate, channel }));
    return inCommitOrder(this.#app.transport, undefined, tip, placed);
  }
}
