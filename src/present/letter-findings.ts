import type { WebDeadLetter } from '../api/api.ts';
import { act, wait, type Finding } from './finding.ts';

/** What is said of the mail that could not be handled. */
export function letterFindings(
  letters: readonly Pick<WebDeadLetter, 'state' | 'reason'>[],
): Finding[] {
  const problems: Finding[] = [];
  const quarantined = letters.filter(({ state }) => state === 'quarantined').length;
  if (quarantined > 0)
    problems.push(
      act(
        `quarantined deliveries: ${String(quarantined)}; see them with: crosstalk dlq, try again with: crosstalk dlq --retry all`,
        'crosstalk dlq --retry all',
      ),
    );
  const parked = letters.filter(({ state }) => state === 'parked');
  const lacking = parked.filter(({ reason }) => reason === 'missing_secret');
  if (lacking.length > 0)
    problems.push(
      act(
        `parked deliveries whose tools lack a secret: ${String(lacking.length)}; see which with: crosstalk dlq, and once this machine keeps it, let them run with: crosstalk dlq --retry <id>`,
        'crosstalk dlq',
      ),
    );
  const planless = parked.filter(({ reason }) => reason === 'no_planning').length;
  if (planless > 0)
    problems.push(
      act(
        `parked deliveries whose tier has a gate, and no command that plans: ${String(planless)}; see them with: crosstalk dlq`,
        'crosstalk dlq',
      ),
    );
  const unconfined = parked.filter(({ reason }) => reason === 'no_sandbox').length;
  if (unconfined > 0)
    problems.push(
      act(
        `parked deliveries whose sandbox cannot be made: ${String(unconfined)}; see why with: crosstalk dlq, and then let them run with: crosstalk dlq --retry <id>`,
        'crosstalk dlq',
      ),
    );
  const deep = parked.length - lacking.length - planless - unconfined;
  if (deep > 0)
    problems.push(
      act(
        `parked deliveries of threads that are too deep: ${String(deep)}; look for a loop with: crosstalk dlq, let them run with: crosstalk dlq --retry <id>`,
        'crosstalk dlq',
      ),
    );
  const retrying = letters.filter(({ state }) => state === 'retrying').length;
  if (retrying > 0)
    problems.push(
      wait(
        `failed deliveries that are retried by themselves: ${String(retrying)}; see why with: crosstalk dlq`,
        'crosstalk dlq',
      ),
    );
  return problems;
}
