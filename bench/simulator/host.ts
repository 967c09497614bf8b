import { Publisher } from '../../src/bus/publisher.ts';
import { Alarm, Rhythm } from '../../src/dispatcher/alarm.ts';
import { RungFetches, type Later } from '../../src/dispatcher/bell/far-bell.ts';
import { WakeUp } from '../../src/dispatcher/socket/answers.ts';
import { inTurns, permission } from '../../src/actions/publishing.ts';
import type { OutboxEntry } from '../../src/state/outbox.ts';
import { Turns } from '../../src/state/turn.ts';
import { publish } from '../../src/transport/publish/publish.ts';
import type { Clock } from './clock.ts';
import type { Machine } from './machine.ts';
import type { Costs, Message, Remote } from './remote.ts';
import { SimulatedUpstream } from './upstream.ts';

/** How a host writes. `rebase`: pull, rebase and push each message until it works. */
type Writer = 'crosstalk' | 'rebase';

export interface HostParts {
  clock: Clock;
  random: () => number;
  remote: Remote;
  machine: Machine;
  costs: Costs;
  writer: Writer;
  /** Whether news among others make it poll sooner. */
  heedsAll: boolean;
  /** The polling interval in milliseconds; undefined for a host that has no dispatcher. */
  interval: number | undefined;
  /** Whether it has its machine for itself, so that no other host takes its messages along. */
  isAlone: boolean;
  /** Its number, to which mail is addressed. */
  number: number;
  /** The share of pushes whose answer is lost; none unless told. */
  lostAnswers?: number | undefined;
  /** Tells the hosts with these numbers of a tip; absent without a bell. */
  tell?: ((tip: string, hosts: ReadonlySet<number>) => void) | undefined;
  /** Told of each message that its host knows to be on the remote. */
  onPublished: (message: Message) => void;
  /** Told of each message that the host to which it is addressed has found. */
  onFound: (message: Message) => void;
}

const AUTHOR = { name: 'host', email: 'host@crosstalk.local' };

/**
 * One host: the program's own publisher, publish loop, turns, budget and polling rhythm. Simulated
 * are its outbox, which is in the memory, git (see {@link SimulatedUpstream}) and what of the
 * dispatcher's loop has to do with publishing.
 */
export class Host {
  readonly upstream: SimulatedUpstream;
  /** How many of its messages are on the remote. */
  published = 0;
  readonly #parts: HostParts;
  /** The tip at which it looked for its mail last. */
  #seen: string;
  readonly #outbox = new Map<string, OutboxEntry>();
  readonly #publisher: Publisher;
  readonly #bell = new WakeUp();
  readonly #fetches: RungFetches;
  readonly #permit: (kind: 'push' | 'read') => Promise<void>;

  constructor(parts: HostParts) {
    const { clock, random, machine } = parts;
    this.#parts = parts;
    this.upstream = new SimulatedUpstream(parts);
    this.#seen = this.upstream.known;
    // In whole milliseconds, as the names of tickets have them.
    const turns = inTurns(new Turns(machine.board, () => Math.floor(clock.now)));
    const budget = machine.budget();
    this.#permit = permission(budget, undefined, clock.wait);
    const options = { turns, permit: this.#permit, wait: clock.wait, random };
    this.#publisher = new Publisher({
      outbox: {
        all: async () => [...this.#outbox.values()],
        get: async (id) => this.#outbox.get(id),
        remove: async (id) => void this.#outbox.delete(id),
        hold: () => Promise.resolve(),
        setAside: () => Promise.reject(new Error('nothing is set aside here')),
      },
      publish: (entries) => publish(this.upstream, entries, options),
      mayPush: () => budget.push(),
      lock: async () => ({ ok: true, release: () => Promise.resolve() }),
      now: () => new Date(clock.now),
      wait: clock.wait,
      onPublished: async ({ id }) => {
        this.#note(id);
      },
    });
    this.#publisher.events.on('news', () => {
      this.#bell.ring('look');
    });
    this.#publisher.events.on('push', (pushed, entries) => {
      if (pushed.ok) this.#tell(pushed.tip, entries);
    });
    this.#fetches = new RungFetches(
      () => {
        this.#bell.ring('fetch');
      },
      () => this.#seen,
      () => clock.now,
      later(clock),
    );
  }

  /** How many messages wait. */
  get waiting(): number {
    return this.#outbox.size;
  }

  send(message: Message): void {
    const { path } = message;
    const at = new Date(message.sent).toISOString();
    const commit = { author: AUTHOR, at, subject: path, files: [{ path, content: '' }] };
    this.#parts.remote.messages.set(path, message);
    this.#outbox.set(path, { id: path, commits: [commit] });
    void (this.#parts.writer === 'rebase' ? this.#rebase(message) : this.#publish(path));
  }

  /** As the loop in src/dispatcher/serve.ts: asks for news, and empties the outbox. */
  async poll(): Promise<void> {
    const { interval, clock, random, heedsAll } = this.#parts;
    if (interval === undefined) return;
    const rhythm = new Rhythm(() => interval);
    const alarm = new Alarm(this.#bell, clock.wait);
    const { signal } = new AbortController();
    for (let rang = 'time'; ;) {
      const before = this.#seen;
      if (rang === 'look') rhythm.active();
      else {
        this.#fetches.begin();
        await this.#permit('read');
        await this.upstream.fetch();
      }
      const hasMail = this.#take();
      if (rang !== 'look') this.#fetches.end(this.#seen !== before);
      if (this.#outbox.size > 0) void this.#publisher.flush();
      if (hasMail || (heedsAll && this.#seen !== before)) rhythm.active();
      rang = await alarm.wait(rhythm.next(random()), signal);
    }
  }

  /** The bell says that the bus is at a tip. */
  hear(tip: string): void {
    this.#fetches.rung(tip);
  }

  /** As the scan of a tick: takes what is new for this host. Whether there was anything. */
  #take(): boolean {
    const { remote, number, onFound } = this.#parts;
    this.#seen = this.upstream.known;
    const found = remote.found(number, this.#seen);
    for (const message of found) onFound(message);
    return found.length > 0;
  }

  /** As src/dispatcher/bell/far-bell.ts: those who have mail are told. */
  #tell(tip: string, entries: readonly OutboxEntry[]): void {
    const { tell, remote, number } = this.#parts;
    const hosts = entries.flatMap(({ id }) => remote.messages.get(id)?.to ?? []);
    if (hosts.length > 0) tell?.(tip, new Set(hosts.filter((host) => host !== number)));
  }

  async #publish(id: string): Promise<void> {
    await this.#publisher.publish(id);
    // Without a dispatcher nobody else comes back to it.
    if (this.#parts.interval === undefined)
      while (this.#outbox.has(id)) await this.#publisher.flush();
  }

  /** What other programs do: a rival, simple on purpose. */
  async #rebase(message: Message): Promise<void> {
    do await this.upstream.fetch();
    while ((await this.upstream.push(this.upstream.known, [message])) !== 'ok');
    this.#outbox.delete(message.path);
    this.#note(message.path);
  }

  #note(id: string): void {
    const message = this.#parts.remote.messages.get(id);
    if (message === undefined) throw new Error('a message that nobody sent');
    // Nobody else has it in hand, and there may be millions.
    if (this.#parts.isAlone) this.#parts.remote.messages.delete(id);
    this.published++;
    this.#parts.onPublished(message);
  }
}

/** Waits in simulated time. */
function later(clock: Clock): Later {
  return (ms, run) => {
    let isWanted = true;
    clock.after(ms, () => {
      if (isWanted) run();
    });
    return () => {
      isWanted = false;
    };
  };
}
