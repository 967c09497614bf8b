import type { WebHost, WebHostWord, WebMachine } from '../api/api.ts';
import { escapeInvisible } from '../protocol/text/quoted.ts';
import { awayWords } from './claims.ts';
import { ago, ageOf, secondsSince } from './times.ts';

/** Words whether another machine is there, by the bell. */
export function heardWords({ live, heard_s: heard }: Pick<WebMachine, 'live' | 'heard_s'>): string {
  if (heard === null) return 'not heard';
  return `${live ? 'live, heard' : 'last heard'} ${ageOf(heard)} ago`;
}

/** Words the activity of another machine, by the bell. */
export function machineWords({ live, running, held, version }: WebMachine): string[] {
  return [
    live ? `runs ${running.length === 0 ? 'nothing' : running.join(', ')}` : '',
    held === 0 ? '' : `${String(held)} tiers hold their mail back`,
    version === null ? '' : `version ${version}`,
  ];
}

/** Returns a row on another machine. */
export function machineRow(machine: WebMachine): string[] {
  return [machine.alias, heardWords(machine), ...machineWords(machine)];
}

/** Words when another host was last heard of. @param at ISO 8601; null for not lately */
export function lastHeardWords(alias: string, at: string | null, now: Date): string {
  return at === null
    ? `nothing heard from ${alias} lately`
    : `last heard from ${alias} ${ago(at, now)} ago`;
}

/** When somebody last wrote a message. @param now milliseconds */
export function wroteWords(at: string | null, now: number): string {
  return at === null
    ? 'has written nothing lately'
    : `last wrote ${ageOf(secondsSince(at, now))} ago`;
}

/** Whether a host is there, by its heartbeat, the bell or its messages. @param passed seconds since `now` */
export function hostWords(
  { this_machine: here, heartbeat_age_s: age, last_wrote: wrote }: WebHost,
  other: WebMachine | undefined,
  { passed, now }: { passed: number; now: number },
): string {
  if (here) return age === null ? 'no heartbeat' : `heartbeat ${ageOf(age + passed)} ago`;
  if (other?.live === true && other.heard_s !== null)
    return heardWords({ live: true, heard_s: other.heard_s + passed });
  return wroteWords(wrote, now);
}

/** Words the running, waiting and failed work of a host, by its own report. */
export function saidWords(
  said: NonNullable<WebHostWord['said']>,
  seconds: number,
): { words: string; parts: [what: string, part: (typeof said)['running']][] } {
  const { running, waiting, failed, away = [] } = said;
  const parts = Object.entries({ running, waiting, failed });
  const counts = parts.map(([what, { count }]) => `${String(count)} ${what}`);
  const words = [counts.join(', '), ...away.map(awayWords)].join('; ');
  return { words: `${ageOf(seconds)} ago it said: ${words}`, parts };
}

/**
 * Returns the rows on a host of the transport: its last message, and the state that it reports.
 *
 * @param nameOf the name of a channel, by its id
 */
export function hostRows(
  { alias, this_machine: here, heard_s: heard, said_s: saidAge, said }: WebHostWord,
  nameOf: (channel: string) => string,
): string[][] {
  if (here) return [[alias, 'this machine, as above']];
  const last = heard === null ? 'nothing heard lately' : `last word ${ageOf(heard)} ago`;
  if (said === null || saidAge === null) return [[alias, `${last}; it has not said how it is`]];
  const { words, parts } = saidWords(said, saidAge);
  const rows = parts.flatMap(([what, { count, messages }]) => {
    const more = count - messages.length;
    return [
      ...messages.map(
        ({ actor, channel, relPath, since }) =>
          `${what}: ${actor} in ${escapeInvisible(nameOf(channel))} since ${since}, ${relPath}`,
      ),
      ...(more > 0 ? [`${what}: ${String(more)} more`] : []),
    ].map((row) => ['', row]);
  });
  return [[alias, `${last}; ${words}`], ...rows];
}

/** Facts that decide how soon this machine hears of others. */
interface Latency {
  /** Null where none runs; `interval` in seconds. */
  dispatcher: {
    interval: number;
    slowed_by?: string | undefined;
    bell?: { servers: string; failing?: { since: string; reason: string } | undefined } | undefined;
  } | null;
  origin: boolean;
}

/**
 * Words how soon this machine hears of messages from other machines, and why, as the end of a line; empty where there
 * is no other machine, or no dispatcher.
 */
export function latencyText({ dispatcher, origin }: Latency): string {
  if (dispatcher === null || !origin) return '';
  const { interval, slowed_by: slowedBy, bell } = dispatcher;
  const why = slowedBy === undefined ? '' : `, as ${slowedBy}`;
  const poll = `within ${String(Math.round(interval * 10) / 10)} s (it polls${why})`;
  if (bell === undefined) return `hears of other machines ${poll}`;
  if (bell.failing === undefined)
    return `hears of other machines at once (bell at ${bell.servers})`;
  const { since, reason } = bell.failing;
  return `hears of other machines ${poll}; the bell is down since ${since}: ${escapeInvisible(reason)}`;
}
