import type { WebState } from '../../api/messages.ts';
import type { Located } from '../../protocol/message.ts';
import { withoutSequences } from '../../protocol/text/steering.ts';
import type { Facts } from './facts.ts';

/** That it failed on another host, by the notice of that host's dispatcher. */
export function failedElsewhere(
  said: readonly Located[],
  host: string | undefined,
): Pick<WebState, 'state' | 'detail' | 'failed_on' | 'delay'> | undefined {
  const notice = said.findLast(({ message }) => {
    const { failed } = message;
    return failed?.host === message.host && (host === undefined || host === failed?.host);
  });
  const { failed, timestamp, body } = notice?.message ?? {};
  if (failed === undefined || timestamp === undefined) return undefined;
  const { reason, attempts } = failed;
  const [line = ''] = (body ?? '').trim().split('\n');
  return {
    state: 'failed',
    detail: failed.dead_letter,
    failed_on: failed.host,
    delay: {
      since: timestamp,
      until: null,
      reason,
      said: withoutSequences(line),
      attempts,
      attempts_allowed: null,
    },
  };
}

/** The state of an addressee that has not answered, by what this machine knows. */
export function openState(facts: Facts): Pick<WebState, 'state' | 'detail'> {
  const { dead_letter: letter } = facts;
  if (facts.running) return { state: 'running', detail: facts.seen_by[0] ?? null };
  const cancelled =
    facts.cancelled_in[0] ?? (letter?.state === 'cancelled' ? letter.id : undefined);
  if (cancelled !== undefined) return { state: 'cancelled', detail: cancelled };
  if (facts.queued_here && !facts.on_the_bus) return { state: 'queued', detail: null };
  if (letter !== null)
    return { state: letter.state === 'parked' ? 'parked' : 'failed', detail: letter.id };
  // The actor reacted with a message that answers somebody else.
  const reaction = facts.answered_by[0] ?? facts.delegated_in[0];
  if (reaction !== undefined) return { state: 'answered', detail: reaction };
  if (facts.parked !== null)
    return { state: 'waiting', detail: `${facts.parked.reason} until ${facts.parked.until}` };
  return { state: facts.silent ? 'silent' : 'waiting', detail: null };
}
