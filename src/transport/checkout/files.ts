import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { atPath } from '../../at-path.ts';
import type { FileChange } from '../objects/walk.ts';

/** Files looked for at once, before whatever else waits in this process. */
const AT_A_TIME = 200;

/**
 * The first file of the operator's that is where something is to be written: at the path itself, in
 * the place of a folder on the way to it, or in a folder that becomes a file. Git in a sparse
 * checkout says that it would not overwrite such a file, and overwrites it (seen with git 2.39);
 * the folder of a submodule that becomes a file it removes with all that is in it.
 *
 * @param dir the checkout, which holds what it should of what is on the bus
 * @param changes what is to be done to it
 */
export async function inTheWay(
  dir: string,
  changes: readonly FileChange[],
): Promise<string | undefined> {
  const gone = new Set(pathsOf(changes, 'D'));
  const look = new Look(dir, gone);
  const added = await firstOf(pathsOf(changes, 'A'), (path) => look.at(path));
  return added ?? firstOf(pathsOf(changes, 'T'), (path) => look.below(path));
}

/**
 * The first name that is to be written and is not UTF-8: by a path that has lost some of its bytes,
 * one can neither tell what is there nor make it plain. Some file systems take no such name.
 */
export function notUtf8(changes: readonly FileChange[]): string | undefined {
  return changes.find(({ path, status }) => status !== 'D' && path.includes('\ufffd'))?.path;
}

/** The first that is found at any of some paths, of which a few are looked at together. */
async function firstOf(
  paths: readonly string[],
  look: (path: string) => Promise<string | undefined>,
): Promise<string | undefined> {
  for (let at = 0; at < paths.length; at += AT_A_TIME) {
    const some = paths.slice(at, at + AT_A_TIME);
    const found = (await Promise.all(some.map(look))).find((path) => path !== undefined);
    if (found !== undefined) return found;
    await setImmediate();
  }
  return undefined;
}

class Look {
  readonly #dir: string;
  readonly #gone: ReadonlySet<string>;
  readonly #folders = new Map<string, Promise<string | undefined>>();

  constructor(dir: string, gone: ReadonlySet<string>) {
    this.#dir = dir;
    this.#gone = gone;
  }

  async at(path: string): Promise<string | undefined> {
    const above = await this.#folder(parentOf(path));
    if (above !== undefined) return above;
    const kind = kindOf(join(this.#dir, path));
    if (kind === 'folder') return this.#inside(path);
    return kind === 'none' || this.#gone.has(path) ? undefined : path;
  }

  /** What is in a folder that is to be another kind of thing: only a submodule was one. */
  async below(path: string): Promise<string | undefined> {
    return kindOf(join(this.#dir, path)) === 'folder' ? this.#inside(path) : undefined;
  }

  /** What is on the way to a path and is not a folder, unless it is going to be removed. */
  #folder(path: string): Promise<string | undefined> {
    if (path === '') return Promise.resolve(undefined);
    const known = this.#folders.get(path);
    if (known !== undefined) return known;
    const found = (async () => {
      const above = await this.#folder(parentOf(path));
      if (above !== undefined) return above;
      const kind = kindOf(join(this.#dir, path));
      return kind === 'other' && !this.#gone.has(path) ? path : undefined;
    })();
    this.#folders.set(path, found);
    return found;
  }

  /** The first file below a folder that is not going to be removed. */
  async #inside(folder: string): Promise<string | undefined> {
    for (const entry of await readdir(join(this.#dir, folder), { withFileTypes: true })) {
      const path = `${folder}/${entry.name}`;
      const found = entry.isDirectory() ? await this.#inside(path) : path;
      if (found !== undefined && !this.#gone.has(found)) return found;
    }
    return undefined;
  }
}

function pathsOf(changes: readonly FileChange[], wanted: FileChange['status']): string[] {
  return changes.filter(({ status }) => status === wanted).map(({ path }) => path);
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')));
}

function kindOf(path: string): 'folder' | 'other' | 'none' {
  const found = atPath(path, { follow: false });
  if (found === undefined) return 'none';
  return found.isDirectory() ? 'folder' : 'other';
}
