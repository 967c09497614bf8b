import { Gates, type Gate } from '../../state/gates.ts';
import { whyIgnored, type IgnoredDecision } from '../../protocol/decision/judge.ts';
import type { Context } from '../context.ts';

/** Mail of this machine that waits for somebody to decide on a plan. */
export interface GatedMail {
  actor: string;
  tier: string;
  channel: string;
  messages: string[];
  /** The relPath of the message with the plan, and the id of its channel. */
  proposal: string;
  proposal_channel: string;
  /** Who decides. */
  approver: string;
  /** ISO 8601 UTC. */
  since: string;
  /** Whether it was approved, and waits for its run. */
  approved: boolean;
  /** What says that it decides, and counts for nothing, with the reason in words. */
  ignored: (IgnoredDecision & { why: string })[];
}

/** What waits at the gates of this machine, oldest first. */
export async function listGated({ paths }: Pick<Context, 'paths'>): Promise<GatedMail[]> {
  return (await new Gates(paths.root).all()).map(gatedMail);
}

function gatedMail(gate: Gate): GatedMail {
  const { actor, tier, channel, messages, proposal, approver, since, decided, ignored } = gate;
  return {
    ...{ actor, tier, channel, messages, approver, since },
    proposal: proposal.relPath,
    proposal_channel: proposal.channel,
    approved: decided?.decision === 'approve',
    ignored: ignored.map((one) => ({
      ...one,
      why: whyIgnored(one.reason, { from: one.from, approver }),
    })),
  };
}

/** In one line, what the mail of a gate waits for. */
export function gatedLine({ approver, proposal, approved }: GatedMail): string {
  return approved
    ? 'its plan is approved; it waits for room'
    : `${approver} decides on its plan: crosstalk approve ${proposal}, or crosstalk deny ${proposal} "<why>"`;
}
