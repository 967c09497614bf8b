import type { Context } from '../operations/context.ts';
import { KeptMemories } from '../operations/memory/kept-memories.ts';
import { overview } from '../operations/page/overview.ts';
import { Recent } from '../operations/page/recent.ts';
import type { WebNow } from '../api/api.ts';
import { publish } from '../operations/deliver.ts';
import { Gathered } from './gathered.ts';
import { EventCounts } from './event-counts.ts';
import { Wakes, WebhookLimits } from './webhook-limits.ts';
import { Hub } from './hub.ts';
import { Shared } from './shared.ts';

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
