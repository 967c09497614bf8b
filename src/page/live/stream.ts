import type { WebError, WebEvents } from '../../api/api.ts';
import type { Connection } from './connection.ts';
import { eventsIn } from './events.ts';

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
 * The live updates of the server. A connection that broke, or through which nothing comes, is opened
 * again, and continues after the last event received; when the server no longer knows that event, it
 * sends `reset`. It is read with `fetch`, since an `EventSource` tells neither the status of a
 * refusal nor that it hears nothing.
 *
 *     connecting → open ⇄ lost|silent|locked|refused (tried again)
 *     any → resting (hidden) → connecting (visible)
 */
export class Stream {
  #current: AbortController | undefined;
  #last = '';
  #retry = RETRY_MS;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #rest: ReturnType<typeof setTimeout> | undefined;
  #silence: ReturnType<typeof setTimeout> | undefined;
  readonly #listener: Listener;
  readonly #onConnection: (connection: Connection, refusal?: string) => void;

  /** @param onConnection is also told the words of the server, if it refuses the connection */
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
      // What no server of ours says comes from something in between, while the server is away.
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

  /** Begins to wait for the next word. */
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
