import { messageFile } from '../protocol/layout.ts';
import type { MessageRef } from '../protocol/message-ref.ts';
import { questionsOf } from '../protocol/outgoing.ts';
import { Lines } from '../store/lines.ts';
import { Seal } from '../store/seal.ts';
import type { Database } from '../store/sqlite.ts';
import { Store } from '../store/store.ts';
import { settledBy, type OutboxEntry } from './outbox-entry.ts';

/** The runs without something that are remembered. */
const MOST = 20_000;
/** Characters of a key, of six bits each. */
const KEY = 22;
/** Deliveries that are looked up in one step. */
const AT_A_TIME = 1000;

/** A run that lacked messages which are named by those it dealt with. */
export interface IncompleteRun {
  actor: string;
  channel: string;
  /** The messages it dealt with: paths inside the channel. */
  incomplete: string[];
  /** Paths of files that were not on the bus. */
  lacking: string[];
}

/** Stored under these names. */
interface Line extends IncompleteRun {
  /** What was dealt with again, as far as it lacked the same. */
  again?: string[];
}

/** A message and the actor that it is for. */
interface Delivered extends MessageRef {
  actor: string;
}

/**
 * What is on record of a delivery: that it was met with silence, that it was dealt with again after something that
 * it lacked was back, that it is settled whatever came of it, or that the question was answered. Of a message, for
 * whomever it is: that it was on the bus and was not any more.
 */
type Fact = 'silent' | 'again' | 'settled' | 'answered' | 'gone';

/**
 * What this machine has settled (protocol.md §5). The bus says it only as long as nobody
 * takes an answer off it, and never of silence; a cursor says it only as long as the history it belongs to is
 * there. It also holds what was dealt with while the question behind it was not on the bus, because the
 * question may come back.
 *
 * Each fact is a key that only this machine can make, and nothing else: a million take 50 MB, and none is
 * forgotten.
 */
export class Settled {
  readonly #store: Store;
  readonly #seal: Seal;
  readonly #incomplete: Lines<Line>;

  /** @param root the state directory */
  constructor(root: string) {
    this.#store = Store.at(root);
    this.#seal = new Seal(root, 'fact');
    this.#incomplete = new Lines(root, 'incomplete', MOST);
  }

  /** Puts on record that an actor is done with messages of a channel, and had nothing to say; durable. */
  silent(actor: string, channel: string, messages: readonly string[]): Promise<void> {
    return this.#store.write((database) => {
      this.#note(database, 'silent', actor, channel, messages);
      this.#note(database, 'settled', actor, channel, messages);
    });
  }

  /** Puts on record that an actor is done with messages of a channel, whatever came of it; durable. */
  done(actor: string, channel: string, messages: readonly string[]): Promise<void> {
    return this.#store.write((database) => {
      this.#note(database, 'settled', actor, channel, messages);
    });
  }

  /** Puts on record what an outbox entry settles and which questions it answers, in the step that takes it out. */
  by(database: Database, { delivery, commits }: OutboxEntry): void {
    if (delivery === undefined) return;
    for (const { actor, channel, messages } of settledBy(delivery))
      this.#note(database, 'settled', actor, channel, messages);
    for (const one of commits.flatMap(({ files }) => files.flatMap(questionsOf)))
      this.#note(database, 'answered', delivery.actor, one.channel, [one.relPath]);
  }

  /** Puts on record that messages are not on the bus any more, by the paths of their files; durable. */
  async gone(paths: readonly string[]): Promise<void> {
    if (paths.length > 0)
      await this.#store.write((database) => {
        this.#note(database, 'gone', '', '', paths);
      });
  }

  /** Those of some messages that were once gone: they may have been dealt with before. */
  async back<T extends MessageRef>(messages: readonly T[]): Promise<Set<T>> {
    const byPlace = new Map(
      messages.map((one) => [
        { actor: '', channel: '', relPath: messageFile(one.channel, one.relPath) },
        one,
      ]),
    );
    const found = await this.of('gone', [...byPlace.keys()]);
    return new Set([...byPlace].flatMap(([place, one]) => (found.has(place) ? [one] : [])));
  }

  /** Puts on record that an actor dealt with messages without others that are named; durable. */
  lacked(run: IncompleteRun): Promise<void> {
    return this.#incomplete.add([run]);
  }

  /** Puts on record that the actor has dealt with them again, and lacked nothing but this. */
  again(run: IncompleteRun): Promise<void> {
    const { actor, channel, incomplete } = run;
    return this.#incomplete.add([{ ...run, again: incomplete }], (database) => {
      this.#note(database, 'again', actor, channel, incomplete);
    });
  }

  /** What was dealt with while one of these, or anything, was missing, and not again since. */
  async without(paths?: ReadonlySet<string>): Promise<IncompleteRun[]> {
    const found: IncompleteRun[] = [];
    for (const line of await this.#incomplete.all()) {
      const { actor, channel, incomplete, lacking } = line;
      const again = new Set(line.again);
      for (const one of again.size > 0 ? found : [])
        if (one.actor === actor && one.channel === channel)
          one.incomplete = one.incomplete.filter((relPath) => !again.has(relPath));
      if (paths === undefined ? lacking.length > 0 : lacking.some((path) => paths.has(path)))
        found.push({ actor, channel, incomplete, lacking });
    }
    return found.filter(({ incomplete }) => incomplete.length > 0);
  }

  /** Those of some deliveries of which a fact is on record. */
  async of<T extends Delivered>(fact: Fact, deliveries: readonly T[]): Promise<Set<T>> {
    const found = new Set<T>();
    for (let at = 0; at < deliveries.length; at += AT_A_TIME)
      await this.#store.read((database) => {
        for (const one of deliveries.slice(at, at + AT_A_TIME)) {
          const key = this.#keyOf(fact, one.actor, one.channel, one.relPath);
          if (database.get('SELECT 1 FROM fact WHERE key = ?', key) !== undefined) found.add(one);
        }
      });
    return found;
  }

  #note(
    database: Database,
    fact: Fact,
    actor: string,
    channel: string,
    messages: readonly string[],
  ): void {
    for (const relPath of messages) {
      const key = this.#keyOf(fact, actor, channel, relPath);
      database.run('INSERT OR IGNORE INTO fact (key) VALUES (?)', key);
    }
  }

  #keyOf(fact: Fact, actor: string, channel: string, relPath: string): string {
    return this.#seal.name(fact, actor, channel, relPath).slice(0, KEY);
  }
}
