import type { Engine } from './engine.ts';
import { planningCommand } from '../../agents/planning.ts';
import { digestOfProposal } from '../../bus/decisions.ts';
import { passed } from '../../crash-points.ts';
import { EVERYONE } from '../../protocol/address.ts';
import { openQuestionsOfBatch } from '../../protocol/causality.ts';
import { approverOf } from '../../protocol/decision/judge.ts';
import { messageFile, isName, placeOfRef } from '../../protocol/layout.ts';
import { outgoing } from '../../protocol/outgoing.ts';
import { answerMessages, type AnswerPlan, type Placed } from '../../protocol/reply.ts';
import { threadRoot } from '../../protocol/thread.ts';
import type { InvocationResult } from '../../runner/runner.ts';
import type { Gate } from '../../state/gates.ts';
import type { GateInPrompt } from '../../protocol/text/structure.ts';
import type { Gated } from '../gates/gated.ts';
import { type Briefing, peopleWhoWait, whileHeld } from './briefing.ts';
import type { Job, JobResult } from './job.ts';

/** A run that has made a plan. */
export type Planned = Extract<JobResult, { kind: 'planned' }>;

/**
 * Adapts a job to its gate: it plans, in the tier's planning mode, until a plan for exactly its mail is approved; an
 * approved one reads the messages that the plan has read (docs/decisions/15-gates.md).
 *
 * @param job as it would be without a gate
 */
export function atTheGate(gated: Gated, job: Job): Job {
  const { tier } = job;
  if (tier.gate === undefined) return job;
  const approval = gated.approved(job, tier);
  if (approval !== undefined) return { ...job, tip: approval.tip, approval };
  const cli = tier.gatePlan ?? planningCommand(tier.cli);
  // Without a command that plans nothing runs; `runCli` sees that it is missing.
  return { ...job, tier: { ...tier, cli: cli ?? '' }, plans: true };
}

/** Returns the person who decides on the plan of a job. */
function approverFor(
  { operator, hosts }: Pick<Engine, 'operator' | 'hosts'>,
  { tier, actor }: Job,
  { batch, lookup }: Briefing,
): string {
  const root = threadRoot(batch, lookup);
  const first = lookup(root) ?? batch.find(({ relPath }) => relPath === root)?.message;
  const isActor = (name: string): boolean =>
    name === actor || hosts.active?.actors.has(name) === true;
  const found = approverOf(tier.gate ?? '', first, operator, isActor);
  // A text that is not an address cannot be asked, and a plan for everybody would wake actors.
  return isName(found) && found !== EVERYONE ? found : operator;
}

/** Returns the end of a job that has to plan and has no command for that; undefined for any other. */
export function cannotPlan({ plans, tier }: Job): JobResult | undefined {
  if (plans !== true || tier.cli !== '') return undefined;
  const detail = `the tier ${tier.name} has a gate, and no planning mode of its command is known; name a command that plans with gate_plan`;
  return { kind: 'parked', detail, reason: 'no_planning' };
}

/** Returns the part of the prompt of a job about its gate. */
export function gateInPrompt(
  engine: Pick<Engine, 'operator' | 'hosts'>,
  job: Job,
  briefing: Briefing,
): GateInPrompt | undefined {
  if (job.plans === true) return { approver: approverFor(engine, job, briefing) };
  const { decided, plan } = job.approval ?? {};
  if (decided === undefined || plan === undefined) return undefined;
  return { plan, note: decided.note, by: decided.from };
}

/** Makes the text of a planning run the message that asks the approver, with a note to others who wait. */
export function planned(
  engine: Pick<Engine, 'operator' | 'hosts' | 'now'>,
  job: Job,
  briefing: Briefing,
  { text, result }: { text: string; result: InvocationResult },
): Planned {
  const { actor, host, channel } = job;
  const approver = approverFor(engine, job, briefing);
  const writer = { actor, host, at: engine.now() };
  const [first] = briefing.plans;
  const where = placeOfRef('', first?.re[0] ?? '').channel;
  const near = briefing.plans.filter(({ re }) => placeOfRef('', re[0] ?? '').channel === where);
  const plan: AnswerPlan = {
    to: { name: approver },
    re: [...new Set(near.flatMap(({ re }) => re))],
    answers: true,
    interim: true,
  };
  const made = answerMessages([plan], briefing.batch, text, writer, channel);
  const usage = result.usage && { usage: { ...result.usage, ms: result.duration } };
  const proposal = made.map(({ channel: to, message }) => {
    // Printed answers settle the messages of their run, and this mail still waits.
    const asking = { ...message, ...usage, proposal: true as const };
    delete asking.printed;
    return { channel: to, message: asking };
  });
  const others = peopleWhoWait(actor, briefing).filter(({ to }) => to.name !== approver);
  const note = `${actor} on ${host} has made a plan. It goes on when ${approver} has approved it.\n`;
  const told = answerMessages(others, briefing.batch, note, writer, channel);
  const open = openQuestionsOfBatch(briefing.batch, actor, briefing.lookup)
    .map(({ relPath }) => relPath)
    .filter((question) => !briefing.answered.has(question));
  return {
    kind: 'planned',
    approver,
    plan: text,
    messages: [...proposal, ...told.map((one) => whileHeld(one, 'gate'))],
    open,
    result,
  };
}

/** Returns the gate at which the mail of a job waits from now on. */
function gateOf(engine: Engine, job: Job, planned: Planned): Gate {
  const { approver, plan, open } = planned;
  const written = planned.messages.map(({ channel, message }: Placed) => ({
    channel,
    ...outgoing(message, channel, job.host, engine.suffix()),
  }));
  const [proposal] = written;
  const ref = { channel: proposal?.channel ?? '', relPath: proposal?.relPath ?? '' };
  const path = messageFile(ref.channel, ref.relPath);
  const file = proposal?.commit.files.find((one) => one.path === path)?.content ?? '';
  const { actor, channel, messages, tier, tip } = job;
  return {
    id: engine.newId(),
    ...{ actor, channel, messages, tier: tier.name, gate: tier.gate ?? '', approver, tip },
    proposal: { ...ref, digest: digestOfProposal(ref, file) },
    ...{ plan, open },
    since: engine.now().toISOString(),
    entry: { id: engine.newId(), commits: written.map(({ commit }) => commit) },
    ignored: [],
  };
}

/**
 * Lets the mail of a job wait for a decision. Crash order: the gate with the final bytes of its messages → these in
 * the outbox → the gate records that. Until the gate is on disk the run counts as never made; from then on the next
 * start puts the messages into the outbox, and plans nothing again.
 *
 * @param put puts the gate on record, however often that fails, as the plan has been paid for
 * @returns the id of the outbox entry to publish
 */
export async function recordPlan(
  engine: Engine,
  job: Job,
  planned: Planned,
  put: (gate: Gate) => Promise<void>,
): Promise<string> {
  const { gated, log } = engine;
  const before = gated.of(job);
  const gate = gateOf(engine, job, planned);
  await put(gate);
  passed('gate_written');
  if (before !== undefined) await gated.remove(before.id);
  await announce(engine, gate);
  const { actor, channel, messages, approver, proposal } = gate;
  log('gated', { id: job.id, actor, channel, messages, approver, proposal: proposal.relPath });
  return gate.entry.id;
}

/** Puts the messages of a gate into the outbox; doing it twice publishes nothing twice. */
export async function announce(
  { gated, outbox }: Pick<Engine, 'gated' | 'outbox'>,
  gate: Gate,
): Promise<void> {
  await outbox.put(gate.entry);
  passed('proposal_queued');
  await gated.put({ ...gate, announced: true });
}
