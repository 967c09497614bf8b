import { setTimeout as sleep } from 'node:timers/promises';
import { reasonOf } from '../errors.ts';
import { arrivals } from '../operations/lookup/arrivals.ts';
import { tipOf, type Context } from '../operations/context.ts';
import { waitForNews } from '../operations/reading/news.ts';
import { opening } from './kit/call.ts';
import { channelOf, channelUri } from './resources.ts';
import type { Session } from './kit/tool.ts';

/** Milliseconds before a watch that failed begins again. */
const AGAIN_MS = 5000;

/** Whom a watch tells. */
export interface Watcher {
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
 * Watches the channels that a client has subscribed to. It runs from the first subscription to the
 * last one's end, and asks the dispatcher for news as commands that wait do.
 */
export class Watch {
  readonly #session: Session;
  readonly #watcher: Watcher;
  readonly #uris = new Set<string>();
  #running: Running | undefined;

  constructor(session: Session, watcher: Watcher) {
    this.#session = session;
    this.#watcher = watcher;
  }

  /** Resolves when whatever arrives from now on is told. */
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
    const done = this.#watch(stop.signal, begun).finally(begun);
    return { stop, ready, done };
  }

  async #watch(signal: AbortSignal, begun: () => void): Promise<void> {
    const { note } = this.#watcher;
    const once = (): Promise<void> =>
      opening(this.#session, note)((context) => this.#follow(context, signal, begun));
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
      for (const uri of this.#uris) if (changed.has(uri)) this.#watcher.updated(uri);
      const channels = await channelsAt(context, tip);
      if (channels !== known) this.#watcher.listChanged();
      [seen, known] = [tip, channels];
    }
  }
}

/** Whether a URI is of a kind that can change. */
export function canChange(uri: string): boolean {
  return channelOf(uri) !== undefined;
}

async function channelsAt(context: Context, tip: string): Promise<string> {
  const channels = await context.reader.channels(tip);
  return JSON.stringify(channels.map(({ id, name }) => [id, name]));
}
