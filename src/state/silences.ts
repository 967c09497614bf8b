import type { MessageRef } from '../protocol/message-ref.ts';
import { Lines } from '../store/rows.ts';

/** The lines that are remembered, of one message or more each. */
const MOST = 100_000;

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
interface Line extends Partial<IncompleteRun> {
  actor: string;
  channel: string;
  /** What was met with silence. */
  messages?: readonly string[];
  settled?: readonly string[];
  answered?: readonly string[];
  /** What was dealt with again, as far as it lacked the same. */
  again?: readonly string[];
}

/** In which way a message is on record. */
export type Settled = 'silent' | 'again' | 'settled' | 'answered';

/**
 * What this machine has settled (protocol.md §5). The bus says it only as long as nobody
 * takes an answer off it, and never of silence; a cursor says it only as long as the history it belongs to is
 * there. It also holds what was dealt with while the question behind it was not on the bus, because the
 * question may come back.
 */
export class Silences {
  readonly #lines: Lines<Line>;

  /** @param root the state directory */
  constructor(root: string) {
    this.#lines = new Lines(root, 'silence', MOST);
  }

  /** Puts on record that an actor had nothing to say to messages of a channel; durable when it returns. */
  note(actor: string, channel: string, messages: readonly string[]): Promise<void> {
    return this.#lines.add([{ actor, channel, messages }]);
  }

  /**
   * Puts on record that an actor is done with messages of a channel, whatever came of it; durable.
   *
   * @param answered the questions that were answered by this, wherever they are
   */
  settled(
    actor: string,
    channel: string,
    settled: readonly string[],
    answered: readonly MessageRef[],
  ): Promise<void> {
    const lines = answered.map((one) => ({ actor, channel: one.channel, answered: [one.relPath] }));
    return this.#lines.add([{ actor, channel, settled }, ...lines]);
  }

  /** Puts on record that an actor dealt with messages without others that are named; durable. */
  lacked(run: IncompleteRun): Promise<void> {
    return this.#lines.add([{ ...run }]);
  }

  /** Puts on record that the actor has dealt with them again, and lacked nothing but this. */
  done(run: IncompleteRun): Promise<void> {
    return this.#lines.add([{ ...run, again: run.incomplete }]);
  }

  /** What was dealt with while one of these, or anything, was missing, and not again since. */
  async without(paths?: ReadonlySet<string>): Promise<IncompleteRun[]> {
    const found: IncompleteRun[] = [];
    for (const line of await this.#lines.all()) {
      const { actor, channel, incomplete = [], lacking = [] } = line;
      const again = new Set(line.again);
      for (const one of again.size > 0 ? found : [])
        if (one.actor === actor && one.channel === channel)
          one.incomplete = one.incomplete.filter((relPath) => !again.has(relPath));
      if (paths === undefined ? lacking.length > 0 : lacking.some((path) => paths.has(path)))
        found.push({ actor, channel, incomplete, lacking });
    }
    return found.filter(({ incomplete }) => incomplete.length > 0);
  }

  /** A number that changes when something is put on record. */
  mark(): Promise<number> {
    return this.#lines.count();
  }

  /** Calls back for everything that is on record. */
  async each(
    visit: (actor: string, channel: string, relPath: string, how: Settled) => void,
  ): Promise<void> {
    for (const { actor, channel, messages, ...more } of await this.#lines.all()) {
      for (const relPath of messages ?? []) visit(actor, channel, relPath, 'silent');
      for (const how of ['again', 'settled', 'answered'] as const)
        for (const relPath of more[how] ?? []) visit(actor, channel, relPath, how);
    }
  }
}
