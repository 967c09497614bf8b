import { setTimeout as sleep } from 'node:timers/promises';
import type { Context } from '../actions/context.ts';
import { KeptMemories } from '../actions/memory/memories.ts';
import { overview } from '../actions/page/overview.ts';
import { Recent } from '../actions/page/recent.ts';
import type { WebNow, WebPublishedEvent } from '../api/api.ts';
import { publish } from '../actions/deliver.ts';
import { Hub } from './hub.ts';
import { problem, Refusal, problemOf } from './answers.ts';

/** The parts that routes use: one of each for the whole server. */
export interface Parts {
  context: Context;
  /** The token that admits a request. */
  token: string;
  hub: Hub;
  recent: Recent;
  now: Shared<WebNow>;
  notes: KeptMemories;
  /** The default sender. */
  login: string;
  /** The person whose token has let a request in, who reads and writes under this name alone. */
  person?: string;
  /** Whether whoever has sent a request may write nothing. */
  readOnly: boolean;
  /** Whether they may see what programs of this machine print. */
  mayWatch: boolean;
  /** Whether they may operate this machine's dispatcher. */
  mayOperate: boolean;
  /** Whether they may decide on actors' proposals (trust.md). */
  mayDecide: boolean;
  /** Pushes in progress of messages that were sent here. */
  pushes: Set<Promise<unknown>>;
  /** The pusher of the tasks of received events. */
  eventPushes: Gathered;
  /** Counts of the outcomes of received events. */
  eventCounts: EventCounts;
  /** Limits for received events. */
  webhookLimits: WebhookLimits;
  /** The limit for wake-ups of the dispatcher by webhooks. */
  wakes: Wakes;
  /** Signal that ends the streams. */
  stop: AbortSignal;
}

/** Milliseconds for which an overview of the whole bus is reused while no event arrives. */
const LIFETIME_MS = 1000;

export function makeParts(
  given: Omit<
    Parts,
    | 'hub'
    | 'recent'
    | 'now'
    | 'notes'
    | 'pushes'
    | 'eventPushes'
    | 'eventCounts'
    | 'webhookLimits'
    | 'wakes'
  > & {
    epoch: string;
  },
): Parts {
  const { epoch, ...rest } = given;
  const hub = new Hub(rest.context, epoch);
  const recent = new Recent(rest.context);
  const now = new Shared(
    async () => {
      // A change during the computation becomes an event after this one.
      const event_id = hub.ring.id();
      return { ...(await overview(rest.context, recent)), event_id };
    },
    () => hub.ring.id(),
    LIFETIME_MS,
  );
  const eventPushes = new Gathered((entry) => publish(rest.context, entry, { wait: true }));
  const webhookLimits = new WebhookLimits(() => performance.now());
  const wakes = new Wakes(() => performance.now());
  const notes = new KeptMemories();
  const eventCounts = new EventCounts();
  return {
    ...rest,
    eventCounts,
    hub,
    recent,
    now,
    notes,
    pushes: new Set(),
    eventPushes,
    webhookLimits,
    wakes,
  };
}

/**
 * A queue of pushes, one after another: entries added during one are pushed together with the next. A
 * push includes everything in the outbox.
 */
export class Gathered {
  readonly #push: (entry: string) => Promise<unknown>;
  #under: Promise<void> | undefined;
  #next: { entry: string; done: Promise<void> } | undefined;
  #waiting = 0;

  /** @param push publishes an entry of the outbox */
  constructor(push: (entry: string) => Promise<unknown>) {
    this.#push = push;
  }

  /** Number of entries that wait for the start of a push. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Resolves when a push that started after this call has ended, with whatever outcome. */
  add(entry: string): Promise<void> {
    this.#waiting++;
    if (this.#under === undefined) return this.#begin(entry);
    const done =
      this.#next?.done ?? this.#under.then(() => this.#begin(this.#next?.entry ?? entry));
    this.#next = { entry, done };
    return done;
  }

  #begin(entry: string): Promise<void> {
    [this.#waiting, this.#next] = [0, undefined];
    const under = this.#push(entry)
      .catch(() => undefined)
      .then(() => {
        if (this.#next === undefined) this.#under = undefined;
      });
    this.#under = under;
    return under;
  }
}

/**
 * A cached expensive result that several callers request at the same time: it is computed once for all of
 * them, until an event occurs or it expires. A failure is not cached.
 */
class Shared<T> {
  readonly #make: () => Promise<T>;
  readonly #key: () => string;
  readonly #lifetime: number;
  #made: { key: string; at: number; result: Promise<T> } | undefined;

  /**
   * @param key a different key requires a new result
   * @param lifetime in milliseconds
   */
  constructor(make: () => Promise<T>, key: () => string, lifetime: number) {
    this.#make = make;
    this.#key = key;
    this.#lifetime = lifetime;
  }

  get(): Promise<T> {
    const [key, at] = [this.#key(), Date.now()];
    const known = this.#made;
    if (known?.key === key && at - known.at < this.#lifetime && at >= known.at) return known.result;
    const made = { key, at, result: this.#make() };
    this.#made = made;
    made.result.catch(() => {
      if (this.#made === made) this.#made = undefined;
    });
    return made.result;
  }
}

/** Maximum number of events in a second. */
const MOST_A_SECOND = 100;
/** Maximum number of bodies read at a time, each up to 1 MiB, of requests whose signature is not verified yet. */
const MOST_UNKNOWN = 64;
/** Milliseconds until such a body must be complete. */
const LONGEST_READ_MS = 10_000;

/**
 * Limits of the cost of webhooks. A request with the token or the secret is verified by its header, and a
 * signed request only by its body: each kind has a limit of its own, so that strangers, who can send any
 * number of wrong signatures, cannot block requests with the secret.
 */
export class WebhookLimits {
  readonly #known: Rate;
  readonly #unknown: Rate;
  readonly #longest: number;
  #reading = 0;

  /**
   * @param now milliseconds of any clock
   * @param longest milliseconds that a stranger's body may take
   */
  constructor(now: () => number, longest = LONGEST_READ_MS) {
    this.#longest = longest;
    this.#known = new Rate(MOST_A_SECOND, now);
    this.#unknown = new Rate(MOST_A_SECOND, now);
  }

  /**
   * Admits a request that its header has verified.
   *
   * @throws Refusal when there are too many
   */
  known(): void {
    if (!this.#known.take()) throw tooMany();
  }

  /**
   * Reads the body of a signed request. One that takes too long releases its slot: otherwise a few slow
   * connections, which cost a stranger nothing, would occupy every slot for minutes.
   *
   * @throws Refusal when there are too many in a second, or at a time, and when the body takes too long
   */
  async unknown<T>(read: () => Promise<T>): Promise<T> {
    if (this.#reading >= MOST_UNKNOWN)
      throw later(`more than ${String(MOST_UNKNOWN)} signed requests are being read`, 503);
    if (!this.#unknown.take()) throw tooMany();
    this.#reading++;
    const { promise: late, end } = this.#limit();
    try {
      // A late read fails when the connection is closed, and its result is not needed then.
      return await Promise.race([read(), late]);
    } finally {
      end();
      this.#reading--;
    }
  }

  /** Returns a promise that rejects after the time limit of a body, unless it is ended before. */
  #limit(): { promise: Promise<never>; end: () => void } {
    const ended = new AbortController();
    const { signal } = ended;
    const promise = sleep(this.#longest, undefined, { ref: false, signal }).then(() => {
      throw tooSlow(this.#longest);
    });
    const end = (): void => {
      ended.abort();
    };
    return { promise, end };
  }
}

/** Minimum milliseconds between two wake-ups of the dispatcher by webhooks. */
const BETWEEN_WAKES_MS = 1000;

/** A limiter for wake-ups of the dispatcher by webhooks, one a second: earlier ones share the next. */
export class Wakes {
  readonly #now: () => number;
  #last = -Infinity;
  #next: Promise<number> | undefined;

  /** @param now milliseconds of any clock */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** @param wake wakes it, and returns its process id */
  once(wake: () => Promise<number>): Promise<number> {
    if (this.#next !== undefined) return this.#next;
    const wait = Math.max(0, this.#last + BETWEEN_WAKES_MS - this.#now());
    const woken = sleep(wait, undefined, { ref: false }).then(() => {
      this.#last = this.#now();
      this.#next = undefined;
      return wake();
    });
    this.#next = woken;
    return woken;
  }
}

function tooMany(): Refusal {
  return later(`more than ${String(MOST_A_SECOND)} requests a second`, 429);
}

/** @param longest milliseconds */
function tooSlow(longest: number): Refusal {
  const response = problem(
    'refused',
    `the body was not there within ${String(longest / 1000)} seconds; send it again over a faster connection`,
    408,
  );
  response.headers.set('connection', 'close');
  return new Refusal(response);
}

function later(what: string, status: number): Refusal {
  const response = problem('refused', `${what}; send it again in a second`, status);
  response.headers.set('retry-after', '1');
  return new Refusal(response);
}

/** A limit of events in any second. */
export class Rate {
  readonly #most: number;
  readonly #now: () => number;
  /** Times of the last events, oldest first; at most {@link #most}. */
  readonly #taken: number[] = [];

  /** @param now milliseconds of any clock */
  constructor(most: number, now: () => number) {
    this.#most = most;
    this.#now = now;
  }

  /** Counts one event; false when the last second has as many as allowed. */
  take(): boolean {
    const now = this.#now();
    const [oldest] = this.#taken;
    if (oldest !== undefined && this.#taken.length === this.#most) {
      if (now - oldest < 1000) return false;
      this.#taken.shift();
    }
    this.#taken.push(now);
    return true;
  }
}

/** Reasons for refused events, by the status of the response; none of them comes from the request. */
const REASONS: Readonly<Record<number, string>> = {
  400: 'invalid',
  401: 'unauthorized',
  408: 'too_slow',
  409: 'held',
  413: 'too_large',
  429: 'too_many',
  503: 'busy',
};

/** A count of events by their outcome; `reason` is empty unless they were refused. */
interface Counted {
  outcome: WebPublishedEvent['state'] | 'refused';
  reason: string;
  count: number;
}

/** Counts of the events that a server received since its start, by outcome. */
export class EventCounts {
  readonly #counted = new Map<string, Counted>();

  get all(): Counted[] {
    return [...this.#counted.values()];
  }

  /** Counts an event by its outcome. */
  async of(publish: () => Promise<WebPublishedEvent>): Promise<WebPublishedEvent> {
    try {
      const published = await publish();
      this.#count(published.state, '');
      return published;
    } catch (error) {
      this.#count('refused', REASONS[problemOf(error).status] ?? 'internal');
      throw error;
    }
  }

  #count(outcome: Counted['outcome'], reason: string): void {
    const key = `${outcome} ${reason}`;
    const known = this.#counted.get(key);
    if (known === undefined) this.#counted.set(key, { outcome, reason, count: 1 });
    else known.count++;
  }
}
