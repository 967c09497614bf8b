import type { WebFlow, WebRun, WebDeadLetter } from '../../api/api.ts';
import type { Context } from '../context.ts';
import { hostsOf, viewedAt } from '../view.ts';
import { channelNames, ownState } from './own-state.ts';
import {
  pathAt,
  tracesBetween,
  type Recent,
  type Traces,
  addresseesOf,
  type Trace,
} from './recent.ts';
import { resolveChannel } from '../lookup/resolve.ts';
import { messageKey } from '../../protocol/layout.ts';
import { EVERYONE } from '../../protocol/address.ts';
import { errandsOf, type Errand } from './errands.ts';

export interface FlowInput {
  from: Date;
  to: Date;
  /** In any form in which a channel may be named; by default all channels. */
  channel?: string;
}

/** Most messages of one picture; the newest are shown. */
const MAX_MESSAGES = 2000;

/**
 * Returns the events between two times: who wrote to whom, who ran, and how long answers took.
 *
 * @param recent the messages for the usual case, a request for the last hours
 * @param ended runs that this process saw end
 * @throws CrosstalkError `not_found` or `ambiguous` for the channel
 */
export async function flow(
  machine: Context,
  recent: Recent,
  ended: readonly WebRun[],
  input: FlowInput,
): Promise<WebFlow> {
  const known = await recent.traces();
  const context = viewedAt(machine, known.tip);
  const channel =
    input.channel === undefined ? undefined : (await resolveChannel(context, input.channel)).id;
  const [{ traces, complete }, own, hosts, nameOf] = await Promise.all([
    tracesOf(context, known, input, channel),
    ownState(context),
    hostsOf(context),
    channelNames(context),
  ]);
  const here = (run: { channel: string }): boolean =>
    channel === undefined || run.channel === channel;
  const serving = hosts.flatMap(({ result }) => (result.ok ? [result.value] : []));
  const picture = draw({
    from: input.from,
    to: input.to,
    now: context.now(),
    traces,
    serving: serving.map(({ alias, actors }) => ({ alias, actors: [...actors.keys()] })),
    observed: [...ended, ...own.running].filter(here),
    letters: own.dead_letters.filter(here),
    nameOf,
  });
  return { ...picture, complete };
}

async function tracesOf(
  context: Context,
  known: Traces,
  { from, to }: FlowInput,
  channel: string | undefined,
): Promise<Traces> {
  // The period includes messages written in its last millisecond.
  const [since, until] = [pathAt(from), pathAt(new Date(to.getTime() + 1))];
  const reachesBack = known.complete || (known.traces[0]?.relPath ?? '~') < since;
  if (!reachesBack)
    return tracesBetween(context, known.tip, {
      since,
      until,
      limit: MAX_MESSAGES,
      ...(channel !== undefined && { channel }),
    });
  const traces = known.traces.filter(
    (trace) =>
      trace.relPath >= since &&
      trace.relPath < until &&
      (channel === undefined || trace.channel === channel),
  );
  return { tip: known.tip, traces, complete: true };
}

interface PictureParts {
  from: Date;
  to: Date;
  now: Date;
  /** In the order of time, the oldest first. */
  traces: readonly Trace[];
  serving: readonly { alias: string; actors: readonly string[] }[];
  /** Runs whose start this machine saw. */
  observed: readonly WebRun[];
  letters: readonly WebDeadLetter[];
  nameOf: (channel: string) => string;
}

const HOUR_MS = 3_600_000;
/** The most hours that a plot has: a year. */
const MAX_HOURS = 8784;

/** Draws the events between two times. A pure function. */
export function draw(parts: PictureParts): Omit<WebFlow, 'complete'> {
  const { from, to, now, traces, serving, observed, letters, nameOf } = parts;
  const isWithin = ({ since, until }: WebRun): boolean =>
    Date.parse(since) <= to.getTime() && (until === null || Date.parse(until) >= from.getTime());
  const served = new Set(serving.flatMap(({ actors }) => actors));
  const errands = errandsOf(traces, served);
  const runs = [
    ...observed,
    ...recordedRuns(traces, served, observed, nameOf),
    ...letters.map(failedRun).filter((run) => !isSeen(observed, run)),
  ].filter(isWithin);
  const hours = hoursBetween(from, to < now ? to : now);
  return {
    from: from.toISOString(),
    to: to.toISOString(),
    lanes: lanesOf(traces, runs, serving),
    runs: runs.sort((a, b) => (a.since < b.since ? -1 : 1)),
    messages: traces.map((trace) => ({
      channel: trace.channel,
      relPath: trace.relPath,
      from: trace.from,
      to: addresseesOf(trace),
      timestamp: trace.timestamp,
      re: trace.re,
      cause: trace.cause,
      excerpt: trace.excerpt,
      ...(trace.schedule !== undefined && { schedule: trace.schedule }),
      ...(trace.subscription !== undefined && { subscription: trace.subscription }),
    })),
    answer_times: answerTimes(errands, hours),
    backlog: hours.map((hour) => ({
      hour: new Date(hour).toISOString(),
      waiting: waitingAt(errands, Math.min(hour + HOUR_MS, now.getTime())),
    })),
  };
}

/**
 * Returns runs that are known only from their answers: such a run started after the newest message it received, and
 * ended about when its first answer was written.
 */
function recordedRuns(
  traces: readonly Trace[],
  served: ReadonlySet<string>,
  observed: readonly WebRun[],
  nameOf: (channel: string) => string,
): WebRun[] {
  const known = new Set(observed.flatMap(({ answers }) => answers));
  const given = new Map(traces.map((trace) => [messageKey(trace), trace]));
  return traces.flatMap((answer): WebRun[] => {
    const batch = answer.cause.length > 0 ? answer.cause : answer.re;
    const isRun = answer.host !== null && served.has(answer.from) && batch.length > 0;
    if (!isRun || known.has(answer.relPath)) return [];
    const times = batch.map((path) => given.get(`${answer.channel}/${path}`)?.timestamp ?? '');
    const since = times.reduce((a, b) => (b > a ? b : a), '');
    return [
      {
        id: answer.relPath,
        actor: answer.from,
        host: answer.host,
        channel: answer.channel,
        channel_name: nameOf(answer.channel),
        tier: answer.tier,
        since: since === '' || since > answer.timestamp ? answer.timestamp : since,
        until: answer.timestamp,
        outcome: 'answered',
        messages: batch,
        answers: [answer.relPath],
        known_from: 'record',
      },
    ];
  });
}

function failedRun(letter: WebDeadLetter): WebRun {
  const { id, actor, channel, channel_name, messages, state, last_failed_at: at } = letter;
  return {
    id,
    actor,
    host: null,
    channel,
    channel_name,
    tier: null,
    since: at,
    until: at,
    outcome: state === 'parked' ? 'parked' : 'failed',
    messages,
    answers: [],
    known_from: 'dead_letter',
  };
}

/** Whether the failure belongs to a run that this machine saw. */
function isSeen(observed: readonly WebRun[], { actor, messages }: WebRun): boolean {
  return observed.some(
    (run) =>
      run.actor === actor &&
      (run.outcome === 'failed' || run.outcome === 'parked') &&
      run.messages.some((path) => messages.includes(path)),
  );
}

function lanesOf(
  traces: readonly Trace[],
  runs: readonly WebRun[],
  serving: PictureParts['serving'],
): WebFlow['lanes'] {
  const names = new Set([
    ...runs.map(({ actor }) => actor),
    ...traces.flatMap(({ from, to }) => [from, ...to.map(({ name }) => name)]),
  ]);
  names.delete(EVERYONE);
  const lanes = [...names].map((name) => ({
    name,
    hosts: serving.filter(({ actors }) => actors.includes(name)).map(({ alias }) => alias),
  }));
  const isServed = (lane: { hosts: string[] }): number => Number(lane.hosts.length > 0);
  return lanes.sort((a, b) => isServed(b) - isServed(a) || a.name.localeCompare(b.name));
}

/** Returns the start of every hour that a period touches, in milliseconds. */
function hoursBetween(from: Date, to: Date): number[] {
  const first = Math.floor(from.getTime() / HOUR_MS) * HOUR_MS;
  const hours: number[] = [];
  for (let at = first; at <= to.getTime() && hours.length < MAX_HOURS; at += HOUR_MS)
    hours.push(at);
  return hours;
}

/** Returns the times that answers took, by the hour in which they were written. */
function answerTimes(
  errands: readonly Errand[],
  hours: readonly number[],
): WebFlow['answer_times'] {
  const taken = new Map<number, number[]>();
  for (const { message, answer } of errands) {
    if (answer === undefined) continue;
    const at = Date.parse(answer.timestamp);
    const hour = Math.floor(at / HOUR_MS) * HOUR_MS;
    const seconds = Math.max(0, (at - Date.parse(message.timestamp)) / 1000);
    taken.set(hour, [...(taken.get(hour) ?? []), seconds]);
  }
  return hours.map((hour) => {
    const seconds = (taken.get(hour) ?? []).sort((a, b) => a - b);
    const at = (share: number): number => {
      const value = seconds[Math.min(seconds.length - 1, Math.floor(seconds.length * share))] ?? 0;
      return Math.round(value * 10) / 10;
    };
    return {
      hour: new Date(hour).toISOString(),
      answers: seconds.length,
      median_s: at(0.5),
      p90_s: at(0.9),
    };
  });
}

/** @param at a time in milliseconds */
function waitingAt(errands: readonly Errand[], at: number): number {
  return errands.filter(
    ({ message, answer }) =>
      Date.parse(message.timestamp) < at &&
      (answer === undefined || Date.parse(answer.timestamp) >= at),
  ).length;
}
