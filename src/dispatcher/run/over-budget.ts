import { openQuestionsOfBatch, stillOpen } from '../../protocol/causality.ts';
import {
  answerMessages,
  askersOf,
  senderAddress,
  type AnswerPlan,
  type Placed,
} from '../../protocol/reply.ts';
import { threadRoot } from '../../protocol/thread.ts';
import { endsByItself } from '../../protocol/text/reasons.ts';
import type { Briefing } from './briefing.ts';
import type { Allowed, Spent } from './budgets.ts';
import type { Job, JobResult, RunParts } from './job.ts';

/**
 * What becomes of a run that may not begin: its mail waits, and people who asked for it are told once.
 * An actor that asked is not: to wake it would cost. The person who began the thread is told instead.
 *
 * @param briefing undefined if another tier takes the mail, so that nobody has to be told
 */
export function overBudget(
  parts: Pick<RunParts, 'budgets' | 'now'>,
  job: Job,
  briefing: Briefing | undefined,
  allowed: Exclude<Allowed, { kind: 'free' }>,
): JobResult {
  if (allowed.kind === 'later') return { kind: 'over_budget', tell: [], told: [] };
  const { reason, said, until } = allowed;
  const spent = { reason, said, until };
  if (briefing === undefined) return { kind: 'over_budget', spent, tell: [], told: [] };
  const plans = peopleWhoWait(job.actor, briefing)
    .map((plan) => ({ plan, key: `${job.actor} ${job.channel} ${plan.re.join(' ')}` }))
    .filter(({ key }) => !parts.budgets.isTold(key));
  const writer = { actor: job.actor, host: job.host, at: parts.now() };
  const body = waitingText(job, allowed);
  const tell = answerMessages(
    plans.map(({ plan }) => plan),
    briefing.batch,
    body,
    writer,
    job.channel,
  ).map(asHeld);
  return {
    kind: 'over_budget',
    spent,
    tell,
    told: plans.map(({ key }) => key),
  };
}

/** It says nothing of the question, so it is neither a word of the actor nor a question back. */
function asHeld({ channel, message }: Placed): Placed {
  return {
    channel,
    message: { ...message, interim: true, extra: { ...message.extra, held: 'budget' } },
  };
}

function peopleWhoWait(
  actor: string,
  { batch, lookup, answered, cancelled }: Briefing,
): AnswerPlan[] {
  const closed = new Set([...answered, ...cancelled]);
  const open = stillOpen(openQuestionsOfBatch(batch, actor, lookup), closed);
  if (open.length === 0) return [];
  const people = open.filter(({ host }) => host === undefined);
  if (people.length > 0) return askersOf(people);
  const root = threadRoot(batch, lookup);
  const first = lookup(root) ?? batch.find(({ relPath }) => relPath === root)?.message;
  if (first === undefined || first.host !== undefined || first.from === actor) return [];
  return [{ to: senderAddress(first), re: [root], answers: true }];
}

function waitingText({ actor, host }: Job, { reason, said, until }: Spent): string {
  const go = `when somebody on ${host} calls: crosstalk resume --for ${actor}`;
  const when = endsByItself(reason) ? `at ${until}, or ${go}` : go;
  return `${actor} on ${host} has not begun: ${said}. It goes on ${when}\n`;
}
