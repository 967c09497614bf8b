import { type BudgetRecord, RemoteBudget, type Limits } from '../../src/state/remote-budget.ts';
import type { TurnBoard } from '../../src/state/turn-board.ts';
import type { Clock } from './clock.ts';

const SLICE_MS = 3;

/** What the hosts of one machine share: its cores, and what its processes read of one another. */
export class Machine {
  /** All pushes ever, and all that the budget allowed: for whoever checks it. */
  readonly pushes: number[] = [];
  readonly permits: number[] = [];
  readonly board: TurnBoard;
  readonly #clock: Clock;
  readonly #limits: Limits;
  readonly #record = new MemoryRecord();
  /** When each core is free. */
  readonly #cores: number[];

  constructor(clock: Clock, cores: number, limits: Omit<Limits, 'host'> = {}) {
    this.#clock = clock;
    this.#limits = { host: 'remote', ...limits };
    this.#cores = Array.from({ length: cores }, () => 0);
    this.board = new MemoryBoard(clock);
  }

  /** Uses a core for some milliseconds, in slices, so that all who want one get on alike. */
  async work(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= SLICE_MS) {
      const free = Math.min(...this.#cores);
      const until = Math.max(this.#clock.now, free) + Math.min(left, SLICE_MS);
      this.#cores[this.#cores.indexOf(free)] = until;
      await this.#clock.wait(until - this.#clock.now);
    }
  }

  /** The budget as one process of this machine sees it. */
  budget(): Pick<RemoteBudget, 'push' | 'read'> {
    const budget = new RemoteBudget(this.#record, this.#limits, () => this.#clock.now);
    return {
      read: () => budget.read(),
      push: async () => {
        const hold = await budget.push();
        if (hold === 0) this.permits.push(this.#clock.now);
        return hold;
      },
    };
  }
}

/** A record in the memory. */
class MemoryRecord implements BudgetRecord {
  #value: unknown;
  #queue = Promise.resolve();

  lock(): Promise<() => Promise<void>> {
    const before = this.#queue;
    return new Promise((resolve) => {
      this.#queue = new Promise((release) => {
        void before.then(() => {
          resolve(() => {
            release();
            return Promise.resolve();
          });
        });
      });
    });
  }

  read(): Promise<unknown> {
    return Promise.resolve(this.#value);
  }

  write(value: unknown): Promise<void> {
    this.#value = value;
    return Promise.resolve();
  }
}

/** A board in the memory. Looking at it, and writing on it, take no time. */
class MemoryBoard implements TurnBoard {
  readonly #clock: Clock;
  #held = false;
  #last: string | undefined;
  #serial = 0;
  /** What the owners of tickets would push. */
  readonly #offers = new Map<string, string>();
  readonly #done = new Map<string, string>();
  readonly #calls = new Map<string, () => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  isTaken = (): Promise<boolean> => Promise.resolve(this.#held);
  open = (): Promise<void> => Promise.resolve();
  lastTip = (): Promise<string | undefined> => Promise.resolve(this.#last);
  tickets = (): Promise<string[]> => Promise.resolve([...this.#offers.keys()].sort());
  offer = (ticket: string): Promise<string> => Promise.resolve(this.#offers.get(ticket) ?? '');
  doneAt = (ticket: string): Promise<string | undefined> => Promise.resolve(this.#done.get(ticket));
  /** Nobody dies here. */
  sweep = (): Promise<void> => Promise.resolve();

  async take(): Promise<(() => Promise<void>) | undefined> {
    if (this.#held) return undefined;
    this.#held = true;
    return async () => {
      this.#held = false;
    };
  }

  async setLastTip(tip: string): Promise<void> {
    this.#last = tip;
  }

  newTicket(since: number): string {
    return [since, this.#serial++].map((part) => String(part).padStart(16, '0')).join('-');
  }

  async leave(ticket: string, offer: string): Promise<void> {
    this.#offers.set(ticket, offer);
  }

  called(ticket: string, longest: number): Promise<void> {
    if (!this.#offers.has(ticket)) return Promise.resolve();
    return new Promise((resolve) => {
      this.#calls.set(ticket, resolve);
      this.#clock.after(longest, resolve);
    });
  }

  async call(ticket: string): Promise<void> {
    this.#offers.delete(ticket);
    this.#clock.after(0, this.#calls.get(ticket) ?? (() => undefined));
  }

  tellDone(ticket: string, tip: string): Promise<void> {
    this.#done.set(ticket, tip);
    return this.call(ticket);
  }

  async forget(ticket: string): Promise<void> {
    this.#offers.delete(ticket);
    this.#done.delete(ticket);
    this.#calls.delete(ticket);
  }
}
