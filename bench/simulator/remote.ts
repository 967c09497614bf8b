import type { Clock } from './clock.ts';
import { Window } from './window.ts';

/** A message on its way. Times in milliseconds. */
export interface Message {
  /** Where it stands on the bus. */
  path: string;
  sent: number;
  /** The host to which it is addressed, by its number; absent when nobody waits for it. */
  to?: number;
  /** The height of the tip that brought it to the remote. */
  landed?: number;
}

/** How many pushes led to a commit: its name tells that, and a number of its own. */
export function heightOf(tip: string): number {
  return Number.parseInt(tip, 10);
}

/** How long things take. Milliseconds. */
export interface Costs {
  /** Median of a push's time on the network, and of a fetch's. */
  push: number;
  fetch: number;
  /** How far times scatter: sigma of a log-normal distribution. */
  scatter: number;
  /** When of its time a push or fetch reads the remote's tip, as a share; and when a push takes the ref's lock. */
  reads: number;
  locks: number;
  /** What a push keeps the ref locked for. */
  locked: number;
  /** What each push, and each fetch that brings news, takes more for every thousand messages on the branch. */
  growth?: number;
  /** Time of a core: for a push, for a fetch, for building, and for each message pushed. */
  cpu: { push: number; fetch: number; build: number; message: number };
}

/** What a forge lets all machines together do to one repository; absent for no limit. */
export interface RepositoryLimits {
  pushesPerMinute?: number | undefined;
  readsPerSecond?: number | undefined;
}

/** The branch on the remote: the one thing that everybody contends for. */
export class Remote {
  tip = '0-0';
  /** Tells the commits of all hosts apart. */
  serial = 1;
  /** Those that were sent, by their paths. */
  readonly messages = new Map<string, Message>();
  /** Messages on the branch, of this epoch and of all epochs. */
  count: number;
  total: number;
  epochs = 0;
  /** Pushes that moved the branch; pushes that were tried; connections that read. */
  readonly moves = new Window(MINUTE_MS);
  readonly tries = new Window(SECOND_MS);
  readonly reads = new Window(SECOND_MS);
  /** Reads and pushes that the limits of the repository turned away. */
  refused = { pushes: 0, reads: 0 };
  readonly #clock: Clock;
  readonly #limits: RepositoryLimits;
  readonly #epochAt: number;
  /** By host: what is here for it and was not found yet, in the order in which it came. */
  readonly #mail = new Map<number, Message[]>();
  #unfound = 0;
  #lockedUntil = 0;

  /**
   * @param held messages that are on the branch already
   * @param epochAt with so many messages the branch is archived, and begins anew without them
   */
  constructor(
    clock: Clock,
    limits: RepositoryLimits = {},
    {
      held = 0,
      epochAt = Infinity,
    }: { held?: number | undefined; epochAt?: number | undefined } = {},
  ) {
    this.#clock = clock;
    this.#limits = limits;
    this.#epochAt = epochAt;
    this.count = held;
    this.total = held;
  }

  /** Counts a read. Whether the remote turns it away, because the repository had its share. */
  turnsReadAway(): boolean {
    const { now } = this.#clock;
    const isOver = this.reads.within(now) >= (this.#limits.readsPerSecond ?? Infinity);
    if (isOver) this.refused.reads++;
    else this.reads.note(now);
    return isOver;
  }

  /** Counts a push that is tried. Whether the remote turns it away. */
  turnsPushAway(): boolean {
    const { now } = this.#clock;
    this.tries.note(now);
    const isOver = this.moves.within(now) >= (this.#limits.pushesPerMinute ?? Infinity);
    if (isOver) this.refused.pushes++;
    return isOver;
  }

  /** Takes the ref's lock, one push after another; whether the branch was moved. */
  async move(
    base: string,
    to: string,
    messages: readonly Message[],
    locked: number,
  ): Promise<boolean> {
    while (this.#clock.now < this.#lockedUntil)
      await this.#clock.wait(this.#lockedUntil - this.#clock.now);
    if (this.tip !== base) return false;
    this.tip = to;
    this.#lockedUntil = this.#clock.now + locked;
    this.moves.note(this.#clock.now);
    for (const message of messages) {
      if (message.landed !== undefined) throw new Error('a message was published twice');
      message.landed = heightOf(to);
      if (message.to === undefined) continue;
      this.#unfound++;
      const mail = this.#mail.get(message.to);
      if (mail === undefined) this.#mail.set(message.to, [message]);
      else mail.push(message);
    }
    this.count += messages.length;
    this.total += messages.length;
    if (this.count >= this.#epochAt) this.#archive();
    return true;
  }

  /** Whether mail is here that its host has not found. */
  get hasUnfound(): boolean {
    return this.#unfound > 0;
  }

  /** What a host finds for itself at a tip. */
  found(host: number, tip: string): Message[] {
    const height = heightOf(tip);
    const mail = this.#mail.get(host);
    if (mail === undefined) return [];
    const later = mail.findIndex(({ landed = 0 }) => landed > height);
    const found = mail.splice(0, later === -1 ? mail.length : later);
    if (mail.length === 0) this.#mail.delete(host);
    this.#unfound -= found.length;
    return found;
  }

  /** A new root in the place of the history: whatever was built on the old tip is behind. */
  #archive(): void {
    this.tip = [heightOf(this.tip) + 1, this.serial++].join('-');
    this.count = 0;
    this.epochs++;
  }
}

const MINUTE_MS = 60_000;
const SECOND_MS = 1000;
