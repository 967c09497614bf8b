import { Schedules } from '../../src/dispatcher/automation/schedules.ts';
import { parseSchedule } from '../../src/protocol/automation/schedule.ts';
import { placeOf } from '../../src/protocol/layout.ts';
import { parseMessage, type Message } from '../../src/protocol/message.ts';
import type { OutboxEntry } from '../../src/state/outbox.ts';
import type { ScheduleRecord } from '../../src/state/automation/schedules.ts';

const CHANNEL = '11111111-1111-4111-8111-111111111111';

/** A file of `local/schedules/` on the simulated bus. */
interface File {
  text: string;
  /** Milliseconds since 1970. */
  committed: number;
}

/**
 * The real scheduler of one machine, with a clock that can be set, a bus in memory, and a disk that
 * outlives the process.
 */
export class SimulatedMachine {
  now: number;
  readonly #zone: string;
  #file: File | undefined;
  #tip = 0;
  #disk = '{}';
  #serial = 0;
  #outbox = new Map<string, OutboxEntry>();
  #schedules: Schedules | undefined;
  /** What is on the bus, by its path in the channel. */
  readonly #bus = new Map<string, Message>();
  /** How often a message came to the bus whose path was taken already. */
  repeated = 0;
  /** How many files there are with the same text. */
  copies = 1;
  /** How often the records were written. */
  saves = 0;
  /** How many more writes the disk takes before it refuses one; undefined for any number. */
  takes: number | undefined;
  /** Why schedules could not be followed, as the log and `problems` tell it. */
  readonly failures: string[] = [];
  /** When each message came to the bus by the true clock, with what it was due at, both in milliseconds. */
  readonly sent: { due: number; at: number }[] = [];

  constructor(now: number, zone: string) {
    this.now = now;
    this.#zone = zone;
  }

  /** Writes the file to the bus at the time of the clock; undefined removes it. */
  write(text: string | undefined): void {
    this.#file = text === undefined ? undefined : { text, committed: this.now };
    this.#tip++;
  }

  get isUp(): boolean {
    return this.#schedules !== undefined;
  }

  /** When the scheduler wants to be asked again, in milliseconds since 1970. */
  get next(): number {
    return this.#schedules?.next?.getTime() ?? Infinity;
  }

  start(): void {
    this.#schedules = this.#made();
  }

  /** Ends the process without any notice. */
  kill(): void {
    this.#schedules = undefined;
  }

  /** A round of the dispatcher. */
  async round(): Promise<void> {
    const fired = this.#schedules?.fire('front', `tip ${String(this.#tip)}`, () =>
      Promise.resolve(false),
    );
    await fired?.catch((error: unknown) => {
      if (!String(error).includes('ENOSPC')) throw error;
      this.failures.push(String(error));
    });
    for (const id of [...this.#outbox.keys()]) this.#push(id);
  }

  /** Whether the disk has still to refuse the write that {@link takes} counts down to. */
  get willRefuse(): boolean {
    return this.takes !== undefined;
  }

  get problems(): string[] {
    return (this.#schedules?.problems ?? []).map(({ problem }) => problem);
  }

  async #write(work: () => void): Promise<void> {
    const { takes = Infinity } = this;
    if (takes === 0) {
      this.takes = undefined;
      throw new Error('ENOSPC: no space left on device');
    }
    if (this.takes !== undefined) this.takes = takes - 1;
    await Promise.resolve();
    work();
  }

  #push(id: string): void {
    this.#publish(this.#outbox.get(id));
    this.#outbox.delete(id);
  }

  /** The last message gets its answer. */
  answer(): void {
    const last = [...this.#bus.keys()].findLast((path) => this.#bus.get(path)?.re.length === 0);
    if (last === undefined) return;
    const message = this.#bus.get(last);
    if (message === undefined) return;
    this.#bus.set(`answer to ${last}`, { ...message, from: 'worker', re: [last] });
  }

  #made(): Schedules {
    this.#outbox = new Map<string, OutboxEntry>();
    const outbox = this.#outbox;
    return new Schedules({
      files: () => Promise.resolve({ files: this.#files(), beyond: 0 }),
      committedSince: (_, paths, since) => {
        const { committed = 0 } = this.#file ?? {};
        const found = committed >= since.getTime() ? paths.map((path) => [path, committed]) : [];
        return Promise.resolve(new Map(found as [string, number][]));
      },
      records: {
        load: () =>
          Promise.resolve(
            new Map(Object.entries(JSON.parse(this.#disk) as Record<string, ScheduleRecord>)),
          ),
        save: (records) =>
          this.#write(() => {
            this.saves++;
            this.#disk = JSON.stringify(Object.fromEntries(records));
          }),
        suffixOf: (name, due) => {
          const copy = Number(name.slice('standup-'.length));
          return (Date.parse(due) + copy).toString(16).padStart(16, '0');
        },
      },
      reader: {
        channels: () => Promise.resolve([{ id: CHANNEL, name: 'general' } as never]),
        message: (_, __, relPath) => Promise.resolve(this.#bus.get(relPath)),
        since: (_, __, relPath) =>
          Promise.resolve(
            [...this.#bus.keys()]
              .slice(-20)
              .flatMap((path) => {
                const message = this.#bus.get(path);
                return message === undefined ? [] : [{ relPath: path, message }];
              })
              .filter(({ message }) => relPath !== '' && message.type === 'text'),
          ),
      },
      unsettled: () => [],
      outbox: {
        all: () => Promise.resolve([...outbox.values()]),
        held: () => Promise.resolve([]),
        put: (entry) =>
          this.#write(() => {
            outbox.set(entry.id, entry);
          }),
      },
      publish: (id) => {
        this.#push(id);
      },
      usualChannel: ([first]) => first,
      zone: { name: this.#zone, problem: '' },
      now: () => new Date(this.now),
      newId: () => String(this.#serial++),
      log: (event, fields) => {
        if (event !== 'schedule_failed') return;
        this.failures.push(JSON.stringify(fields));
        if (!this.failures.join().includes('ENOSPC')) throw new Error(JSON.stringify(fields));
      },
    });
  }

  #files() {
    if (this.#file === undefined) return [];
    const { text } = this.#file;
    return Array.from({ length: this.copies }, (_, copy) => {
      const name = `standup-${String(copy)}`;
      const path = `local/schedules/${name}.md`;
      return { name, path, oid: text, text, result: parseSchedule(text, name) };
    });
  }

  /** As the publisher does it: what must be new and is there already is no second message. */
  #publish(entry: OutboxEntry | undefined): void {
    for (const { path, content } of entry?.commits.flatMap(({ files }) => files) ?? []) {
      const place = placeOf(path);
      const message = parseMessage(Buffer.from(content));
      if (place.kind !== 'message' || !message.ok) throw new Error(`no message: ${path}`);
      if (this.#bus.has(place.relPath)) {
        this.repeated++;
        continue;
      }
      this.#bus.set(place.relPath, message.value);
      this.sent.push({ due: Date.parse(String(message.value.extra['due'])), at: this.now });
    }
  }
}
