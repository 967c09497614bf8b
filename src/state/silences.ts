import { JsonLines } from './json-lines.ts';

/** Bytes from which on the older half is forgotten: some 60,000 silences. */
const MAX_BYTES = 8 * 1024 * 1024;

/**
 * What was settled by silence (protocol.md §5). No message on the bus says so, and a cursor says it only
 * as long as the history it belongs to is there: a line of JSON for each silent run.
 */
export class Silences {
  readonly #lines: JsonLines;

  constructor(path: string) {
    this.#lines = new JsonLines(path, MAX_BYTES);
  }

  /** Puts on record that an actor had nothing to say to messages of a channel; durable when it returns. */
  note(actor: string, channel: string, messages: readonly string[]): Promise<void> {
    return this.#lines.add([{ actor, channel, messages }]);
  }

  /** Calls back for everything that is on record. */
  async each(visit: (actor: string, channel: string, relPath: string) => void): Promise<void> {
    for (const { actor, channel, messages } of await this.#lines.all()) {
      if (typeof actor !== 'string' || typeof channel !== 'string' || !Array.isArray(messages))
        continue;
      for (const relPath of messages)
        if (typeof relPath === 'string') visit(actor, channel, relPath);
    }
  }
}
