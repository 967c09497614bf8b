import type { WebDeadLetter, WebFailed } from '../api/api.ts';
import { countOf, reasonInWords, withoutSequences } from '../protocol/text/words.ts';
import { attemptsInWords, nextInWords } from './holds.ts';
import type { Standing } from './state.ts';
import { ageOf, secondsSince } from './times.ts';

/** The standing of the mail in a dead letter. */
export const LETTER_STANDINGS: Record<WebDeadLetter['state'], Standing> = {
  retrying: 'failing',
  quarantined: 'failed',
  parked: 'parked',
  cancelled: 'cancelled',
};

/** Words the attempts of a dead letter, the last one, and the next step. @param now milliseconds */
export function historyOf(letter: WebDeadLetter, now: number): string {
  const { state, attempts, attempts_since_release: since, attempts_allowed } = letter;
  const last = `${ageOf(secondsSince(letter.last_failed_at, now))} ago`;
  switch (state) {
    case 'retrying':
      return `${attemptsInWords({ attempts: since, attempts_allowed })}, last ${last}; ${nextInWords(letter.next_retry_at, now)}`;
    case 'quarantined':
      return `quarantined after ${countOf(attempts, 'attempt')}, ${last}; tried again only if you say so`;
    case 'parked':
      return `parked ${last}; runs only if you say so`;
    case 'cancelled':
      return `cancelled ${last}`;
  }
}

/** Words a failed delivery in one line. */
export function failureLine({ actor, host, reason, attempts, detail }: WebFailed): string {
  const said = withoutSequences(detail.replace(/\s+/g, ' ').trim());
  return `${actor} failed on ${host} after ${countOf(attempts, 'attempt')}: ${reasonInWords(reason)}${said === '' ? '' : `: ${said}`}`;
}
