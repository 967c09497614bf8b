import { open, readFile, rename, writeFile } from 'node:fs/promises';
import { hasCode } from '../errors.ts';
import { isRecord } from './files.ts';

/** Bytes from which on the older half is forgotten: some 60,000 silences. */
const MAX_BYTES = 8 * 1024 * 1024;

/**
 * What was settled by silence (protocol.md §5). No message on the bus says so, and a cursor says it only
 * as long as the history it belongs to is there: a line of JSON for each silent run.
 */
export class Silences {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  /** Puts on record that an actor had nothing to say to messages of a channel; durable when it returns. */
  async note(actor: string, channel: string, messages: readonly string[]): Promise<void> {
    const file = await open(this.#path, 'a', 0o600);
    try {
      await file.appendFile(`${JSON.stringify({ actor, channel, messages })}\n`);
      await file.sync();
      if ((await file.stat()).size < MAX_BYTES) return;
    } finally {
      await file.close();
    }
    const lines = await this.#lines();
    const kept = lines.slice(Math.ceil(lines.length / 2)).join('\n');
    await writeFile(`${this.#path}.new`, `${kept}\n`, { mode: 0o600 });
    await rename(`${this.#path}.new`, this.#path);
  }

  /** Calls back for everything that is on record; lines that a crash cut off are passed over. */
  async each(visit: (actor: string, channel: string, relPath: string) => void): Promise<void> {
    for (const line of await this.#lines()) {
      const { actor, channel, messages } = parse(line);
      if (typeof actor !== 'string' || typeof channel !== 'string' || !Array.isArray(messages))
        continue;
      for (const relPath of messages)
        if (typeof relPath === 'string') visit(actor, channel, relPath);
    }
  }

  async #lines(): Promise<string[]> {
    try {
      return (await readFile(this.#path, 'utf8')).split('\n').filter((line) => line !== '');
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return [];
      throw error;
    }
  }
}

function parse(line: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(line);
    return isRecord(value) ? value : {};
  } catch {
    return {};
  }
}
