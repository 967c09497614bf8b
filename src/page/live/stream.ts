import type { WebEvents } from '../../api/api.ts';
import type { Connection } from './connection.ts';

type EventName = keyof WebEvents;
type Listener = (name: EventName, data: never) => void;

const NAMES: readonly EventName[] = [
  'hello',
  'reset',
  'messages',
  'tip',
  'outbox',
  'status',
  'runs',
  'dead_letters',
  'facts',
];
/** Milliseconds before the first attempt after the connection was lost; doubled each time. */
const RETRY_MS = 1000;
const LONGEST_RETRY_MS = 15_000;
/**
 * Milliseconds after which a hidden page closes its connection, because a browser has only six for
 * a server.
 */
const REST_MS = 20_000;

/**
 * The live updates of the server. A lost connection is opened again, and continues after the last
 * event received; when the server no longer knows that event, it sends `reset`.
 *
 *     connecting → open ⇄ lost (tried again) ; open|lost → resting (hidden) → connecting (visible)
 */
export class Stream {
  #source: EventSource | undefined;
  #last = '';
  #retry = RETRY_MS;
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #listener: Listener;
  readonly #onConnection: (connection: Connection) => void;

  constructor(listener: Listener, onConnection: (connection: Connection) => void) {
    this.#listener = listener;
    this.#onConnection = onConnection;
  }

  /** Opens the stream, which then reconnects automatically. */
  start(): void {
    this.#open();
    document.addEventListener('visibilitychange', () => {
      clearTimeout(this.#timer);
      if (!document.hidden) {
        if (this.#source === undefined) this.#open();
      } else {
        this.#timer = setTimeout(() => {
          this.#close();
          this.#onConnection('resting');
        }, REST_MS);
      }
    });
    addEventListener('online', () => {
      if (this.#source?.readyState !== EventSource.OPEN) this.#open();
    });
  }

  #open(): void {
    this.#close();
    const after = this.#last === '' ? '' : `?last_event_id=${encodeURIComponent(this.#last)}`;
    const source = new EventSource(`/api/events${after}`);
    this.#source = source;
    for (const name of NAMES) {
      source.addEventListener(name, (event: MessageEvent<string>) => {
        const data = JSON.parse(event.data) as never;
        if (name === 'hello') {
          this.#retry = RETRY_MS;
          // Missed events follow this one, so it does not count as the last one seen.
          if (this.#last === '') this.#last = (data as WebEvents['hello']).event_id;
          this.#onConnection('open');
        } else if (event.lastEventId !== '') {
          this.#last = event.lastEventId;
        }
        this.#listener(name, data);
      });
    }
    source.onerror = () => {
      if (this.#source !== source) return;
      this.#onConnection('lost');
      // A browser gives up if the answer is not a stream, for example while the server restarts.
      this.#close();
      this.#timer = setTimeout(() => {
        this.#open();
      }, this.#retry);
      this.#retry = Math.min(LONGEST_RETRY_MS, 2 * this.#retry);
    };
  }

  #close(): void {
    clearTimeout(this.#timer);
    this.#source?.close();
    this.#source = undefined;
  }
}
