import { Publisher } from '../../src/bus/publisher.ts';
import { Alarm, Rhythm } from '../../src/dispatcher/alarm.ts';
import { Bell } from '../../src/dispatcher/socket/bell.ts';
import { inTurns, permission } from '../../src/operations/publishing.ts';
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
  /** The polling interval in milliseconds; undefined for a host that has no dispatcher. */
  interval: number | undefined;
  /** Told of each message that its host knows to be on the remote. */
  onPublished: (message: Message) => void;
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
  readonly #outbox = new Map<string, OutboxEntry>();
  readonly #publisher: Publisher;
  readonly #bell = new Bell();
  readonly #permit: (kind: 'push' | 'read') => Promise<void>;

  constructor(parts: HostParts) {
    const { clock, random, machine } = parts;
    this.#parts = parts;
    this.upstream = new SimulatedUpstream(parts);
    // In whole milliseconds, as the names of tickets have them.
    const turns = inTurns(new Turns(machine.board, () => Math.floor(clock.now)));
    const budget = machine.budget();
    this.#permit = permission(budget, undefined, clock.wait);
    const options = { turns, permit: this.#permit, wait: clock.wait, random };
    this.#publisher = new Publisher({
      outbox: {
        all: async () => [...this.#outbox.values()],
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
    const { interval, clock, random } = this.#parts;
    if (interval === undefined) return;
    const rhythm = new Rhythm(() => interval);
    const alarm = new Alarm(this.#bell, clock.wait);
    const { signal } = new AbortController();
    let seen = this.upstream.known;
    for (let rang = 'time'; ;) {
      if (rang === 'look') rhythm.active();
      else {
        await this.#permit('read');
        await this.upstream.fetch();
      }
      if (this.#outbox.size > 0) void this.#publisher.flush();
      if (this.upstream.known !== seen) rhythm.active();
      seen = this.upstream.known;
      rang = await alarm.wait(rhythm.next(random()), signal);
    }
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

  #note(path: string): void {
    const message = this.#parts.remote.messages.get(path);
    if (message === undefined) throw new Error('a message that nobody sent');
    this.published++;
    this.#parts.onPublished(message);
  }
}
