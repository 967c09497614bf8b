import { closeSync, fsync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { access, readFile, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { passed } from '../crash-points.ts';
import { CrosstalkError, hasCode, reasonOf } from '../errors.ts';
import { makeFolder } from '../folder.ts';
import { Seal } from './place/seal.ts';

/**
 * Writes a file so that after a crash at any point it holds either the old content or the new:
 * temporary file, fsync, rename, fsync of the folder (invariant 3).
 */
export async function writeDurably(path: string, content: string | Uint8Array): Promise<void> {
  await replace(path, content, { sync: true });
  const folder = openSync(dirname(path), 'r');
  await synced(folder).catch(() => undefined);
  closeSync(folder);
}

/** The steps between are done at once, which takes less time than to wait for each. */
const synced = promisify(fsync);

/** Writes a file that is whole at any moment, and need not outlive a crash of the machine. */
export function writeWhole(path: string, content: string): Promise<void> {
  return replace(path, content, { sync: false });
}

async function replace(
  path: string,
  content: string | Uint8Array,
  { sync }: { sync: boolean },
): Promise<void> {
  const temporary = `${path}.${String(process.pid)}.${String(serial++)}.tmp`;
  try {
    const file = openSync(temporary, 'wx', 0o600);
    try {
      writeFileSync(file, content);
      if (sync) await synced(file);
    } finally {
      closeSync(file);
    }
    passed('file_written');
    renameSync(temporary, path);
    passed('file_renamed');
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

let serial = 0;

/**
 * A state file's JSON; undefined when there is no such file. What is not JSON, such as a folder, is moved aside
 * to `<name>.broken`, and its value is undefined.
 *
 * @param open takes the seal away; undefined for what is not sealed, which then counts as broken
 * @throws CrosstalkError `invalid` when it cannot be moved, because something was moved there before
 */
export async function readJson(
  path: string,
  open: (text: string) => string | undefined = (text) => text,
): Promise<{ value: unknown } | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    if (!hasCode(error, 'EISDIR')) throw error;
    text = '';
  }
  try {
    return { value: JSON.parse(open(text) ?? '') };
  } catch (error) {
    // Without the key nothing can be told of it.
    if (error instanceof CrosstalkError) throw error;
    await moveAside(path);
    return { value: undefined };
  }
}

/** Moves what is no file of the state to `<name>.broken`. */
export async function moveAside(path: string): Promise<void> {
  await rename(path, `${path}.broken`).catch((error: unknown) => {
    // Another process may have moved it.
    if (hasCode(error, 'ENOENT')) return;
    throw new CrosstalkError(
      'invalid',
      `${path} is no file of the state, and cannot be moved to ${path}.broken: ${reasonOf(error)}; move it away`,
      { cause: error },
    );
  });
}

/** As {@link readJson}, of a file that {@link writeSealed} has written under this name. */
export function readSealed(
  path: string,
  seal = Seal.of(path),
  id = '',
): Promise<{ value: unknown } | undefined> {
  return readJson(path, (text) => seal.open(id, text));
}

/** Writes an object that counts because this machine wrote it, as {@link writeDurably} does. */
export function writeSealed(
  path: string,
  value: object,
  seal = Seal.of(path),
  id = '',
): Promise<void> {
  return writeDurably(path, seal.close(id, value));
}

/** Files that are open at a time: a process has a limited number, git needs some, and four threads read. */
const OPEN_FILES = 8;
/** The name of an item; whatever else is in its folder is nobody's item. */
const ITEM = /^([A-Za-z0-9-]{1,64})\.json$/;

/**
 * A folder of JSON files, one item each, named by id and sealed. What is no item is kept as `<id>.json.broken`.
 */
export class JsonFolder<T extends { id: string }> {
  readonly #folder: string;
  readonly #parse: (value: unknown) => T | undefined;
  readonly #seal: Seal;

  /** @param seal the same for folders among which items move */
  constructor(folder: string, parse: (value: unknown) => T | undefined, seal = Seal.of(folder)) {
    this.#folder = folder;
    this.#parse = parse;
    this.#seal = seal;
  }

  async put(item: T): Promise<void> {
    await makeFolder(this.#folder, 0o700);
    await writeDurably(this.#path(item.id), this.#seal.close(item.id, item));
  }

  async get(id: string): Promise<T | undefined> {
    if (!ITEM.test(`${id}.json`)) return undefined;
    const open = (text: string): string | undefined => this.#seal.open(id, text);
    const read = await readJson(this.#path(id), open);
    if (read === undefined) return undefined;
    const item = this.#parse(read.value);
    if (item === undefined) {
      // The file is gone already when it was not JSON at all.
      await rename(this.#path(id), `${this.#path(id)}.broken`).catch(() => undefined);
    }
    return item;
  }

  /** The ids of all items, readable or not, in order; ids are ULIDs, so this is the order of age. */
  async ids(): Promise<string[]> {
    return (await this.#names()).flatMap((name) => ITEM.exec(name)?.[1] ?? []).sort();
  }

  /** Whether there is an item of this id; it is not read. */
  async has(id: string): Promise<boolean> {
    return access(this.#path(id)).then(
      () => true,
      () => false,
    );
  }

  /** All items in the order of their ids. */
  async all(): Promise<T[]> {
    const ids = await this.ids();
    const items: T[] = [];
    for (let at = 0; at < ids.length; at += OPEN_FILES) {
      const some = await Promise.all(ids.slice(at, at + OPEN_FILES).map((id) => this.get(id)));
      for (const item of some) if (item !== undefined) items.push(item);
    }
    return items;
  }

  /** Whether there is no item, not even one that could not be read; no item is read for this. */
  async isEmpty(): Promise<boolean> {
    return !(await this.#names()).some((name) => ITEM.test(name));
  }

  /** Hands an item over to another folder, in one step; false when it is not here. */
  async move<U extends { id: string }>(id: string, to: JsonFolder<U>): Promise<boolean> {
    await makeFolder(to.#folder, 0o700);
    try {
      await rename(this.#path(id), to.#path(id));
      return true;
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return false;
      throw error;
    }
  }

  async remove(id: string): Promise<void> {
    await rm(this.#path(id), { force: true });
  }

  #path(id: string): string {
    return join(this.#folder, `${id}.json`);
  }

  async #names(): Promise<string[]> {
    try {
      return await readdir(this.#folder);
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return [];
      if (!hasCode(error, 'ENOTDIR')) throw error;
      throw new CrosstalkError(
        'invalid',
        `${this.#folder} is no folder: ${reasonOf(error)}; move it away`,
        { cause: error },
      );
    }
  }
}

/** Narrows a value read from a state file. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const TIME = /^\d{4}-\d{2}-\d{2}T/;

/** Whether a value read from a state file is a time as we write it: ISO 8601, UTC. */
export function isTime(value: unknown): value is string {
  return typeof value === 'string' && TIME.test(value) && !Number.isNaN(Date.parse(value));
}
