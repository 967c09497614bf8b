import { messageKey, type MessageRef } from '../../protocol/layout.ts';
import { isRecord, readJson, writeWhole } from '../files.ts';

/** Maximum number of messages on record for one person; above it the oldest half is merged into marks. */
const MOST_SEEN = 2000;

/** Map from the id of a channel to the relPath up to which everything counts as seen. */
type Marks = Map<string, string>;

/** The messages that one person has seen. */
interface SeenBy {
  marks: Marks;
  /** Keys of messages, oldest first. */
  messages: Set<string>;
}

/**
 * The record of the messages seen on this machine, for each person: shown whole, or marked. Of the
 * messages that were on the bus when the record was started, those older than a person's last message
 * there count as seen by them. The record is never sent to anybody.
 */
export class Seen {
  readonly #path: string;
  readonly #begun: Marks;
  readonly #people: Map<string, SeenBy>;

  private constructor(path: string, begun: Marks, people: Map<string, SeenBy>) {
    this.#path = path;
    this.#begun = begun;
    this.#people = people;
  }

  /**
   * Reads the record.
   *
   * @returns undefined for a record that is missing, or cannot be read
   */
  static async load(path: string): Promise<Seen | undefined> {
    const { value } = (await readJson(path)) ?? {};
    if (!isRecord(value) || !isRecord(value['people'])) return undefined;
    const people = Object.entries(value['people']).map(([name, one]): [string, SeenBy] => {
      const { marks, messages } = isRecord(one) ? one : {};
      const keys = Array.isArray(messages) ? messages.filter((key) => typeof key === 'string') : [];
      return [name, { marks: marksIn(marks), messages: new Set(keys) }];
    });
    return new Seen(path, marksIn(value['begun']), new Map(people));
  }

  /**
   * Starts a record.
   *
   * @param begun the newest relPath of each channel
   */
  static begin(path: string, begun: Marks): Seen {
    return new Seen(path, begun, new Map());
  }

  /** Returns the mark of a channel for a person; empty without one. */
  markOf(name: string, channel: string): string {
    return this.#people.get(name)?.marks.get(channel) ?? '';
  }

  /** Returns the newest message of a channel when the record was started; empty for a newer channel. */
  begunAt(channel: string): string {
    return this.#begun.get(channel) ?? '';
  }

  /** Whether a person has seen a message that is newer than the mark of its channel. */
  has(name: string, ref: MessageRef): boolean {
    return this.#people.get(name)?.messages.has(messageKey(ref)) === true;
  }

  /** Adds messages, and returns whether any was new. */
  add(name: string, refs: readonly MessageRef[]): boolean {
    const { marks, messages } = this.#of(name);
    const before = messages.size;
    for (const ref of refs)
      if (ref.relPath > this.markOf(name, ref.channel)) messages.add(messageKey(ref));
    if (messages.size === before) return false;
    if (messages.size <= MOST_SEEN) return true;
    const oldest = [...messages].sort((a, b) => (pathIn(a) < pathIn(b) ? -1 : 1));
    for (const key of oldest.slice(0, messages.size - MOST_SEEN / 2)) {
      messages.delete(key);
      marks.set(key.slice(0, key.indexOf('/')), pathIn(key));
    }
    return true;
  }

  save(): Promise<void> {
    const people = [...this.#people].map(([name, { marks, messages }]) => [
      name,
      { marks: Object.fromEntries(marks), messages: [...messages] },
    ]);
    const value = { begun: Object.fromEntries(this.#begun), people: fromEntries(people) };
    return writeWhole(this.#path, `${JSON.stringify(value)}\n`);
  }

  #of(name: string): SeenBy {
    const known = this.#people.get(name) ?? { marks: new Map(), messages: new Set() };
    this.#people.set(name, known);
    return known;
  }
}

function fromEntries(entries: readonly unknown[][]): Record<string, unknown> {
  return Object.fromEntries(entries as [string, unknown][]);
}

/** Returns the relPath in the key of a message. */
function pathIn(key: string): string {
  return key.slice(key.indexOf('/') + 1);
}

function marksIn(value: unknown): Marks {
  const pairs = Object.entries(isRecord(value) ? value : {});
  return new Map(pairs.filter((pair): pair is [string, string] => typeof pair[1] === 'string'));
}
