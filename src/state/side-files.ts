import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { mkdir, open, readdir, rm, stat, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { CrosstalkError, hasCode } from '../errors.ts';
import { writeDurably } from './files.ts';
import { statePaths } from './state-paths.ts';

/** Milliseconds after which a side file that no entry names was left by a process that died. */
const FORGOTTEN_MS = 86_400_000;

/** Maximum bytes of a file that is cached in memory. */
const MOST_KEPT = 2 << 20;

/** Pattern of a side file's name: the id of an entry, and the digest of the bytes. */
const NAME = /^(.+)\.([0-9a-f]{64})$/;

/**
 * The bytes of files that wait in the outbox, each next to the entry that names it, so that an entry
 * stays a small text. The order, for a crash between any two steps: side files on disk → entry on disk →
 * push → entry removed → side files removed. A side file without an entry is removed a day later.
 */
export class SideFiles {
  readonly folder: string;
  /**
   * The file that was written last: a process that publishes it immediately need not read and verify it
   * again.
   */
  #last: { path: string; bytes: Uint8Array } | undefined;

  /** @param root the state directory */
  constructor(root: string) {
    this.folder = join(statePaths(root).outbox, 'files');
  }

  /** Writes the bytes that an entry is going to name; repeating this changes nothing. */
  async put(entry: string, sha256: string, bytes: Uint8Array): Promise<void> {
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    const path = this.#path(entry, sha256);
    await writeDurably(path, bytes);
    this.#last = bytes.length <= MOST_KEPT ? { path, bytes } : undefined;
  }

  /**
   * Reads the bytes, if they exist and match their digest.
   *
   * @param limit maximum bytes to read
   */
  async get(entry: string, sha256: string, limit: number): Promise<Buffer | undefined> {
    let file: FileHandle | undefined;
    try {
      const path = this.#path(entry, sha256);
      const last = this.#last;
      if (last?.path === path && last.bytes.length <= limit)
        return Buffer.from(last.bytes.buffer, last.bytes.byteOffset, last.bytes.length);
      const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
      file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
      const found = await file.stat();
      if (!found.isFile() || found.size > limit) return undefined;
      const bytes = await file.readFile();
      return sha256Of(bytes) === sha256 ? bytes : undefined;
    } catch (error) {
      if (hasCode(error, 'ENOENT') || hasCode(error, 'ELOOP')) return undefined;
      throw error;
    } finally {
      await file?.close();
    }
  }

  /** Removes all files of an entry. */
  async remove(entry: string): Promise<void> {
    this.#last = undefined;
    for (const name of await this.#names())
      if (name.startsWith(`${entry}.`)) await rm(join(this.folder, name), { force: true });
  }

  /** Removes files left by processes that died before their entry was written. */
  async sweep(entries: ReadonlySet<string>, now: Date): Promise<void> {
    for (const name of await this.#names()) {
      if (entries.has(NAME.exec(name)?.[1] ?? '')) continue;
      const path = join(this.folder, name);
      const found = await stat(path).catch(() => undefined);
      if (found !== undefined && now.getTime() - found.mtimeMs > FORGOTTEN_MS)
        await rm(path, { force: true });
    }
  }

  async #names(): Promise<string[]> {
    return readdir(this.folder).catch(() => []);
  }

  /** @throws CrosstalkError `usage` for an id that is not a name of a file */
  #path(entry: string, sha256: string): string {
    const path = join(this.folder, `${entry}.${sha256}`);
    if (dirname(path) === this.folder && NAME.test(`${entry}.${sha256}`)) return path;
    throw new CrosstalkError('usage', 'this is no id of an outbox entry');
  }
}

/** Computes the SHA-256 of some bytes, in lower-case hex. */
export function sha256Of(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
