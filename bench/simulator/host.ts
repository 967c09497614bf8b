import { MAX_ENTRIES } from '../../src/bus/push-parts.ts';
import { Rhythm } from '../../src/dispatcher/alarm.ts';
import { CONTENDED_MS } from '../../src/state/turn.ts';
import { backOffMs, MAX_ATTEMPTS } from '../../src/transport/publish/publish.ts';
import type { Clock, Task } from './clock.ts';
import type { Machine, Ticket, Turn } from './machine.ts';
import type { Costs, Message, Remote } from './remote.ts';

/** How a host writes. `rebase`: pull, rebase and push each message until it works. */
type Writer = 'crosstalk' | 'rebase';

export interface HostParts {
  clock: Clock;
  random: () => number;
  remote: Remote;
  machine: Machine;
  costs: Costs;
  writer: Writer;
  /** The polling interval in milliseconds; undefined for a host without a dispatcher. */
  interval: number | undefined;
  /** Receives each message that its host knows to be on the remote. */
  onPublished: (message: Message) => void;
}

type Pushed = 'ok' | 'behind' | 'throttled';

/** One host: group commit as in src/bus/publisher.ts, pushes as in src/transport/publish/publish.ts. */
export class Host {
  readonly pushes = { tried: 0, won: 0 };
  /** The number of its messages that are on the remote. */
  published = 0;
  readonly #parts: HostParts;
  readonly #rhythm: Rhythm | undefined;
  #outbox: Message[] = [];
  #flushing = false;
  #again = false;
  /** The tip that this host knows. */
  #known = 0;
  #contendedUntil = 0;

  constructor(parts: HostParts) {
    this.#parts = parts;
    if (parts.interval !== undefined) this.#rhythm = new Rhythm(parts.interval);
  }

  /** The number of waiting messages. */
  get waiting(): number {
    return this.#outbox.length;
  }

  send(message: Message): void {
    this.#outbox.push(message);
    this.#parts.clock.start(this.#flush());
  }

  /** Polls the remote forever, and makes sure that nothing is left in the outbox. */
  *poll(): Task {
    const { random, machine } = this.#parts;
    const rhythm = this.#rhythm;
    if (rhythm === undefined) return;
    for (;;) {
      yield rhythm.next(random());
      yield* machine.permit('reads');
      const before = this.#known;
      yield* this.#fetch();
      if (this.#known > before) rhythm.active();
      if (this.#outbox.length > 0) this.#parts.clock.start(this.#flush());
    }
  }

  *#flush(): Task {
    this.#again = true;
    if (this.#flushing) return;
    this.#flushing = true;
    while (this.#again && this.#outbox.length > 0) {
      this.#again = false;
      yield* this.#parts.machine.permit('pushes');
      const messages = this.#outbox.slice(0, this.#parts.writer === 'rebase' ? 1 : MAX_ENTRIES);
      const published =
        this.#parts.writer === 'rebase'
          ? yield* this.#rebase(messages)
          : yield* this.#publish(messages);
      if (published) {
        this.#outbox = this.#outbox.filter((message) => !messages.includes(message));
        this.published += messages.length;
        for (const message of messages) this.#parts.onPublished(message);
        this.#rhythm?.active();
      }
      // Without a dispatcher no other process would try again.
      if (this.#outbox.length > 0 && (published || this.#rhythm === undefined)) this.#again = true;
    }
    this.#flushing = false;
  }

  /** Works like `publish` in src/transport/publish/publish.ts. */
  *#publish(messages: readonly Message[]): Task<boolean> {
    const { machine, clock, random, costs } = this.#parts;
    for (let attempt = 1; ; attempt++) {
      if (attempt > 1) {
        yield* machine.permit('reads');
        yield* machine.permit('pushes');
      }
      const turn = yield* this.#turn(messages);
      if (turn?.kind === 'done') {
        yield* this.#fetch();
        return true;
      }
      if (attempt > 1 && turn === undefined) yield backOffMs(attempt, random());
      if (attempt > 1 || (turn?.tip !== undefined && turn.tip !== this.#known))
        yield* this.#fetch();
      const along = turn?.along ?? [];
      const all = [...along.flatMap((ticket: Ticket) => ticket.messages), ...messages];
      const missing = all.filter(({ landed }) => landed === undefined || landed > this.#known);
      yield* machine.work(costs.cpu.build + costs.cpu.message * missing.length);
      const pushed = missing.length === 0 ? 'ok' : yield* this.#push(missing);
      if (turn !== undefined) machine.end(turn, pushed === 'ok' ? this.#known : undefined);
      if (pushed === 'ok') return true;
      if (pushed === 'behind') this.#contendedUntil = clock.now + CONTENDED_MS;
      if (pushed === 'throttled' || attempt >= MAX_ATTEMPTS) return false;
    }
  }

  *#turn(messages: readonly Message[]): Task<Turn | { kind: 'done'; tip: number } | undefined> {
    const { machine, clock } = this.#parts;
    if (clock.now > this.#contendedUntil && !machine.taking) return undefined;
    return yield* machine.turn(messages);
  }

  *#rebase(messages: readonly Message[]): Task<boolean> {
    for (;;) {
      yield* this.#fetch();
      if ((yield* this.#push(messages)) === 'ok') return true;
    }
  }

  *#fetch(): Task {
    const { costs, machine, remote } = this.#parts;
    const network = this.#scattered(costs.fetch);
    yield network * costs.reads;
    yield* machine.work(costs.cpu.fetch * costs.reads);
    const seen = remote.tip;
    yield network * (1 - costs.reads);
    yield* machine.work(costs.cpu.fetch * (1 - costs.reads));
    this.#known = Math.max(this.#known, seen);
  }

  *#push(messages: readonly Message[]): Task<Pushed> {
    const { costs, machine, remote, clock } = this.#parts;
    const { reads, locks, locked, cpu } = costs;
    const base = this.#known;
    const network = this.#scattered(costs.push);
    this.pushes.tried++;
    machine.pushes.push(clock.now);
    yield network * reads;
    yield* machine.work(cpu.push * reads);
    // Git itself notices that it is behind, before it sends anything.
    if (remote.throttles) return 'throttled';
    if (remote.tip !== base) return 'behind';
    yield network * (locks - reads);
    yield* machine.work((cpu.push + cpu.message * messages.length) * (locks - reads));
    const moved = yield* remote.move(base, messages, locked);
    const tip = remote.tip;
    yield network * (1 - locks);
    yield* machine.work((cpu.push + cpu.message * messages.length) * (1 - locks));
    if (!moved) return 'behind';
    this.pushes.won++;
    this.#known = Math.max(this.#known, tip);
    return 'ok';
  }

  #scattered(median: number): number {
    const { random, costs } = this.#parts;
    if (costs.scatter === 0 || median === 0) return median;
    const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
    return median * Math.exp(costs.scatter * normal);
  }
}
