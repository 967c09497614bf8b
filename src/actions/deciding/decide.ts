import { Decisions, digestOfProposal } from '../../bus/decisions.ts';
import { ChannelLinks } from '../../bus/channel-links.ts';
import { CrosstalkError } from '../../errors.ts';
import {
  decidesOn,
  type CountedDecision,
  type IgnoredDecision,
  type Proposal,
} from '../../protocol/decision/judge.ts';
import type { Message } from '../../protocol/message.ts';
import type { Decision, PermissionOnRecord } from '../../protocol/text/words.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { acquire } from '../../state/lock.ts';
import { tipOf, type Context } from '../context.ts';
import { assertPerson } from '../person.ts';
import { queuedDecisions } from '../lookup/queued.ts';
import { readRecords, type Records } from '../state/local.ts';
import { isOfHere, waitingIn, type WaitingHere } from '../state/open-proposals.ts';
import { noteSeen } from '../lookup/seen.ts';
import { resolveFrom } from '../lookup/resolve.ts';
import { findFile, shownMessage } from '../reading/read.ts';
import type { SendInput, Sent } from '../sending/input.ts';
import { send, senderIn, type SendOptions } from '../sending/send.ts';

/** A request for a decision on a proposal. */
export interface ProposalInput {
  /** The message, in any form in which one may be named. */
  message: string;
  /** The name of the person who decides; by default the name under which this user writes. */
  from?: string;
  login: string;
}

/** A proposal as it is shown to a person before they decide. */
export interface ShownProposal {
  channel: string;
  relPath: string;
  /** The actor that proposes, and the alias of its host. */
  from: string;
  host?: string;
  /** The name of the person who decides. */
  approver: string;
  /** The proposal: a plan, or any other text of its actor. Foreign text. */
  body: string;
  /** The tool call that waits for permission, if it is about one. */
  permission?: PermissionOnRecord;
  /** The digest that a decision is bound to: SHA-256 in hex of its place and its whole file. */
  digest: string;
  /** Messages that claim to decide on it, and do not count as far as this machine knows. */
  ignored: IgnoredDecision[];
}

/** A decision as its maker gives it, by any interface. */
export interface DecideInput extends ProposalInput {
  decision: Decision;
  /** Note for the actor, or for the asker. */
  note?: string;
  /** The digest of the text that was shown; no other text is decided on. */
  digest?: string;
  wait: boolean;
  allowSecret?: boolean;
}

/** The decision that was made, and the message that carries it. */
export interface Decided extends Sent {
  decision: Decision;
  proposal: ShownProposal;
}

/** The text to write when no note is given. */
const WORDS: Record<Decision, string> = { approve: 'Approved.\n', deny: 'Denied.\n' };

/**
 * Returns the proposal in a message on which a person is asked to decide.
 *
 * @throws CrosstalkError `usage` when the message proposes nothing, or somebody else decides on it;
 *   `refused` when it was decided on, or withdrawn; as {@link findFile} does for its name
 */
export async function proposalAt(context: Context, input: ProposalInput): Promise<ShownProposal> {
  const approver = resolveFrom(context, input.from, input.login);
  const read = await shownMessage(context, input.message);
  const { relPath, message } = read;
  const channel = read.channel.id;
  if (message.proposal !== true)
    throw new CrosstalkError(
      'usage',
      `${relPath} proposes nothing that waits for a decision; answer it with: crosstalk reply ${relPath} "<text>", and see what waits for you with: crosstalk inbox --questions`,
    );
  if (message.to.every(({ name }) => name !== approver)) {
    const whom = [...new Set(message.to.map(({ name }) => name))].join(', ');
    throw new CrosstalkError(
      'usage',
      `${relPath} asks ${whom} to decide, not ${approver}; who is ${whom} here says so with --from <name>`,
    );
  }
  const { bytes } = await findFile(context, `${channel}/${relPath}`);
  const digest = digestOfProposal({ channel, relPath }, bytes.toString('utf8'));
  const records = await readRecords(context);
  const here = waitingIn(records);
  const isElsewhere = !isOfHere(here, { channel, relPath, message });
  const proposal = { channel, relPath, digest, approver, isElsewhere };
  const { decided, ignored, takenBack } = await judged(context, records, proposal, message);
  if (decided !== undefined)
    throw new CrosstalkError(
      'refused',
      `${relPath} is decided: ${decided.relPath} ${decided.decision === 'approve' ? 'approves' : 'denies'} it; to ask anew, write to ${escapeInvisible(message.from)} in its thread: crosstalk reply ${relPath} "<text>"`,
    );
  assertWaits(here, proposal, takenBack);
  if (isElsewhere) assertSigns(context, message, proposal);
  return {
    channel,
    relPath,
    from: message.from,
    ...(message.host !== undefined && { host: message.host }),
    approver,
    body: message.body,
    ...(message.permission && { permission: message.permission }),
    digest,
    ignored,
  };
}

/**
 * Decides on a proposal (work.md): writes a reply to it that carries the decision and is bound to its
 * exact text. This process writes it and never a dispatcher: so it is signed with the key of the person
 * who decides, when one is configured, and recorded as made on this machine.
 *
 * @throws CrosstalkError as {@link proposalAt} and {@link send} do; `refused` for a run, and for another
 *   text than the one that was shown. Nothing is written then
 */
export async function decide(
  context: Context,
  { decision, note = '', digest, wait, allowSecret, ...input }: DecideInput,
  options: SendOptions = {},
): Promise<Decided> {
  await assertPerson(context);
  const done = await alone(context);
  try {
    const proposal = await proposalAt(context, input);
    if (digest !== undefined && digest !== proposal.digest)
      throw new CrosstalkError(
        'refused',
        `${proposal.relPath} has another text than the one that was shown; look at it again, nothing was decided`,
      );
    const said: SendInput = {
      to: '',
      reply: `${proposal.channel}/${proposal.relPath}`,
      body: note.trim() === '' ? WORDS[decision] : note,
      decision,
      decides: proposal.digest,
      from: proposal.approver,
      login: input.login,
      isNew: false,
      wait,
      ...(allowSecret !== undefined && { allowSecret }),
    };
    const sent = await send(senderIn(context), said, {
      ...options,
      onDurable: (refs) => {
        // From now on any other process that decides knows of it.
        void done();
        options.onDurable?.(refs);
      },
    });
    const { from, approver } = proposal;
    await noteSeen(context, approver, [
      { ...proposal, message: { from, to: [{ name: approver }] } },
    ]);
    return { ...sent, decision, proposal };
  } finally {
    await done();
  }
}

/** Milliseconds to wait for another process that is deciding on this machine. */
const WAIT_MS = 60_000;

/**
 * Prevents other processes of this machine from deciding in the meantime, so that of two contrary
 * decisions only one is reported as accepted.
 *
 * @returns a function that releases the lock; it may be called twice
 * @throws CrosstalkError `refused` when another process does not finish in time
 */
async function alone({ paths }: Context): Promise<() => Promise<void>> {
  const lock = await acquire(paths.root, 'deciding', { wait: WAIT_MS });
  if (!lock.ok)
    throw new CrosstalkError(
      'refused',
      `process ${String(lock.holder.pid)} has been deciding since ${lock.holder.since}; nothing was decided, try again when it has ended`,
    );
  let released: Promise<void> | undefined;
  return () => (released ??= lock.release());
}

type Asked = Parameters<Decisions['judge']>[1];

/** Determines the decision, as far as this machine knows it; decisions that wait in the outbox here count too. */
async function judged(
  context: Context,
  { outbox }: Pick<Records, 'outbox'>,
  proposal: Asked,
  written: Message,
): Promise<{ decided?: CountedDecision; ignored: IgnoredDecision[]; takenBack?: string }> {
  const { transport, reader, verifier, decided } = context;
  const links = new ChannelLinks(transport, reader);
  const decisions = new Decisions({ transport, links, verifier, decided });
  // Messages that are still on their way come first: they leave the outbox only once the bus has them.
  const queued = await queuedDecisions(context, outbox);
  const tip = await tipOf(context);
  const found = await decisions.judge(tip, proposal);
  if (found.decided !== undefined) return found;
  for (const { channel, relPath, message } of queued) {
    if (channel !== proposal.channel || !decidesOn(message, proposal.relPath)) continue;
    const { from, decision, sig } = message;
    const isGood = proposal.isElsewhere !== true || sig !== undefined;
    if (from === proposal.approver && decision !== undefined && isGood)
      return { ...found, decided: { relPath, from, decision, by: 'here' } };
  }
  const takenBack = await decisions.takenBack(tip, proposal, written);
  return { ...found, ...(takenBack !== undefined && { takenBack }) };
}

/**
 * Ensures that a proposal still waits. The machine that asked knows its waiting proposals: a plan that was dropped,
 * or completed, is not decided on, and neither is a text that somebody has put in its place. A forgery on the bus
 * ends no waiting there.
 *
 * @param takenBack the message that says on the bus that nothing is to be decided any more
 * @throws CrosstalkError `refused`
 */
function assertWaits(
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
 * Ensures that a decision is signed when another machine has asked: there an unsigned decision would be
 * ignored.
 *
 * @throws CrosstalkError `refused` when nothing is signed here
 */
function assertSigns(
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
