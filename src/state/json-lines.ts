import { open, readFile, rename, writeFile } from 'node:fs/promises';
import { hasCode } from '../errors.ts';
import { isRecord, moveAside } from './files.ts';

/**
 * A file that grows by lines of one JSON object each. When it has become too large, the older half
 * is forgotten; a line that a crash cut off is passed over, and spoils no other line.
 */
export class JsonLines {
  readonly #path: string;
  readonly #maxBytes: number;
  #writing: Promise<void> = Promise.resolve();

  constructor(path: string, maxBytes: number) {
    this.#path = path;
    this.#maxBytes = maxBytes;
  }

  /** Adds objects, one on each line; they are durable when it returns. */
  add(values: readonly Record<string, unknown>[]): Promise<void> {
    if (values.length === 0) return Promise.resolve();
    const write = (): Promise<void> => this.#add(values);
    const written = this.#writing.then(write, write);
    this.#writing = written.catch(() => undefined);
    return written;
  }

  async #add(values: readonly Record<string, unknown>[]): Promise<void> {
    const text = values.map((value) => `${JSON.stringify(value)}\n`).join('');
    const file = await open(this.#path, 'a', 0o600);
    try {
      // What was cut off before must not spoil the first of these.
      await file.appendFile(`\n${text}`);
      await file.sync();
      if ((await file.stat()).size < this.#maxBytes) return;
    } finally {
      await file.close();
    }
    const lines = await this.#lines();
    const kept = lines.slice(Math.ceil(lines.length / 2)).join('\n');
    await writeFile(`${this.#path}.new`, `${kept}\n`, { mode: 0o600 });
    await rename(`${this.#path}.new`, this.#path);
  }

  /** All objects on record, oldest first. */
  async all(): Promise<Record<string, unknown>[]> {
    return (await this.#lines()).map(parse);
  }

  async #lines(): Promise<string[]> {
    try {
      return (await readFile(this.#path, 'utf8')).split('\n').filter((line) => line !== '');
    } catch (error) {
      if (hasCode(error, 'EISDIR')) await moveAside(this.#path);
      else if (!hasCode(error, 'ENOENT')) throw error;
      return [];
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
