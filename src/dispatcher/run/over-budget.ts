import { answerMessages } from '../../protocol/reply.ts';
import { endsByItself } from '../../protocol/text/reasons.ts';
import type { Briefing } from './briefing.ts';
import type { Allowed, Spent } from './budgets.ts';
import type { Job, JobResult, RunParts } from './job.ts';
import { peopleWhoWait, whileHeld } from './waiting-note.ts';

/**
 * What becomes of a run that may not begin: its mail waits, and people who asked for it are told once.
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
  ).map((note) => whileHeld(note, 'budget'));
  return {
    kind: 'over_budget',
    spent,
    tell,
    told: plans.map(({ key }) => key),
  };
}

function waitingText({ actor, host }: Job, { reason, said, until }: Spent): string {
  const go = `when somebody on ${host} calls: crosstalk resume --for ${actor}`;
  const when = endsByItself(reason) ? `at ${until}, or ${go}` : go;
  return `${actor} on ${host} has not begun: ${said}. It goes on ${when}\n`;
}
