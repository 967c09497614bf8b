import type { WebFlow, WebRun } from '../../api/api.ts';
import type { Context } from '../context.ts';
import { hostsOf, viewedAt } from '../view.ts';
import { draw } from './flow-picture.ts';
import { channelNames, ownState } from './own-state.ts';
import { pathAt, tracesBetween, type Recent, type Traces } from './recent.ts';
import { resolveChannel } from '../lookup/resolve.ts';

export interface FlowInput {
  from: Date;
  to: Date;
  /** In any form in which a channel may be named; by default all channels. */
  channel?: string;
}

/** The most messages of one picture; the newest are kept. */
const MAX_MESSAGES = 2000;

/**
 * What happened between two times: who wrote to whom, who ran, and how long answers took.
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
  // The period includes what was written in its last millisecond.
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
