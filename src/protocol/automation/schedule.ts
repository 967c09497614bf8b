import { EVERYONE, formatAddress, type Address } from '../address.ts';
import { isTier } from '../message.ts';
import { isName, isSender } from '../layout.ts';
import { parseDuration, isZone } from '../text/times.ts';
import { parseDocumentText, type HeaderFields } from '../text/frontmatter.ts';
import { parsed, shown, unreadable, type Parsed } from '../text/result.ts';
import { linesOf, recipientsIn, switchIn, wrongIn, type Wrong } from './fields.ts';
import { expressionProblem, isAlwaysWithin, mayComeTwiceAMinute } from './expression.ts';

/** Times at which a schedule is due, in one of three forms. */
type When =
  | { kind: 'cron'; expression: string }
  /** Milliseconds between two occurrences, counted from 1970 in UTC. */
  | { kind: 'every'; ms: number }
  /** One time, in milliseconds since 1970. */
  | { kind: 'at'; time: number };

/** A span of each day in which nothing is sent, in minutes since midnight; it may go past midnight. */
export interface Quiet {
  from: number;
  until: number;
}

/** A message that is sent when it is due (automation.md, "Schedules"): a file of `local/schedules/`. */
export interface Schedule {
  /** Stem of its file's name. */
  name: string;
  /** The alias of the host that sends it. */
  host: string;
  to: Address[];
  /** Id or name of the channel; undefined for the one that this host uses if none is named. */
  channel?: string;
  when: When;
  /** IANA time zone of `cron` and `quiet`; undefined for that of the host. */
  timezone?: string;
  /** The sender's name. */
  from: string;
  tier?: string;
  quiet?: Quiet;
  /** Treatment of missed occurrences: the last one is sent within the grace, or none. */
  catchUp: 'last' | 'none';
  /** Milliseconds for which a missed occurrence may still be sent. */
  grace: number;
  /** Whether it is sent even if the last message has no answer yet. */
  overlap: boolean;
  enabled: boolean;
  /** The message, which may begin with `/skill`. */
  body: string;
}

/**
 * Returns the time zone of a schedule: its own, else that of its host.
 *
 * @param own undefined if the host does not know its zone
 * @returns undefined if there is none, and the schedule needs one
 */
export function zoneOf(
  { timezone, when, quiet }: Pick<Schedule, 'timezone' | 'when' | 'quiet'>,
  own: string | undefined,
): string | undefined {
  const needsOne = when.kind === 'cron' || quiet !== undefined;
  return timezone ?? (needsOne ? own : 'UTC');
}

const HOUR_MS = 3_600_000;
/** Most characters of a file: it is stored in the state directory as long as it is in force. */
const MOST_CHARACTERS = 32 * 1024;
/** Shortest time between two occurrences, in milliseconds: a run takes longer than a second. */
const LEAST_MS = 60_000;
const MOST_MS = 366 * 24 * HOUR_MS;
/** Default sender: nobody's name, so that the answer wakes nobody. */
export const SCHEDULE_SENDER = 'schedule';

const MOMENT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2})$/;
const SPAN = /^(\d{1,2}):(\d{2})\s*-\s*(\d{1,2}):(\d{2})$/;

/**
 * Parses a file of `local/schedules/`, or returns every problem found in it, each with its line and value.
 *
 * @param name the stem of the file's name
 */
export function parseSchedule(text: string, name: string): Parsed<Schedule> {
  if (!isName(name)) return unreadable(`its file is called ${shown(name)}, expected a name`);
  if (text.length > MOST_CHARACTERS)
    return unreadable(
      `it has ${String(text.length)} characters, expected at most ${String(MOST_CHARACTERS)}`,
    );
  const document = parseDocumentText(text);
  if (!document.ok) return document;
  const { fields, body } = document.value;
  const problems: string[] = [];
  const wrong = wrongIn(text, fields, problems);
  const {
    host,
    channel,
    timezone,
    from = SCHEDULE_SENDER,
    tier,
    catch_up: catchUp = 'last',
  } = fields;
  if (!isName(host)) wrong('host', 'the alias of the host that sends it');
  const to = recipientsIn(fields['to']);
  if (to === undefined) wrong('to', 'a name, name@host, all, or a list of these');
  if (channel !== undefined && (typeof channel !== 'string' || channel.trim() === ''))
    wrong('channel', 'the name or id of a channel');
  if (timezone !== undefined && !isZone(timezone))
    wrong('timezone', 'an IANA time zone such as Europe/Berlin');
  if (!isSender(from) || from === EVERYONE)
    wrong('from', `a name other than ${EVERYONE}, as its answer goes there`);
  if (tier !== undefined && !isTier(tier)) wrong('tier', 'a tier name');
  if (catchUp !== 'last' && catchUp !== 'none') wrong('catch_up', 'last or none');
  const quiet = fields['quiet'] === undefined ? undefined : quietIn(fields['quiet']);
  if (fields['quiet'] !== undefined && quiet === undefined)
    wrong('quiet', 'a span of the day such as 23:00-07:00');
  const grace = fields['grace'] === undefined ? HOUR_MS : durationIn(fields['grace'], 0);
  if (grace === undefined) wrong('grace', 'a duration such as 30m or 2h, at most 366d');
  const overlap = switchIn(fields, 'overlap', 'false', wrong);
  const enabled = switchIn(fields, 'enabled', 'true', wrong);
  const when = whenIn(text, fields, wrong, problems);
  if (overlap && when?.kind === 'cron' && mayComeTwiceAMinute(when.expression))
    wrong('overlap', 'false for one that is due more than once a minute');
  if (quiet !== undefined && when?.kind === 'cron' && isAlwaysWithin(when.expression, quiet))
    wrong('quiet', 'a span that does not cover every time of cron: it would never be sent');
  if (body.trim() === '') problems.push('the message is missing: write it below the header');
  if (problems.length > 0 || when === undefined || to === undefined) return unreadable(...problems);
  return parsed({
    name,
    host: host as string,
    to,
    ...(channel !== undefined && { channel: channel as string }),
    when,
    ...(timezone !== undefined && { timezone: timezone as string }),
    from: from as string,
    ...(tier !== undefined && { tier: tier as string }),
    ...(quiet !== undefined && { quiet }),
    catchUp: catchUp as 'last' | 'none',
    grace: grace ?? HOUR_MS,
    overlap,
    enabled,
    body,
  });
}

const WAYS = ['cron', 'every', 'at'] as const;

function whenIn(
  text: string,
  fields: HeaderFields,
  wrong: Wrong,
  problems: string[],
): When | undefined {
  const given = WAYS.filter((way) => fields[way] !== undefined);
  const [way] = given;
  if (way === undefined || given.length > 1) {
    problems.push(
      way === undefined
        ? 'cron, every or at is missing: one of them says when it is due'
        : `${linesOf(text, given)}${given.join(' and ')} are both given, expected one of cron, every and at`,
    );
    return undefined;
  }
  const value = fields[way];
  const said = typeof value === 'string' ? value.trim() : '';
  if (way === 'cron') {
    const problem = expressionProblem(said);
    if (problem === undefined) return { kind: 'cron', expression: said };
    const form = 'expected 5 fields, or 6 with seconds before them, such as "0 9 * * 1-5"';
    problems.push(`${linesOf(text, [way])}cron is ${shown(value)}, ${form}: ${problem}`);
  } else if (way === 'every') {
    const ms = durationIn(value, LEAST_MS);
    if (ms !== undefined) return { kind: 'every', ms };
    wrong('every', 'a duration such as 15m, 2h or 1d, from 1m to 366d');
  } else {
    const time = MOMENT.test(said) ? Date.parse(said) : NaN;
    if (!Number.isNaN(time)) return { kind: 'at', time };
    const examples = '2026-06-09T09:00:00Z or 2026-06-09T09:00+02:00';
    wrong('at', `a moment with its zone, such as ${examples}`);
  }
  return undefined;
}

/** Returns the host in a file, even if other fields are wrong; undefined if it cannot be read. */
export function hostNamedIn(text: string): string | undefined {
  if (text.length > MOST_CHARACTERS) return undefined;
  const document = parseDocumentText(text);
  const host = document.ok ? document.value.fields['host'] : undefined;
  return isName(host) ? host : undefined;
}

function durationIn(value: unknown, least: number): number | undefined {
  const ms = typeof value === 'string' ? parseDuration(value.trim()) : undefined;
  return ms !== undefined && Number.isInteger(ms) && ms >= least && ms <= MOST_MS ? ms : undefined;
}

function quietIn(value: unknown): Quiet | undefined {
  const [, h1 = '', m1 = '', h2 = '', m2 = ''] =
    (typeof value === 'string' ? SPAN.exec(value.trim()) : null) ?? [];
  const minutes = [h1, m1, h2, m2].map(Number);
  const [a = 0, b = 0, c = 0, d = 0] = minutes;
  if (h1 === '' || a > 23 || b > 59 || c > 24 || d > 59 || c * 60 + d > 24 * 60) return undefined;
  const span = { from: a * 60 + b, until: (c * 60 + d) % (24 * 60) };
  return span.from === span.until ? undefined : span;
}

/** Renders a schedule's recipients in the form of a message's `to`. */
export function recipientsOf({ to }: Pick<Schedule, 'to'>): string {
  return to.map(formatAddress).join(', ');
}
