import { ChannelLinks } from '../../bus/channel-links.ts';
import { Decisions, digestOfProposal } from '../../bus/decisions.ts';
import { CrosstalkError } from '../../errors.ts';
import { namedBy } from '../../index/inbox.ts';
import type { Index } from '../../index/index.ts';
import { mayCancel } from '../../protocol/cancel.ts';
import { decidesOn } from '../../protocol/decision/judge.ts';
import { messageFile, type MessageRef, messageKey } from '../../protocol/layout.ts';
import type { Located, Message } from '../../protocol/message.ts';
import type { Context } from '../context.ts';
import { messagesAt } from '../lookup/arrivals.ts';
import { queuedDecisions } from '../lookup/queued.ts';
import { readRecords, type Records } from './local.ts';

/** Decisions for which this machine waits: known from its own records alone. */
export interface WaitingHere {
  /** The alias under which its dispatcher has served last; undefined where none has. */
  host: string | undefined;
  /** Whether a message asks for a decision for which this machine waits. */
  waits: (ref: MessageRef) => boolean;
  /** Returns the digest to which a decision on it is bound, if this machine knows that without the message. */
  digestOf: (ref: MessageRef) => string | undefined;
  /** By approver, the proposals that wait for them, the newest first. */
  forApprover: (name: string) => MessageRef[];
}

/** Returns the proposals that wait for a decision on this machine. A pure function. */
export function waitingIn({
  lastSaid,
  gates,
  permissions,
}: Pick<Records, 'lastSaid' | 'gates' | 'permissions'>): WaitingHere {
  const waiting = [
    ...gates.filter(isUndecided).map(({ approver, proposal }) => ({ approver, ...proposal })),
    ...permissions,
  ].sort((a, b) => (a.relPath < b.relPath ? 1 : -1));
  const digests = new Map(
    [...gates.map(({ proposal }) => proposal), ...permissions].map(
      (one) => [messageKey(one), one.digest] as const,
    ),
  );
  const keys = new Set(waiting.map(messageKey));
  return {
    host: lastSaid?.host ?? undefined,
    waits: (ref) => keys.has(messageKey(ref)),
    digestOf: (ref) => digests.get(messageKey(ref)),
    forApprover: (name) =>
      waiting
        .filter(({ approver }) => approver === name)
        .map(({ channel, relPath }) => ({ channel, relPath })),
  };
}

/** Number of things that wait on this machine until a person decides on them. */
export type ForAPerson = Record<'plan' | 'permission' | 'secret', number>;

/**
 * Counts the things that only a person ends: plans at a gate that nobody has decided on, tool calls that wait for
 * permission, and entries held because they look like a secret.
 */
export async function forAPerson(context: Context): Promise<ForAPerson> {
  const [{ gates, permissions }, held] = await Promise.all([
    readRecords(context),
    context.outbox.held(),
  ]);
  return {
    plan: gates.filter(isUndecided).length,
    permission: permissions.length,
    secret: held.length,
  };
}

function isUndecided({ decided }: Records['gates'][number]): boolean {
  return decided === undefined;
}

/** Whether this machine waits for a decision on a message, or the message states that it has asked. */
export function isOfHere(
  { host, waits, digestOf }: WaitingHere,
  { channel, relPath, message }: MessageRef & { message: Pick<Message, 'host'> },
): boolean {
  const ref = { channel, relPath };
  const isKnown = waits(ref) || digestOf(ref) !== undefined;
  return isKnown || (message.host !== undefined && message.host === host);
}

/** Sources of {@link OpenProposals}. */
interface Sources {
  index: Index;
  /** The commit at which messages are read. */
  tip: string;
  /** The name for which proposals wait. */
  approver: string;
  records: Records;
}

/** A message that asks for a decision. */
type Asking = MessageRef & Located;

/** The most proposals of this machine that are looked at, the newest first. */
const MOST_OF_HERE = 200;
/** The most messages of one name that are read about one proposal. */
const MOST_NAMING = 1000;
/** Most messages that are read in all: anybody can push any number of proposals, and of decisions on them. */
const MOST_READ = 2000;
/** Most messages of a proposal's writer that are read to find out whether they have gone on. */
const MOST_LATER = 20;

/**
 * Determines which proposals wait for somebody (docs/decisions/15-gates.md). Anybody can write a message in the name
 * of the approver, so only a decision that counts closes a proposal. A proposal of this machine waits as long as its
 * dispatcher waits for it, whatever the bus states. A proposal of another machine is over when its actor there takes
 * it back, or has answered the message it was about. If that is unknown, a proposal waits.
 */
export class OpenProposals {
  readonly #context: Context;
  readonly #decisions: Decisions;
  readonly #sources: Sources;
  readonly #here: WaitingHere;
  #queued: ReturnType<typeof queuedDecisions> | undefined;
  #left = MOST_READ;

  constructor(context: Context, sources: Sources) {
    this.#context = context;
    this.#sources = sources;
    this.#here = waitingIn(sources.records);
    const links = new ChannelLinks(context.transport, context.reader);
    this.#decisions = new Decisions({ ...context, links });
  }

  /** Returns the proposals of this machine that wait for that name, the newest first. */
  async ofThisMachine(): Promise<MessageRef[]> {
    const { tip, approver } = this.#sources;
    const refs = this.#here.forApprover(approver).slice(0, MOST_OF_HERE);
    const found: MessageRef[] = [];
    for (const located of await messagesAt(this.#context, tip, refs)) {
      const { channel, relPath, message } = located;
      const isThere = message.proposal === true && message.to.some(({ name }) => name === approver);
      if (isThere && (await this.isOpen(located))) found.push({ channel, relPath });
    }
    return found;
  }

  /** Whether a proposal to that name waits for its decision. */
  async isOpen(proposal: Asking): Promise<boolean> {
    const isElsewhere = !isOfHere(this.#here, proposal);
    if (!isElsewhere && !this.#here.waits(proposal)) return false;
    if (await this.#isDecided(proposal, isElsewhere)) return false;
    return !isElsewhere || !(await this.#isOver(proposal));
  }

  async #isDecided({ channel, relPath }: Asking, isElsewhere: boolean): Promise<boolean> {
    const { index, tip, approver, records } = this.#sources;
    const { transport, reader } = this.#context;
    const refs = namedBy(index, { channel, relPath }, approver, MOST_NAMING);
    if (refs.length > 0 && this.#takes(refs.length)) {
      const text = await transport.objects.text(tip, messageFile(channel, relPath));
      const digest = digestOfProposal({ channel, relPath }, text ?? '');
      const paths = refs.map((ref) => ref.relPath).toSorted();
      const named = await reader.messages(tip, channel, paths);
      const asked = { channel, relPath, digest, approver, isElsewhere };
      const judged = await this.#decisions.among(tip, asked, named).catch(unknown);
      if (judged?.decided !== undefined) return true;
    }
    this.#queued ??= queuedDecisions(this.#context, records.outbox);
    return (await this.#queued).some(
      (one) =>
        one.channel === channel &&
        decidesOn(one.message, relPath) &&
        one.message.from === approver &&
        (!isElsewhere || one.message.sig !== undefined),
    );
  }

  /** Whether its writer, on another machine, has taken it back, or has answered the message it was about. */
  async #isOver({ channel, relPath, message }: Asking): Promise<boolean> {
    const later = await this.#written({ channel, relPath }, message.from);
    if (later.some((one) => one.message.cancels === relPath && mayCancel(one.message, message)))
      return true;
    const [question] = message.re;
    if (question === undefined) return false;
    const about = await this.#written({ channel, relPath: question }, message.from);
    return about.some(
      ({ message: { host, re, interim, failed } }) =>
        host === message.host &&
        interim !== true &&
        failed === undefined &&
        message.re.every((one) => re.includes(one)),
    );
  }

  /** Returns the newest messages of a name that name a message. */
  async #written(ref: MessageRef, name: string): Promise<Located[]> {
    const { index, tip } = this.#sources;
    const refs = namedBy(index, ref, name, MOST_LATER);
    if (refs.length === 0 || !this.#takes(refs.length)) return [];
    const paths = refs.map(({ relPath }) => relPath);
    const found = await this.#context.reader.messages(tip, ref.channel, paths);
    return found.filter(({ message }) => message.from === name);
  }

  #takes(count: number): boolean {
    if (count > this.#left) return false;
    this.#left -= count;
    return true;
  }
}

/** Returns nothing as the decision: where signatures cannot be verified, it is unknown. */
function unknown(error: unknown): undefined {
  if (error instanceof CrosstalkError && error.code === 'refused') return undefined;
  throw error;
}
