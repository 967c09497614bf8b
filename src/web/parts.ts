import type { Context } from '../operations/context.ts';
import { overview } from '../operations/page/overview.ts';
import { Recent } from '../operations/page/recent.ts';
import type { WebNow } from '../api/api.ts';
import { Hub } from './hub.ts';
import { Shared } from './shared.ts';

/** What the routes work with: one of each for the whole server. */
export interface Parts {
  context: Context;
  hub: Hub;
  recent: Recent;
  now: Shared<WebNow>;
  /** The sender where nothing else says who that is. */
  login: string;
  readOnly: boolean;
  /** Pushes under way of what was sent here. */
  pushes: Set<Promise<unknown>>;
  /** Ends the streams. */
  stop: AbortSignal;
}

/** Milliseconds that a look at the whole bus is good for while no event comes. */
const LIFETIME_MS = 1000;

export function makeParts(
  given: Omit<Parts, 'hub' | 'recent' | 'now' | 'pushes'> & { epoch: string },
): Parts {
  const { epoch, ...rest } = given;
  const hub = new Hub(rest.context, epoch);
  const recent = new Recent(rest.context);
  const now = new Shared(
    async () => {
      // What happens while it is made comes as an event after this one.
      const event_id = hub.ring.id();
      return { ...(await overview(rest.context, recent)), event_id };
    },
    () => hub.ring.id(),
    LIFETIME_MS,
  );
  return { ...rest, hub, recent, now, pushes: new Set() };
}
