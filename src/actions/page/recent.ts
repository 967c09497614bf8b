import { startedBy } from '../../protocol/automation/occurrences.ts';
import { subscriptionOf } from '../../protocol/automation/follow-up.ts';
import { skillAskedFor } from '../../protocol/text/skill-call.ts';
import { formatAddress, type Address } from '../../protocol/address.ts';
import { excerptOf } from '../../protocol/text/excerpt.ts';
import { relPathAt } from '../../protocol/layout.ts';
import { CANCELLED } from '../../protocol/cancel.ts';
import { markOf, type Reaction } from '../../protocol/owed.ts';
import {
  arrivals,
  byTime,
  CHUNK,
  readFiles,
  type Arrival,
  newestFirst,
} from '../lookup/arrivals.ts';
import { tipOf, type Context } from '../context.ts';

/** Parts of a message that are stored for the overview: everything except its text. */
export interface Trace extends Reaction {
  channel: string;
  relPath: string;
  from: string;
  to: Address[];
  type: string;
  timestamp: string;
  re: string[];
  cause: string[];
  tier: string | null;
  host: string | null;
  excerpt: string;
  /** The schedule that has sent it, as it states. */
  schedule?: string;
  /** The subscription that produced it, as it states. */
  subscription?: string;
  /** The skill for which it asks. */
  skill?: string;
  /** Set for a question that answers another message as well. */
  asks?: true;
  /** Set for a message that asks for a decision; `plan` if that is about a plan. */
  proposal?: true;
  plan?: true;
  /** Set for a message that states one. */
  decides?: true;
}

/** Some messages in the order of time, oldest first; `complete` when there are no older ones. */
export interface Traces {
  tip: string;
  traces: Trace[];
  complete: boolean;
}

const EXCERPT_BYTES = 120;
const KEPT = 2000;

/**
 * Newest messages of all channels, cached in memory and updated with added ones, so that the cost of frequent
 * requests grows only with new messages.
 */
export class Recent {
  readonly #context: Context;
  readonly #limit: number;
  #now: Traces | undefined;
  #work: Promise<unknown> = Promise.resolve();

  /** @param limit the number of messages in the cache */
  constructor(context: Context, limit = KEPT) {
    this.#context = context;
    this.#limit = limit;
  }

  /** Returns the traces at the newest commit known locally. */
  traces(): Promise<Traces> {
    const next = this.#work.then(() => this.#update());
    this.#work = next.catch(() => undefined);
    return next;
  }

  async #update(): Promise<Traces> {
    const tip = await tipOf(this.#context);
    const before = this.#now;
    if (before?.tip === tip) return before;
    this.#now = undefined;
    const now =
      (before && (await this.#follow(before, tip).catch(() => undefined))) ??
      (await tracesBetween(this.#context, tip, { since: '', limit: this.#limit }));
    this.#now = now;
    return now;
  }

  async #follow(before: Traces, tip: string): Promise<Traces> {
    let { complete } = before;
    let traces = [...before.traces];
    let isLate = false;
    const keepNewest = (): void => {
      // An arriving message may be older than the cached ones, as when a machine pushes messages it wrote offline.
      if (isLate) traces.sort(byTime);
      isLate = false;
      complete &&= traces.length <= this.#limit;
      traces = traces.slice(-this.#limit);
    };
    for await (const some of arrivals(this.#context, before.tip, tip)) {
      for (const trace of some.map(traceOf)) {
        isLate ||= byTime(trace, traces.at(-1) ?? trace) < 0;
        traces.push(trace);
      }
      // Do not hold the whole of a flood in memory.
      if (traces.length > 2 * this.#limit) keepNewest();
    }
    keepNewest();
    return { tip, traces, complete };
  }
}

/**
 * Returns the newest messages written between two times, read from git.
 *
 * @param range relPaths are not less than `since` and less than `until`
 */
export async function tracesBetween(
  context: Context,
  tip: string,
  range: { since: string; until?: string; limit: number; channel?: string },
): Promise<Traces> {
  const { since, until, limit, channel } = range;
  const channels = channel === undefined ? await context.reader.channels(tip) : [{ id: channel }];
  const ids = channels.map(({ id }) => id);
  const found: Trace[] = [];
  let complete = true;
  for await (const files of newestFirst(context, tip, ids, since, until)) {
    for (let at = 0; at < files.length && found.length < limit; at += CHUNK) {
      const wanted = files.slice(at, at + Math.min(CHUNK, limit - found.length));
      const read = await readFiles(context, wanted);
      found.push(...read.map(traceOf));
    }
    if (found.length >= limit) {
      // Older days may contain more messages; checking that is not worth the cost.
      complete = false;
      break;
    }
  }
  return { tip, traces: found.reverse(), complete };
}

/** Returns the least relPath of a message written at this time. */
export function pathAt(at: Date): string {
  return relPathAt(at, '').replace(/Z-.*/, '');
}

function traceOf({ channel, relPath, message }: Arrival): Trace {
  const fired = startedBy(message);
  const given = subscriptionOf(message);
  const skill = skillAskedFor(message.body);
  const { from, to, type, timestamp, re, cause, tier, host, body } = message;
  return {
    channel,
    relPath,
    from,
    to,
    type,
    timestamp,
    re,
    cause,
    tier: tier ?? null,
    host: host ?? null,
    excerpt: excerptOf(body, '', EXCERPT_BYTES).text,
    ...(fired !== undefined && { schedule: fired.schedule }),
    ...(given !== undefined && { subscription: given.subscription }),
    ...(skill !== undefined && { skill }),
    ...(message.asks === true && { asks: true as const }),
    ...(message.proposal === true && { proposal: true as const }),
    ...(message.proposal === true && !message.permission && { plan: true as const }),
    ...(message.decision !== undefined && { decides: true as const }),
    // A cancelled message is waited for no more than an answered one.
    mark: message.failed?.reason === CANCELLED ? null : markOf(message),
    ...(message.failed && { failed_on: message.failed.host }),
  };
}

/** Returns the addressees of a message as text. */
export function addresseesOf({ to }: Trace): string[] {
  return to.map(formatAddress);
}
