import type { NatsConnection, Subscription } from '@nats-io/transport-node';
import { Emitter } from '../emitter.ts';
import { reasonOf } from '../errors.ts';
import { shown } from '../protocol/text/result.ts';
import { wait } from '../wait.ts';
import { connectBell, refusalIn } from './connect.ts';
import type { BellSettings } from './settings.ts';

/** Kind of a publication on the subject of a bus: there is news, or a machine's state. */
export type Kind = 'ring' | 'beat';

export interface LineEvents {
  /** The connection is up again; everything published while it was down is lost. */
  up: [];
  /** There is no connection, or it was lost. */
  down: [reason: string];
  /** A publication arrived; anybody who reaches the server may have sent it. */
  heard: [kind: Kind, bytes: Uint8Array];
  /** More arrives than can be of use, so the subscription pauses for a while. */
  flooded: [];
}

/** Milliseconds before the first attempt to reconnect, and at most before any attempt. */
const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 30_000;
/** Milliseconds after which a connection counts as steady: once lost, it is soon tried again. */
const STEADY_MS = 10_000;
/** Milliseconds in which the last publications may be flushed when a line closes. */
const LAST_WORDS_MS = 300;
/** Milliseconds without listening after a flood. */
const DEAF_MS = 10_000;

/**
 * A connection to the server of a bell, re-established until it is closed. Nothing waits for it: what is
 * published while it is down is dropped.
 *
 *     connecting → up → (lost, refused) → waiting, longer each time → connecting → …
 */
export class BellLine {
  readonly events = new Emitter<LineEvents>();
  readonly #settings: BellSettings;
  readonly #random: () => number;
  readonly #now: () => number;
  readonly #flood: Flood;
  readonly #over = new AbortController();
  #connection: NatsConnection | undefined;
  #isDeaf = false;
  #ended: Promise<void> = Promise.resolve();

  /**
   * @param random from 0 to 1, so that machines do not return at the same moment
   * @param now milliseconds of any clock
   */
  constructor(settings: BellSettings, random: () => number, now: () => number) {
    this.#settings = settings;
    this.#random = random;
    this.#now = now;
    this.#flood = new Flood(now);
  }

  /** Whether publications of others arrive. */
  get isUp(): boolean {
    return this.canSay && !this.#isDeaf;
  }

  /** Whether our publications may reach others, which they also may during the pause after a flood. */
  get canSay(): boolean {
    return this.#connection !== undefined;
  }

  /** Starts to connect, without waiting for it. */
  open(): void {
    this.#ended = this.#keep();
  }

  async close(): Promise<void> {
    const said = this.#connection?.flush().catch(() => undefined);
    if (said !== undefined) await Promise.race([said, wait(LAST_WORDS_MS)]);
    this.#over.abort();
    await this.#connection?.close().catch(() => undefined);
    await this.#ended;
  }

  /** Publishes to all others, if there is a connection. */
  say(kind: Kind, text: string): void {
    try {
      this.#connection?.publish(`${this.#settings.subject}.${kind}`, text);
    } catch {
      // The connection was lost just now.
    }
  }

  async #keep(): Promise<void> {
    const { signal } = this.#over;
    for (let delay = FIRST_RETRY_MS; !signal.aborted;) {
      const begun = this.#now();
      const reason = await this.#once();
      if (this.#isOver()) return;
      this.events.emit('down', reason);
      // A server that accepts and at once drops us is not contacted more often than one that refuses.
      if (this.#now() - begun > STEADY_MS) delay = FIRST_RETRY_MS;
      await wait(delay * (0.5 + this.#random()), signal);
      delay = Math.min(2 * delay, LONGEST_RETRY_MS);
    }
  }

  #isOver(): boolean {
    return this.#over.signal.aborted;
  }

  /** Connects, and listens until the connection is lost; resolves with the reason. */
  async #once(): Promise<string> {
    let connection: NatsConnection;
    try {
      connection = await connectBell(this.#settings, { echo: false });
    } catch (error) {
      return reasonOf(error);
    }
    if (this.#isOver()) {
      await connection.close().catch(() => undefined);
      return '';
    }
    const refused = new Promise<string>((resolve) => {
      this.#listen(connection, resolve);
      void refusalIn(connection).then(resolve);
    });
    this.#connection = connection;
    this.events.emit('up');
    const reason = await refused;
    this.#connection = undefined;
    this.#isDeaf = false;
    await connection.close().catch(() => undefined);
    return `the connection to ${this.#settings.servers.join(', ')} is lost: ${reason}`;
  }

  #listen(connection: NatsConnection, refused: (reason: string) => void): void {
    const { subject } = this.#settings;
    let listening: Subscription | undefined;
    const listen = (): void => {
      listening = connection.subscribe(`${subject}.*`, {
        callback: (error, { subject: said, data }) => {
          if (error)
            refused(`${shown(error.message)}; ask the operator of the server for the right`);
          else if (this.#flood.isOver(data.byteLength)) deafen();
          else if (said === `${subject}.ring`) this.events.emit('heard', 'ring', data);
          else if (said === `${subject}.beat`) this.events.emit('heard', 'beat', data);
        },
      });
    };
    const deafen = (): void => {
      if (listening?.isClosed() !== false) return;
      listening.unsubscribe();
      this.#isDeaf = true;
      this.events.emit('flooded');
      void wait(DEAF_MS, this.#over.signal).then(() => {
        if (connection.isClosed() || this.#isOver()) return;
        listen();
        this.#isDeaf = false;
        this.events.emit('up');
      });
    };
    listen();
  }
}

/** Most messages, and most bytes of them, in a second; a bus with 1,000 hosts stays below. */
const MOST_A_SECOND = 2000;
const MOST_BYTES_A_SECOND = 4 * 1024 * 1024;

/** A detector of more traffic on a subject than the machines of one bus cause. */
export class Flood {
  readonly #now: () => number;
  #since = -Infinity;
  #messages = 0;
  #bytes = 0;

  /** @param now milliseconds of any clock */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Counts a message; returns whether it exceeds the limit. */
  isOver(bytes: number): boolean {
    const now = this.#now();
    if (now - this.#since >= 1000) {
      this.#since = now;
      this.#messages = 0;
      this.#bytes = 0;
    }
    this.#messages++;
    this.#bytes += bytes;
    return this.#messages > MOST_A_SECOND || this.#bytes > MOST_BYTES_A_SECOND;
  }
}
