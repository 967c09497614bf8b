import { constants } from 'node:fs';
import {
  lstat,
  open,
  opendir,
  readdir,
  rename,
  writeFile,
  type FileHandle,
} from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode, reasonOf } from '../errors.ts';
import { isSha256 } from '../protocol/attached.ts';
import { bury } from './removal.ts';
import { SEALED } from './run-directory.ts';

/** Maximum bytes of one drop: a message of 1 MiB in which every byte takes six in JSON. */
const MAX_DROP_BYTES = 8 * 1024 * 1024;
/** Maximum entries of a drop folder that are examined, and maximum drops of one run. */
const MAX_ENTRIES = 4000;
const MAX_DROPS = 1000;
/** Maximum bytes that one call of {@link DropFolder.take} reads; the next call reads the rest. */
const MAX_LOOK_BYTES = 32 * 1024 * 1024;
const ON_LINUX = process.platform === 'linux';
const DROP = /^([0-9A-HJKMNP-TV-Z]{26})\.json$/;

/** Returns the name in a drop folder of a file that a request names. */
export function droppedName(id: string, sha256: string): string {
  return `${id}.${sha256}`;
}

/** A request that a run has dropped: `id` is its name, a ULID. */
export interface Drop {
  id: string;
  request: unknown;
}

/**
 * The drop folder of a run, read as hostile: the run may write to it and to the directory it is in. The
 * folder is opened before the run starts and accessed through that handle, so that anything put in its
 * place later is ignored; files are opened without following symlinks, and their size is limited.
 */
export class DropFolder {
  readonly #handle: FileHandle;
  readonly #dir: string;
  /** Path of the folder by its handle, where the system has one. */
  #path: string;
  readonly #taken = new Set<string>();
  #left = 0;
  /** Operations that use the handle at this moment. */
  readonly #underway = new Set<Promise<unknown>>();
  #isClosed = false;
  /** Files that could not be read, with their size and time then: they may still be written to. */
  readonly #unread = new Map<string, string>();

  private constructor(dir: string, handle: FileHandle, path: string) {
    this.#dir = dir;
    this.#handle = handle;
    this.#path = ON_LINUX ? `/proc/self/fd/${String(handle.fd)}` : path;
  }

  /** Opens the drop folder of a run's directory, also a sealed one; undefined without one. */
  static async open(dir: string): Promise<DropFolder | undefined> {
    const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
    try {
      if (!(await lstat(dir)).isDirectory()) return undefined;
      const sealed = `${dir}${SEALED}`;
      const [name] = await readdir(sealed).catch(() => []);
      const path = name === undefined ? join(dir, 'drop') : join(sealed, name);
      return new DropFolder(dir, await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW), path);
    } catch {
      return undefined;
    }
  }

  /**
   * Moves the drop folder out of reach: complete drops can still be taken, and a later drop finds no
   * folder, so that nothing is lost without an error.
   */
  async seal(): Promise<void> {
    const path = await bury(join(this.#dir, 'drop'), `${this.#dir}${SEALED}`).catch(
      () => undefined,
    );
    if (path !== undefined && !ON_LINUX) this.#path = path;
  }

  /** Takes the complete drops that were not taken before, oldest first, up to the limit of one call. */
  take(): Promise<Drop[]> {
    return this.#byHandle(() => this.#take());
  }
  async #take(): Promise<Drop[]> {
    const drops: Drop[] = [];
    this.#left = MAX_LOOK_BYTES;
    for (const id of await this.#ids()) {
      if (this.#taken.has(id) || this.#taken.size >= MAX_DROPS) continue;
      if (this.#left <= 0) break;
      const request = await this.#read(id);
      if (request === undefined) continue;
      this.#taken.add(id);
      drops.push({ id, request });
    }
    return drops;
  }

  /**
   * Reads the bytes of a file that a request names; the caller verifies them.
   *
   * @param id of the request, a ULID
   * @param limit maximum bytes
   */
  async bytes(id: string, sha256: string, limit: number): Promise<Buffer | undefined> {
    if (!DROP.test(`${id}.json`) || !isSha256(sha256)) return undefined;
    const path = join(this.#path, droppedName(id, sha256));
    return this.#byHandle(() => readOwn(path, limit)).catch(() => undefined);
  }

  /**
   * Writes a whole file for the run to take, before the run is notified.
   *
   * @param id of the request that asked for it, a ULID
   */
  async put(id: string, sha256: string, bytes: Buffer): Promise<void> {
    if (!DROP.test(`${id}.json`) || !isSha256(sha256)) throw new Error('no name of a dropped file');
    const path = join(this.#path, droppedName(id, sha256));
    await this.#byHandle(() => writeFile(path, bytes, { mode: 0o600, flag: 'wx' }));
  }

  /** Files left in the folder that cannot be taken, with the reasons. */
  get refused(): { name: string; reason: string }[] {
    return [...this.#unread].map(([id, seen]) => ({
      name: `${id}.json`,
      reason: seen.slice(seen.indexOf(' ') + 1),
    }));
  }

  /** Writes an answer next to a drop; the answer is complete when it appears. */
  async answer(id: string, answer: unknown): Promise<void> {
    const temporary = join(this.#path, `.${id}.answer`);
    await this.#byHandle(async () => {
      await writeFile(temporary, JSON.stringify(answer), { mode: 0o600, flag: 'wx' });
      await rename(temporary, join(this.#path, `${id}.answer.json`));
    });
  }

  /** Closes the folder once no operation uses its handle; later operations are refused. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled(this.#underway);
    await this.#handle.close();
  }

  /**
   * Runs an operation that uses the handle, and keeps the handle open until then: the number of a closed
   * handle may be that of another folder a moment later.
   */
  async #byHandle<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isClosed) throw new Error('the drop folder is closed');
    const done = work();
    this.#underway.add(done);
    try {
      return await done;
    } finally {
      this.#underway.delete(done);
    }
  }

  async #ids(): Promise<string[]> {
    const ids: string[] = [];
    let entries = 0;
    for await (const { name } of await opendir(this.#path)) {
      const id = DROP.exec(name)?.[1];
      if (id !== undefined) ids.push(id);
      if (++entries >= MAX_ENTRIES) break;
    }
    return ids.sort();
  }

  async #read(id: string): Promise<object | undefined> {
    let seen = '';
    try {
      const path = join(this.#path, `${id}.json`);
      const found = await lstat(path);
      seen = `${String(found.size)}-${String(found.mtimeMs)}`;
      if (this.#unread.get(id)?.startsWith(`${seen} `) === true) return undefined;
      const bytes = await readOwn(path, MAX_DROP_BYTES);
      this.#left -= bytes.length;
      const value: unknown = JSON.parse(bytes.toString('utf8'));
      if (typeof value !== 'object' || value === null) throw new Error('no request');
      this.#unread.delete(id);
      return value;
    } catch (error) {
      if (!hasCode(error, 'ENOENT'))
        this.#unread.set(id, `${seen} ${reasonOf(error).slice(0, 200)}`);
      return undefined;
    }
  }
}

/**
 * Reads a file that a run has written, in its present state: no symlink, no link to a file elsewhere, and
 * up to a size limit.
 */
async function readOwn(path: string, limit: number): Promise<Buffer> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const stats = await file.stat();
    if (!stats.isFile() || stats.nlink !== 1) throw new Error('not a file of its own');
    if (stats.size > limit) throw new Error(`${String(stats.size)} bytes`);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(stats.size), 0, stats.size, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}
