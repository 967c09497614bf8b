import { setTimeout as sleep } from 'node:timers/promises';
import type { Context } from '../operations/context.ts';
import { KeptMemories } from '../operations/memory/kept-memories.ts';
import { overview } from '../operations/page/overview.ts';
import { Recent } from '../operations/page/recent.ts';
import type { WebNow, WebPublishedEvent } from '../api/api.ts';
import { publish } from '../operations/deliver.ts';
import { Hub } from './hub.ts';
import { problem, Refusal, problemOf } from './answers.ts';

/** What the routes use: one of each for the whole server. */
export interface Parts {
  context: Context;
  /** The token that lets in whoever has it. */
  token: string;
  hub: Hub;
  recent: Recent;
  now: Shared<WebNow>;
  notes: KeptMemories;
  /** The sender if nothing else determines it. */
  login: string;
  readOnly: boolean;
  /** Whether whoever is let in may decide on what actors propose (trust.md). */
  mayDecide: boolean;
  /** Current pushes of messages that were sent here. */
  pushes: Set<Promise<unknown>>;
  /** Pushes the tasks of events that were told of here. */
  eventPushes: Gathered;
  /** What became of those that were told of. */
  eventCounts: EventCounts;
  /** How many events may be told of. */
  webhookLimits: WebhookLimits;
  /** Bounds how often webhooks wake the dispatcher. */
  wakes: Wakes;
  /** Ends the streams. */
  stop: AbortSignal;
}

/** Milliseconds for which a look at the whole bus is reused while no event arrives. */
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
      // Whatever happens during the look becomes an event after this one.
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
 * Pushes one after another: what is added while one is under way leaves together with the next. A push takes
 * along all that is in the outbox.
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

  /** How many entries wait for a push to begin. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Resolves when a push that began after this has ended, whatever became of it. */
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
 * A costly result that several callers request at the same time: it is computed once for all of
 * them, until an event occurs or it is too old. A failure is not kept.
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

/** Events that may be told of in a second. */
const MOST_A_SECOND = 100;
/** Bodies that are read at a time, each up to 1 MiB, of requests whose signature is not known to be good. */
const MOST_UNKNOWN = 64;
/** Milliseconds in which such a body has to be there as a whole. */
const LONGEST_READ_MS = 10_000;

/**
 * Bounds what webhooks may cost. Who shows the token or the secret is known by the header, and who shows
 * a signature only by the body: each kind has a limit of its own, so that strangers, who can send any
 * number of wrong signatures, keep nobody out who shows the secret.
 */
export class WebhookLimits {
  readonly #known: Rate;
  readonly #unknown: Rate;
  readonly #longest: number;
  #reading = 0;

  /**
   * @param now milliseconds of any clock
   * @param longest milliseconds that the body of a stranger may take
   */
  constructor(now: () => number, longest = LONGEST_READ_MS) {
    this.#longest = longest;
    this.#known = new Rate(MOST_A_SECOND, now);
    this.#unknown = new Rate(MOST_A_SECOND, now);
  }

  /** Admits a request by its header. @throws Refusal when there are too many */
  known(): void {
    if (!this.#known.take()) throw tooMany();
  }

  /**
   * Reads the body of a request that shows a signature. One that takes too long gives its place back: else a
   * few slow connections, which cost a stranger nothing, would keep every place for minutes.
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
      // What is read too late fails when the connection is closed, and is of no interest then.
      return await Promise.race([read(), late]);
    } finally {
      end();
      this.#reading--;
    }
  }

  /** A promise that fails after the time that a body may take, unless it is ended before. */
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

/** The least time between two looks of the dispatcher that webhooks lead to, in milliseconds. */
const BETWEEN_WAKES_MS = 1000;

/** Lets webhooks wake the dispatcher once a second: those that come earlier share the next time. */
export class Wakes {
  readonly #now: () => number;
  #last = -Infinity;
  #next: Promise<number> | undefined;

  /** @param now milliseconds of any clock */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** @param wake wakes it, and says which process it is */
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

/** Allows so many a second, in any second. */
export class Rate {
  readonly #most: number;
  readonly #now: () => number;
  /** When the last ones were taken, oldest first; at most {@link #most}. */
  readonly #taken: number[] = [];

  /** @param now milliseconds of any clock */
  constructor(most: number, now: () => number) {
    this.#most = most;
    this.#now = now;
  }

  /** Takes one, unless as many were taken within the last second. */
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

/** Why an event was refused, by the status of the answer; none of them comes from the request. */
const REASONS: Readonly<Record<number, string>> = {
  400: 'invalid',
  401: 'unauthorized',
  408: 'too_slow',
  409: 'held',
  413: 'too_large',
  429: 'too_many',
  503: 'busy',
};

/** How often something became of an event; `reason` is empty for what was not refused. */
interface Counted {
  outcome: WebPublishedEvent['state'] | 'refused';
  reason: string;
  count: number;
}

/** What became of the events that a server was told of since its start. */
export class EventCounts {
  readonly #counted = new Map<string, Counted>();

  get all(): Counted[] {
    return [...this.#counted.values()];
  }

  /** Counts an event by what came of it. */
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
