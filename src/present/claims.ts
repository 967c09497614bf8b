import type { WebClaim, WebTaken } from '../api/api.ts';
import type { HostAway } from '../protocol/files/host-report.ts';
import { reasonInWords } from '../protocol/text/words.ts';
import { ageOf, secondsSince } from './times.ts';

/**
 * Words which host has taken a message, and what it does with it; empty where an answer or a notice tells.
 *
 * @param now milliseconds, for the age of the claim; without it, its time is named
 */
export function takenWords(actor: string, taken: WebTaken, now?: number): string {
  const { host, at, waits, end, not_before: notBefore } = taken;
  const who = host === '' ? `${actor} on a host whose claim cannot be read` : `${actor}@${host}`;
  if (end === 'held')
    return `held on ${host}: a person there has to decide (crosstalk outbox there)`;
  if (end === 'released') {
    const isLater = notBefore !== undefined && !(Date.parse(notBefore) <= (now ?? -Infinity));
    return `${who} has given it back, and it waits for a host${isLater ? ` (not before ${notBefore})` : ''}`;
  }
  if (end !== undefined) return '';
  if (waits === true) return `${who} has it, and waits for others`;
  if (at === null) return `${who} has taken it`;
  const when = now === undefined ? `at ${at}` : `${ageOf(secondsSince(at, now))} ago`;
  return `${who} has taken it ${when}`;
}

/** Words why a host of several cannot take the work of an actor at the moment. */
export function awayWords({ actor, reason, until }: HostAway): string {
  return `cannot take work of ${actor} now: ${reasonInWords(reason)}${until === undefined ? '' : ` until ${until}`}`;
}

/** Words the same as a line about a host. @param age of its report, such as `3 min` */
export function awayLine(host: string, away: HostAway, age: string): string {
  return `${host} ${awayWords(away)}, as it said ${age} ago`;
}

/** Words a claim, with what is wrong with it: `claim 2: server at 2025-…, released`. */
export function claimLine({ n, host, at, end, faults }: WebClaim): string {
  const words = [
    `${host ?? 'nobody'}${at === null ? '' : ` at ${at}`}`,
    ...(end === null ? [] : [end]),
    ...faults,
  ];
  return `claim ${String(n)}: ${words.join(', ')}`;
}
