import { setTimeout as sleep } from 'node:timers/promises';
import { reasonOf } from '../errors.ts';
import { arrivals } from '../operations/lookup/arrivals.ts';
import { tipOf, type Context } from '../operations/context.ts';
import { waitForNews } from '../operations/reading/news.ts';
import { opening } from './kit/call.ts';
import { channelOf, channelUri } from './resources.ts';
import type { ServerSurroundings } from './kit/tool.ts';

/** Milliseconds until a failed watch starts again. */
const AGAIN_MS = 5000;

/** The receiver of a watch's notifications. */
export interface SubscriptionListener {
  updated: (uri: string) => void;
  listChanged: () => void;
  note: (line: string) => void;
}

interface Running {
  stop: AbortController;
  ready: Promise<void>;
  done: Promise<void>;
}

/**
 * Watches the channels to which a client has subscribed. It runs from the first subscription to the
 * end of the last one, and asks the dispatcher for news as waiting commands do.
 */
export class Subscriptions {
  readonly #surroundings: ServerSurroundings;
  readonly #listener: SubscriptionListener;
  readonly #uris = new Set<string>();
  #running: Running | undefined;

  constructor(surroundings: ServerSurroundings, listener: SubscriptionListener) {
    this.#surroundings = surroundings;
    this.#listener = listener;
  }

  /** Resolves once everything that arrives from now on will be announced. */
  async subscribe(uri: string): Promise<void> {
    this.#uris.add(uri);
    this.#running ??= this.#start();
    await this.#running.ready;
  }

  async unsubscribe(uri: string): Promise<void> {
    this.#uris.delete(uri);
    if (this.#uris.size === 0) await this.stop();
  }

  async stop(): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    running?.stop.abort();
    await running?.done;
  }

  #start(): Running {
    const stop = new AbortController();
    let begun: () => void = () => undefined;
    const ready = new Promise<void>((resolve) => (begun = resolve));
    const done = this.#keepFollowing(stop.signal, begun).finally(begun);
    return { stop, ready, done };
  }

  async #keepFollowing(signal: AbortSignal, begun: () => void): Promise<void> {
    const { note } = this.#listener;
    const once = (): Promise<void> =>
      opening(this.#surroundings, note)((context) => this.#follow(context, signal, begun));
    while (!signal.aborted) {
      await once().catch(async (error: unknown) => {
        if (signal.aborted) return;
        note(`watching for messages: ${reasonOf(error)}; it is tried again`);
        await sleep(AGAIN_MS, undefined, { signal }).catch(() => undefined);
      });
    }
  }

  async #follow(context: Context, signal: AbortSignal, begun: () => void): Promise<void> {
    let seen = await tipOf(context);
    let known = await channelsAt(context, seen);
    begun();
    for (;;) {
      const tip = await waitForNews(context, seen, { signal, timeout: Infinity });
      if (tip === undefined) return;
      const changed = new Set<string>();
      for await (const arrived of arrivals(context, seen, tip))
        for (const { channel } of arrived) changed.add(channelUri(channel));
      for (const uri of this.#uris) if (changed.has(uri)) this.#listener.updated(uri);
      const channels = await channelsAt(context, tip);
      if (channels !== known) this.#listener.listChanged();
      [seen, known] = [tip, channels];
    }
  }
}

/** Whether a URI names something that can change. */
export function canChange(uri: string): boolean {
  return channelOf(uri) !== undefined;
}

async function channelsAt(context: Context, tip: string): Promise<string> {
  const channels = await context.reader.channels(tip);
  return JSON.stringify(channels.map(({ id, name }) => [id, name]));
}
