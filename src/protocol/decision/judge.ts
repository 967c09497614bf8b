import type { Located, Message } from '../message.ts';
import type { Decision } from '../text/decision.ts';
import { escapeInvisible } from '../text/quoted.ts';

/** What somebody is asked to decide, as the machine that asks has written it. */
export interface Proposal {
  /** The id of its channel. */
  channel: string;
  relPath: string;
  /** SHA-256 in hex of its `proposedText`. */
  digest: string;
  /** The name of who decides. */
  approver: string;
}

/** A message that says that it decides, with what this machine knows of who wrote it. */
export interface Candidate extends Located {
  /** Whether a person has made it on this machine; never a run. */
  isMadeHere: boolean;
  /** Whether its writer has signed it; undefined where no key of that name is pinned here. */
  verified?: boolean;
}

/** Why a decision counts for nothing. */
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
  /** Made on this machine, or signed by a pinned key. */
  by: 'here' | 'signed';
}

export interface Judged {
  decided?: CountedDecision;
  ignored: IgnoredDecision[];
}

/** Whether a message says that it decides on the proposal at a relPath of its channel. */
export function decidesOn({ re, decision }: Message, relPath: string): boolean {
  return decision !== undefined && re.includes(relPath);
}

/**
 * Which decision on a proposal counts: the first one that is the approver's own, was made by a person on
 * this machine or is signed by a pinned key, and is about the very text that was proposed.
 *
 * @param candidates in the order in which they came on record; what does not decide on it is passed over
 * @param known a decision that counted at an earlier look, which nothing replaces
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

function whyNot(
  { approver, digest }: Proposal,
  { message: { from, host, decides }, isMadeHere, verified }: Candidate,
): IgnoredReason | undefined {
  if (from !== approver) return 'stranger';
  // What a dispatcher writes names its host: a run wrote it, or somebody who wants to look like one.
  if (host !== undefined) return 'from_run';
  if (!isMadeHere && verified !== true) return verified === false ? 'unsigned' : 'not_pinned';
  return decides === digest ? undefined : 'stale';
}

/** A clause that says why a decision counts for nothing, to follow "ignored: ". */
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
