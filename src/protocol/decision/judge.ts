import type { Located, Message } from '../message.ts';
import type { Decision } from '../text/words.ts';
import { escapeInvisible } from '../text/quoted.ts';
import { ASKER } from '../files/tier-gate.ts';

/** A proposal that somebody is asked to decide on, as recorded by the machine that asks. */
export interface Proposal {
  /** The id of its channel. */
  channel: string;
  relPath: string;
  /** SHA-256 in hex of its `proposedText`. */
  digest: string;
  /** Name of the person who decides. */
  approver: string;
  /** Whether another machine asked: there a decision of this machine counts only if it is signed. */
  isElsewhere?: boolean;
}

/** A message that claims to decide, with this machine's knowledge of its writer. */
export interface Candidate extends Located {
  /** Whether a person wrote it on this machine; never a run. */
  isMadeHere: boolean;
  /** Whether its writer signed it; undefined if no key of that name is pinned here. */
  verified?: boolean;
}

/** Reason why a decision counts for nothing. */
export type IgnoredReason = 'stranger' | 'from_run' | 'unsigned' | 'not_pinned' | 'stale' | 'late';

/** A decision that counts for nothing. */
export interface IgnoredDecision {
  relPath: string;
  from: string;
  decision: Decision;
  reason: IgnoredReason;
}

/** The decision that counts. */
export interface CountedDecision {
  relPath: string;
  from: string;
  decision: Decision;
  /** Proof of its author: made on this machine, or signed by a pinned key. */
  by: 'here' | 'signed';
}

export interface Judged {
  decided?: CountedDecision;
  ignored: IgnoredDecision[];
}

/** Whether a message claims to decide on the proposal at a relPath of its channel. */
export function decidesOn({ re, decision }: Message, relPath: string): boolean {
  return decision !== undefined && re.includes(relPath);
}

/**
 * Selects the decision on a proposal that counts: the first one that is the approver's own, was made by a person on
 * this machine or is signed by a pinned key, and is about exactly the proposed text.
 *
 * @param candidates in the order in which they were recorded; those that do not decide on it are skipped
 * @param known a decision that counted in an earlier call, which nothing replaces
 */
export function judge(
  proposal: Proposal,
  candidates: readonly Candidate[],
  known?: CountedDecision,
): Judged {
  let decided = known;
  const ignored: IgnoredDecision[] = [];
  for (const candidate of candidates) {
    const { relPath, message } = candidate;
    const { from, decision } = message;
    if (decision === undefined || !decidesOn(message, proposal.relPath)) continue;
    if (relPath === decided?.relPath) continue;
    const reason =
      whyNot(proposal, candidate) ?? (decided === undefined ? undefined : ('late' as const));
    if (reason !== undefined) ignored.push({ relPath, from, decision, reason });
    else decided = { relPath, from, decision, by: candidate.isMadeHere ? 'here' : 'signed' };
  }
  return { ...(decided && { decided }), ignored };
}

/** Whether a decision could be the one that counts, if no other came first. */
export function couldCount(proposal: Proposal, candidate: Candidate): boolean {
  return whyNot(proposal, candidate) === undefined;
}

function whyNot(
  { approver, digest, isElsewhere = false }: Proposal,
  { message: { from, host, decides, sig }, isMadeHere, verified }: Candidate,
): IgnoredReason | undefined {
  if (from !== approver) return 'stranger';
  // A message of a dispatcher names its host: a run wrote it, or somebody who imitates one.
  if (host !== undefined) return 'from_run';
  if (isMadeHere && isElsewhere && sig === undefined) return 'unsigned';
  if (!isMadeHere && verified !== true) return verified === false ? 'unsigned' : 'not_pinned';
  return decides === digest ? undefined : 'stale';
}

/** Returns a clause that explains why a decision counts for nothing, to follow "ignored: ". */
export function whyIgnored(
  reason: IgnoredReason,
  { from, approver }: { from: string; approver: string },
): string {
  switch (reason) {
    case 'stranger':
      return `it is from ${escapeInvisible(from)}, and ${approver} decides`;
    case 'from_run':
      return 'a dispatcher wrote it for a run, and only a person decides';
    case 'unsigned':
      return `it is not signed by a key of ${from} that is pinned on the host that asked`;
    case 'not_pinned':
      return `it was not made on the host that asked, where no key of ${from} is pinned: crosstalk key pin ${from} <key>`;
    case 'stale':
      return 'it is about another text than the one that was proposed';
    case 'late':
      return 'it came after another decision';
  }
}

/**
 * Determines who decides on the proposals of a tier.
 *
 * An actor can't decide. So if a thread was started by one, as by a run in another thread, or by an actor of this
 * machine, it is the operator of the machine that asks (docs/decisions/15-gates.md).
 *
 * @param approver as set in the tier
 * @param root the message that started the thread; undefined if unknown
 * @param operator the name under which the operator of this machine writes
 * @param isActor whether a name is that of an actor of this machine
 */
export function approverOf(
  approver: string,
  root: Pick<Message, 'from' | 'host'> | undefined,
  operator: string,
  isActor: (name: string) => boolean,
): string {
  if (approver !== ASKER) return approver;
  const isPerson = root !== undefined && root.host === undefined && !isActor(root.from);
  return isPerson ? root.from : operator;
}
