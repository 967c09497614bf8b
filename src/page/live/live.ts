import type { WebChannels, WebEvents, WebMessage, WebNow, WebSession } from '../../api/api.ts';
import { get, wordsOf } from './api.ts';
import { after, arrived, NOTHING_KNOWN, type Model } from './model.ts';
import type { Ways } from './send-once.ts';
import { Stream } from './stream.ts';

/** What views are notified of: that everything has to be loaded again, or one of the events. */
export interface LiveEvent {
  name: keyof WebEvents;
  data: WebEvents[keyof WebEvents];
}

/** Milliseconds between two requests for data that has no event. */
const LOOK_MS = 1000;
/** Milliseconds that loading waits for the stream, so that no event is missed in between. */
const STREAM_FIRST_MS = 1500;

/** Loads the data that every view needs, keeps it up to date and notifies its listeners. */
export class Live {
  model: Model = NOTHING_KNOWN;
  readonly #subscribers = new Set<() => void>();
  readonly #listeners = new Set<(news: LiveEvent) => void>();
  readonly #stream = new Stream(
    (name, data) => {
      this.#happened(name, data);
    },
    (connection, refusal = '') => {
      this.set({ connection, refusal });
    },
  );
  #greeted = false;
  #looking: ReturnType<typeof setTimeout> | undefined;
  #lookedAt = 0;

  /** What sends need. */
  get ways(): Ways {
    return {
      shelf: localStorage,
      now: () => Date.now() - this.model.skew,
      connected: () => this.connected(),
    };
  }

  start(): void {
    this.#stream.start();
    // The page must not stay empty if the stream fails.
    setTimeout(() => {
      if (!this.#greeted) void this.load();
    }, STREAM_FIRST_MS);
  }

  set(patch: Partial<Model>): void {
    this.model = { ...this.model, ...patch };
    for (const changed of this.#subscribers) changed();
  }

  /** Calls back after every change of the model, until the returned function is called. */
  subscribe(changed: () => void): () => void {
    this.#subscribers.add(changed);
    return () => this.#subscribers.delete(changed);
  }

  /** Calls back with every event, after the model has been updated. */
  listen(heard: (news: LiveEvent) => void): () => void {
    this.#listeners.add(heard);
    return () => this.#listeners.delete(heard);
  }

  /** Loads everything that is not specific to one view. */
  async load(): Promise<void> {
    try {
      const [session, now, { channels }] = await Promise.all([
        get<WebSession>('session'),
        get<WebNow>('now'),
        get<WebChannels>('channels'),
      ]);
      this.set({ ...arrived(now, Date.now()), session, channels, problem: undefined });
    } catch (error) {
      this.set({ problem: wordsOf(error) });
    }
  }

  /** Shows messages sent from this page before they are on the bus. */
  sent(messages: readonly WebMessage[]): void {
    this.set({ pending: [...this.model.pending, ...messages] });
  }

  /** Connects anew, because there is reason to doubt the connection; resolves when it is open. */
  connected(): Promise<void> {
    return new Promise((resolve) => {
      const forget = this.listen(({ name }) => {
        if (name !== 'hello' && name !== 'reset') return;
        forget();
        resolve();
      });
      this.#stream.again();
    });
  }

  #happened(name: keyof WebEvents, data: never): void {
    const again = name === 'hello' && this.#greeted && !(data as WebEvents['hello']).resumed;
    const first = name === 'hello' && !this.#greeted;
    this.#greeted = true;
    const failed = name === 'hello' && this.model.problem !== undefined;
    if (first || again || failed || name === 'reset') void this.load();
    const held = holdingOf(this.model);
    this.model = after(this.model, name, data);
    this.set({});
    const news: LiveEvent = again
      ? { name: 'reset', data: { reason: 'a new stream' } }
      : { name, data };
    for (const heard of this.#listeners) heard(news);
    const isOther = name === 'status' && holdingOf(this.model) !== held;
    if (isOther || ['tip', 'runs', 'facts', 'dead_letters'].includes(name)) this.#look();
  }

  /** Requests the data again soon, once for all changes until then. */
  #look(): void {
    if (this.#looking !== undefined) return;
    const wait = Math.max(0, this.#lookedAt + LOOK_MS - Date.now());
    this.#looking = setTimeout(() => {
      this.#looking = undefined;
      this.#lookedAt = Date.now();
      Promise.all([get<WebNow>('now'), get<WebChannels>('channels')]).then(
        ([now, { channels }]) => {
          this.set({ ...arrived(now, Date.now()), channels, problem: undefined });
        },
        // The stream reports when the server is unreachable.
        () => undefined,
      );
    }, wait);
  }
}

/** What holds mail back, to notice that it has changed: the states of waiting mail depend on it. */
function holdingOf({ now }: Model): string {
  return JSON.stringify([now?.paused, now?.parked]);
}
