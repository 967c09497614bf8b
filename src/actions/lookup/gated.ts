import { Gates, type Gate } from '../../state/gates.ts';
import { whyIgnored, type IgnoredDecision } from '../../protocol/decision/judge.ts';
import type { WebGate } from '../../api/api.ts';
import type { Context } from '../context.ts';

/** Mail of this machine that waits for somebody to decide on a plan. */
export interface GatedMail extends WebGate {
  actor: string;
  tier: string;
  channel: string;
  messages: string[];
  /** The id of the channel of the message with the plan. */
  proposal_channel: string;
  /** ISO 8601 UTC. */
  since: string;
  /** Messages that state a decision and do not count, with the reason in words. */
  ignored: (IgnoredDecision & { why: string })[];
}

/** Lists the plans that wait at the gates of this machine, oldest first. */
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

/** Returns the fields of a gate that a face needs. */
export function gateOf({ approver, proposal, approved }: WebGate): WebGate {
  return { approver, proposal, approved };
}
