import { Decisions, digestOfProposal } from '../../bus/decisions.ts';
import { ChannelLinks } from '../../bus/channel-links.ts';
import { CrosstalkError } from '../../errors.ts';
import {
  decidesOn,
  type CountedDecision,
  type IgnoredDecision,
} from '../../protocol/decision/judge.ts';
import { parseMessage, type Message } from '../../protocol/message.ts';
import type { Decision, PermissionOnRecord } from '../../protocol/text/decision.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { Gates } from '../../state/gates.ts';
import { loadHeartbeat } from '../../state/heartbeat.ts';
import { tipOf, type Context } from '../context.ts';
import { queuedMessages } from '../lookup/queued.ts';
import { resolveFrom } from '../lookup/resolve.ts';
import { findFile, shownMessage } from '../reading/read.ts';
import type { Sent } from '../sending/input.ts';
import { send, senderIn, type SendOptions } from '../sending/send.ts';
import { assertPerson } from './person.ts';

/** Who is asked to decide on what. */
export interface ProposalInput {
  /** The message, in any form in which one may be named. */
  message: string;
  /** Who decides; by default whoever writes here. */
  from?: string;
  login: string;
}

/** What a person is shown of a proposal before they decide. */
export interface ShownProposal {
  channel: string;
  relPath: string;
  /** The actor that proposes, and the alias of its host. */
  from: string;
  host?: string;
  /** The name of who decides. */
  approver: string;
  /** What it proposes: a plan, or what else its actor says. Foreign text. */
  body: string;
  /** The tool call that waits for permission, if it is about one. */
  permission?: PermissionOnRecord;
  /** What a decision is bound to: SHA-256 in hex of its place and its whole file. */
  digest: string;
  /** What says that it decides on it, and counts for nothing as far as this machine knows. */
  ignored: IgnoredDecision[];
}

/** A decision as its maker gives it, by any interface. */
export interface DecideInput extends ProposalInput {
  decision: Decision;
  /** Goes to the actor, or to whoever asked. */
  note?: string;
  /** The digest of what was shown; another text is not decided on. */
  digest?: string;
  wait: boolean;
  allowSecret?: boolean;
}

/** What was decided, and the message that does it. */
export interface Decided extends Sent {
  decision: Decision;
  proposal: ShownProposal;
}

/** What is written where no note is given. */
const WORDS: Record<Decision, string> = { approve: 'Approved.\n', deny: 'Denied.\n' };

/**
 * Looks at a message on which somebody is asked to decide.
 *
 * @throws CrosstalkError `usage` when it proposes nothing, or somebody else decides on it; `refused` when
 *   it was decided on, or taken back; as {@link findFile} does for its name
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
  const proposal = { channel, relPath, digest, approver };
  const { decided, ignored, takenBack } = await judged(context, proposal, message);
  if (decided !== undefined)
    throw new CrosstalkError(
      'refused',
      `${relPath} is decided: ${decided.relPath} ${decided.decision === 'approve' ? 'approves' : 'denies'} it; to ask anew, write to ${escapeInvisible(message.from)} in its thread: crosstalk reply ${relPath} "<text>"`,
    );
  if (takenBack !== undefined)
    throw new CrosstalkError(
      'refused',
      `${relPath} waits for nobody any more: ${takenBack} takes it back; nothing was decided`,
    );
  await assertWaits(context, message, proposal);
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
 * Decides on a proposal (work.md): a reply to it that carries the decision and is bound to its very text.
 * It is written by this process and never by a dispatcher: so it is signed with the key of whoever decides,
 * where one is configured, and on record as made on this machine.
 *
 * @throws CrosstalkError as {@link proposalAt} and {@link send} do; `refused` for a run, and for another text
 *   than was shown. Nothing is written then
 */
export async function decide(
  context: Context,
  { decision, note = '', digest, wait, allowSecret, ...input }: DecideInput,
  options: SendOptions = {},
): Promise<Decided> {
  await assertPerson(context);
  const proposal = await proposalAt(context, input);
  if (digest !== undefined && digest !== proposal.digest)
    throw new CrosstalkError(
      'refused',
      `${proposal.relPath} has another text than the one that was shown; look at it again, nothing was decided`,
    );
  const sent = await send(
    senderIn(context),
    {
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
    },
    options,
  );
  return { ...sent, decision, proposal };
}

/**
 * On the machine that asked it is known what waits: a plan that was dropped, or done, is not decided on, and
 * neither is a text that somebody has put in its place.
 */
async function assertWaits(
  { paths }: Context,
  { host, permission }: Message,
  { relPath, digest }: Asked,
): Promise<void> {
  const gates = await new Gates(paths.gates).all();
  const gate = gates.find((one) => one.proposal.relPath === relPath);
  if (gate !== undefined && gate.proposal.digest !== digest)
    throw new CrosstalkError(
      'refused',
      `${relPath} has another text on the bus than this machine has proposed, so somebody has changed it; nothing was decided`,
    );
  const isOurs = permission === undefined && (await loadHeartbeat(paths.heartbeat))?.host === host;
  if (gate === undefined && isOurs)
    throw new CrosstalkError(
      'refused',
      `nothing waits for a decision on ${relPath} any more: what it was about is answered, taken back or planned anew; see what waits with: crosstalk status`,
    );
}

type Asked = Parameters<Decisions['judge']>[1];

/** What was decided, as far as this machine knows; what waits in the outbox here counts too. */
async function judged(
  context: Context,
  proposal: Asked,
  written: Message,
): Promise<{ decided?: CountedDecision; ignored: IgnoredDecision[]; takenBack?: string }> {
  const { transport, reader, verifier, decided } = context;
  const links = new ChannelLinks(transport, reader);
  const decisions = new Decisions({ transport, links, verifier, decided });
  const tip = await tipOf(context);
  const found = await decisions.judge(tip, proposal);
  if (found.decided !== undefined) return found;
  const isMadeHere = await decided.look();
  for (const { channel, relPath, path, content } of await queuedMessages(context)) {
    if (channel !== proposal.channel || !isMadeHere({ path, content })) continue;
    const parsed = parseMessage(Buffer.from(content));
    if (!parsed.ok || !decidesOn(parsed.value, proposal.relPath)) continue;
    const { from, decision } = parsed.value;
    if (from === proposal.approver && decision !== undefined)
      return { ...found, decided: { relPath, from, decision, by: 'here' } };
  }
  const takenBack = await decisions.takenBack(tip, proposal, written);
  return { ...found, ...(takenBack !== undefined && { takenBack }) };
}
