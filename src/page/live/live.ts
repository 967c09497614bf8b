import type {
  WebChannels,
  WebEvents,
  WebMessage,
  WebNow,
  WebSession,
  WebError,
} from '../../api/api.ts';
import { get, wordsOf } from './api.ts';
import { after, arrived, NOTHING_KNOWN, type Model, type Connection } from './model.ts';
import { TAB } from './drafts.ts';
import type { Ways } from './send-once.ts';

/** Notification to views: everything has to be loaded again, or one of the events happened. */
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

  /** Returns the functions that sends need. */
  get ways(): Ways {
    return {
      shelf: TAB,
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

/** Returns a text of everything that holds mail back, to notice a change: the states of waiting mail depend on it. */
function holdingOf({ now }: Model): string {
  return JSON.stringify([now?.paused, now?.parked]);
}

type EventName = keyof WebEvents;
type Listener = (name: EventName, data: never) => void;

/** Milliseconds before the first attempt after the connection was lost; doubled each time. */
const RETRY_MS = 1000;
const LONGEST_RETRY_MS = 15_000;
/**
 * Milliseconds after which a hidden page closes its connection, because a browser has only six for
 * a server.
 */
const REST_MS = 20_000;
/** Milliseconds without a word after which the server counts as silent; it sends one every 5 s. */
const SILENCE_MS = 20_000;

/**
 * Live updates of the server. A connection that broke, or through which nothing comes, is opened again, and continues
 * after the last event received; when the server no longer knows that event, it sends `reset`. It is read with
 * `fetch`, since an `EventSource` reports neither the status of a refusal nor that nothing comes.
 *
 *     connecting → open ⇄ lost|silent|locked|refused (tried again)
 *     any → resting (hidden) → connecting (visible)
 */
class Stream {
  #current: AbortController | undefined;
  #last = '';
  #retry = RETRY_MS;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #rest: ReturnType<typeof setTimeout> | undefined;
  #silence: ReturnType<typeof setTimeout> | undefined;
  readonly #listener: Listener;
  readonly #onConnection: (connection: Connection, refusal?: string) => void;

  /** @param onConnection also receives the words of the server, if it refuses the connection */
  constructor(
    listener: Listener,
    onConnection: (connection: Connection, refusal?: string) => void,
  ) {
    this.#listener = listener;
    this.#onConnection = onConnection;
  }

  /** Opens the stream, which then reconnects automatically. */
  start(): void {
    this.#open();
    document.addEventListener('visibilitychange', () => {
      clearTimeout(this.#rest);
      if (!document.hidden) {
        if (this.#current === undefined) this.#open();
      } else {
        this.#rest = setTimeout(() => {
          this.#close();
          this.#onConnection('resting');
        }, REST_MS);
      }
    });
    addEventListener('online', () => {
      this.again();
    });
  }

  /** Connects anew, because there is reason to doubt the connection. */
  again(): void {
    const isResting = document.hidden && this.#current === undefined;
    if (!isResting) this.#open();
  }

  #open(): void {
    this.#close();
    const current = new AbortController();
    this.#current = current;
    this.#follow(current).catch(() => {
      this.#leave(current, 'lost');
    });
  }

  async #follow(current: AbortController): Promise<void> {
    const { signal } = current;
    const after = this.#last === '' ? '' : `?last_event_id=${encodeURIComponent(this.#last)}`;
    this.#hear(current);
    const answer = await fetch(`/api/events${after}`, {
      signal,
      cache: 'no-store',
      credentials: 'same-origin',
    });
    if (!answer.ok || answer.body === null) {
      const error = ((await answer.json().catch(() => undefined)) as Partial<WebError> | undefined)
        ?.error;
      // An answer that is not from our server comes from something in between, while the server is away.
      if (answer.status === 401) this.#leave(current, 'locked');
      else if (error === undefined) this.#leave(current, 'lost');
      else this.#leave(current, 'refused', error.message);
      return;
    }
    for await (const { id, name, data } of eventsIn(answer.body)) {
      if (signal.aborted) return;
      this.#hear(current);
      this.#take(id, name as EventName, JSON.parse(data) as never);
    }
    this.#leave(current, 'lost');
  }

  #take(id: string, name: EventName, data: never): void {
    if (name === 'hello') {
      this.#retry = RETRY_MS;
      // Missed events follow this one, so it does not count as the last one seen.
      if (this.#last === '') this.#last = (data as WebEvents['hello']).event_id;
      this.#onConnection('open');
    } else if (id !== '') {
      this.#last = id;
    }
    this.#listener(name, data);
  }

  /** Starts to wait for the next chunk. */
  #hear(current: AbortController): void {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => {
      this.#leave(current, 'silent');
    }, SILENCE_MS);
  }

  /** Gives a connection up, and tries again later. */
  #leave(current: AbortController, connection: Connection, refusal?: string): void {
    if (this.#current !== current) return;
    this.#close();
    this.#onConnection(connection, refusal);
    this.#timer = setTimeout(() => {
      this.#open();
    }, this.#retry);
    this.#retry = Math.min(LONGEST_RETRY_MS, 2 * this.#retry);
  }

  #close(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#silence);
    this.#current?.abort();
    this.#current = undefined;
  }
}

/** One event of a stream of server-sent events. */
interface StreamEvent {
  /** Empty when it has none. */
  id: string;
  name: string;
  data: string;
}

/**
 * Reads the events of a stream as this server writes them: each field on a line of its own, `data`
 * on one line, and an empty line after each event. Comments are left out.
 */
async function* eventsIn(stream: ReadableStream<Uint8Array>): AsyncGenerator<StreamEvent> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let text = '';
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    const parts = (text + decoder.decode(read.value, { stream: true })).split('\n\n');
    text = parts.pop() ?? '';
    for (const part of parts) {
      const event = { id: '', name: '', data: '' };
      for (const line of part.split('\n')) {
        if (line.startsWith('id: ')) event.id = line.slice(4);
        else if (line.startsWith('event: ')) event.name = line.slice(7);
        else if (line.startsWith('data: ')) event.data = line.slice(6);
      }
      if (event.name !== '') yield event;
    }
  }
}
