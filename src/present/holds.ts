import type { WebDelay, WebGate } from '../api/api.ts';
import { formatAddress, type Address } from '../protocol/address.ts';
import { didYouMean } from '../protocol/text/nearest.ts';
import { escapeInvisible } from '../protocol/text/quoted.ts';
import { endsByItself, reasonInWords, someOf, withoutSequences } from '../protocol/text/words.ts';

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
  ignored: { relPath: string; from: string; decision: string; reason: string; why: string }[];
}

/** Whether and why mail is held, and until when: `rate limited until …`. */
export function holdWords({
  reason,
  until,
  said,
}: Pick<WebDelay, 'reason' | 'until' | 'said'>): string {
  const by = reason === 'paused' && said !== null ? ` ${said}` : '';
  return `${reasonInWords(reason ?? 'paused')}${by}${until === null ? '' : ` until ${until}`}`;
}

/** Words the reason why a tier takes no mail, and when it is tried again. */
export function parkedWords({
  reason,
  until,
  said,
}: {
  reason: string;
  until: string;
  said?: string | undefined;
}): string {
  const again = endsByItself(reason) ? `, tried again at ${until}` : '';
  return `${reasonInWords(reason)}${said === undefined ? '' : `: ${said}`}${again}`;
}

/** Words for whom or what somebody waits. */
export function waitingFor(whom: string): string {
  return `waiting for ${whom}`;
}

/** Words the reason that holds the mail of an actor of this machine up, with the message of its CLI and a remedy. */
export function heldLine(actor: string, delay: WebDelay): string {
  const { reason, said } = delay;
  if (reason === 'paused')
    return `${holdWords(delay)}, so mail for ${actor} waits; go on with: crosstalk resume`;
  const words = withoutSequences(said ?? '');
  const isBudget = ['budget', 'thread_budget'].includes(reason ?? '');
  const more = words === '' ? '' : isBudget ? `: ${words}` : ` (it says: ${words})`;
  return `${waitingFor(actor)}: ${holdWords(delay)}${more}`;
}

/** Words the attempts so far: `attempt 1 of 3`. */
export function attemptsInWords({
  attempts,
  attempts_allowed: allowed,
}: Pick<WebDelay, 'attempts' | 'attempts_allowed'>): string {
  const made = attempts ?? 0;
  if (made === 0) return 'tried again';
  return `attempt ${String(made)}${allowed === null ? '' : ` of ${String(allowed)}`}`;
}

/** Words when it is tried again. @param now milliseconds; without it, a due retry is worded like the rest */
export function nextInWords(until: string | null, now = -Infinity): string {
  if (until === null) return 'not tried again automatically';
  return Date.parse(until) <= now ? 'next now' : `next at ${until}`;
}

/** Words a failure that is tried again, with the message of the CLI. */
export function failingLine(actor: string, delay: WebDelay): string {
  const again = delay.until === null ? 'it is tried again' : `it is tried again at ${delay.until}`;
  return `${actor} has failed, ${attemptsInWords(delay)}: ${delay.said ?? ''}; ${again}`;
}

/** Words the decision for which a plan at a gate waits. @param me the name of the reader, if that is known */
export function gateWords(actor: string, { approver, approved }: WebGate, me?: string): string {
  if (approved) return `${actor}'s plan is approved, and waits for room`;
  return approver === me
    ? `${actor}'s plan waits for your approval`
    : `${actor}'s plan waits for ${approver} to decide`;
}

/** Does the same, with the commands that decide. */
export function gateLine(actor: string, gate: WebGate, me?: string): string {
  const { approved, proposal } = gate;
  const how = `: crosstalk approve ${proposal}, or crosstalk deny ${proposal} "<why>"`;
  return `${gateWords(actor, gate, me)}${approved ? '' : how}`;
}

/** Words the question of a run, and whom it asks. */
export function permissionWords(
  { approver, tool }: { approver: string; tool: string },
  me?: string,
): string {
  const whom = approver === me ? 'you' : approver;
  return `waits for ${whom} to decide whether it may use ${escapeInvisible(tool)}`;
}

/** Answers that wait for others, as their actor is woken once for all. */
interface Joining {
  waits_for: readonly string[];
  /** ISO 8601 in UTC. */
  until: string;
}

/** Names those for whom answers wait, and the time until which. */
export function joiningWords({ waits_for: names, until }: Joining): string {
  return `waits for ${someOf(names)}, until ${until} at the latest`;
}

/** Words in one line whom an actor waits for. */
export function joiningLine(
  joining: Joining & { actor: string; messages: readonly string[] },
): string {
  const { actor, messages } = joining;
  const count = messages.length === 1 ? '1 answer' : `${String(messages.length)} answers`;
  return `${actor} has ${count} and ${joiningWords(joining)}`;
}

/** Words the reason why nothing can be fetched. @param why the obstacle, `since` its start (ISO 8601), and its error */
export function remoteAway(why: string, since: string, error: string): string {
  return `${why} since ${since}, and all mail waits for it, also that of this machine for itself: ${error}`;
}

/** Words that no dispatcher runs on this machine, and how to start one. @param so the consequence */
export function noDispatcher(so: string): string {
  return `no dispatcher is running here${so}; start one with: crosstalk dispatch`;
}

/** Words the reason why mail for a host waits whose dispatcher does not run. */
export function noDispatcherFor(alias: string): string {
  return noDispatcher(`, so mail for ${alias} waits`);
}

/** Words what was released, such as a dead letter, and why it is not tried yet. @param woken whether a dispatcher was */
export function releasedWords(count: number, woken: boolean): string {
  return `${String(count)} released${woken || count === 0 ? '' : `; ${NOT_TRIED_YET}`}`;
}

/** Reason why what was released is not tried yet. */
export const NOT_TRIED_YET = noDispatcher(', so they wait');

/** Words the reason why mail for an actor may wait on another host. @param since such as `for 3 h` */
export function unheardLine(host: string, actor: string, since: string): string {
  return `${host}, which serves ${actor}, has not been heard of ${since}; its dispatcher may not be running`;
}

/** Words the reason why a cancelled message is not over yet. */
export function endingLine(host: string, actor: string): string {
  return `cancelled; ${host} ends what it does for ${actor} once it has heard of that`;
}

/** Words the reason why it is not known who serves an actor. @param paths of host files, of which it names some */
export function unreadableLine(paths: readonly string[], actor: string): string {
  const whose = paths.length === 1 ? 'its host serves' : 'one of their hosts serves';
  return `${someOf(paths)} cannot be read, so whether ${whose} ${actor} is not known`;
}

/** Words the way in which a person receives their mail. */
export function personLine(name: string): string {
  return `${escapeInvisible(name)} is a person, and finds it with: crosstalk inbox`;
}

/** Reason why mail for everybody waits. */
export const NOBODY_SERVES_ANY = 'no host serves any actor; the message waits until one does';

/**
 * Words the note to a sender about an addressee that no host serves, which is not an error, as the message waits.
 *
 * @param address `name` or `name@host`
 * @param serving aliases of other hosts that serve the name
 */
export function unservedInWords(address: string, serving: readonly string[]): string {
  const [name = ''] = address.split('@', 1);
  const where = serving.length > 0 ? ` (${name} is served by ${someOf(serving)})` : '';
  return `no host serves ${address}${where}; the message waits until one does`;
}

/** A host, and the actors that it serves. */
interface Serving {
  alias: string;
  actors: readonly string[];
}

/** Does the same with the name that was probably meant. */
export function unservedLine({ name, host }: Address, serving: readonly Serving[]): string {
  const address = formatAddress(host === undefined ? { name } : { name, host });
  const aliases = serving.flatMap(({ alias, actors }) => (actors.includes(name) ? [alias] : []));
  const names = serving.flatMap(({ actors }) => actors);
  return `${unservedInWords(address, aliases)}${aliases.length > 0 ? '' : didYouMean(name, names)}`;
}
