import { messageFile, type MessageRef } from '../protocol/layout.ts';
import { questionsOf } from '../protocol/outgoing.ts';
import { Lines } from '../store/lines.ts';
import { Seal } from '../store/seal.ts';
import type { Database } from '../store/sqlite.ts';
import { Store } from '../store/store.ts';
import { settledBy, type OutboxEntry } from './outbox-entry.ts';

/** Maximum number of incomplete runs that are remembered. */
const MOST = 20_000;
/** Characters of a key, of six bits each. */
const KEY = 22;
/** Number of deliveries that are looked up in one step. */
const AT_A_TIME = 1000;

/** A run without messages that those it handled refer to. */
export interface IncompleteRun {
  actor: string;
  channel: string;
  /** The messages that it handled: paths inside the channel. */
  incomplete: string[];
  /** Paths of files that were not on the bus. */
  lacking: string[];
}

/** An incomplete run, stored under these names. */
interface Line extends IncompleteRun {
  /** Messages that were handled again, and lacked the same files. */
  again?: string[];
}

/** A message and the actor that it is for. */
interface Delivered extends MessageRef {
  actor: string;
}

/**
 * A fact on record. Of a delivery: that it was handled without an answer, that it was handled again after
 * a missing file was back, that it is settled with whatever outcome, or that the question was answered.
 * Of a message, for any actor: that it was on the bus and was later missing.
 */
type Fact = 'silent' | 'again' | 'settled' | 'answered' | 'gone';

/**
 * The deliveries that this machine has settled (protocol.md §5). The bus shows this only as long as
 * nobody removes an answer, and never for deliveries without an answer; a cursor shows it only as long as
 * its history exists. The record also holds messages that were handled while the question behind them was
 * not on the bus, because the question may come back.
 *
 * Each fact is only a key that no other machine can make: a million take 50 MB, and none is forgotten.
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

  /** Records durably that an actor has finished messages of a channel without an answer. */
  silent(actor: string, channel: string, messages: readonly string[]): Promise<void> {
    return this.#store.write((database) => {
      this.#note(database, 'silent', actor, channel, messages);
      this.#note(database, 'settled', actor, channel, messages);
    });
  }

  /** Records durably that an actor has finished messages of a channel, with whatever outcome. */
  done(actor: string, channel: string, messages: readonly string[]): Promise<void> {
    return this.#store.write((database) => {
      this.#note(database, 'settled', actor, channel, messages);
    });
  }

  /**
   * Records the deliveries that an outbox entry settles and the questions that it answers, in the step
   * that removes it.
   */
  by(database: Database, { delivery, commits }: OutboxEntry): void {
    if (delivery === undefined) return;
    for (const { actor, channel, messages } of settledBy(delivery))
      this.#note(database, 'settled', actor, channel, messages);
    for (const one of commits.flatMap(({ files }) => files.flatMap(questionsOf)))
      this.#note(database, 'answered', delivery.actor, one.channel, [one.relPath]);
  }

  /** Records durably that messages are not on the bus any more, by the paths of their files. */
  async gone(paths: readonly string[]): Promise<void> {
    if (paths.length > 0)
      await this.#store.write((database) => {
        this.#note(database, 'gone', '', '', paths);
      });
  }

  /** Returns those of some messages that were once missing, so that they may have been handled before. */
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

  /** Records durably that an actor handled messages without others that they refer to. */
  lacked(run: IncompleteRun): Promise<void> {
    return this.#incomplete.add([run]);
  }

  /** Records that the actor has handled them again, and lacked nothing but this. */
  again(run: IncompleteRun): Promise<void> {
    const { actor, channel, incomplete } = run;
    return this.#incomplete.add([{ ...run, again: incomplete }], (database) => {
      this.#note(database, 'again', actor, channel, incomplete);
    });
  }

  /** Lists the runs that lacked one of these files, or any file, and were not repeated since. */
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

  /** Returns those of some deliveries with a fact on record. */
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
