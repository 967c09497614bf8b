import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode } from '../../errors.ts';
import { makeFolder } from '../../folder.ts';
import { readPlainFile } from '../../plain-file.ts';
import { isName } from '../../protocol/layout.ts';
import { writeDurably } from '../files.ts';

const FOLDER = 'secrets';
/** Maximum bytes of a secret, enough for a key of any kind. */
export const MOST_SECRET = 64 * 1024;
/** Pattern of the unfinished file of a process that was killed while writing. */
const UNFINISHED = /\.\d+\.\d+\.tmp$/;

/**
 * Secrets that an operator gives to this machine alone: a file of mode 0600 for each, in the state
 * directory. They are on no bus, in no log and on no command line.
 */
export class Secrets {
  readonly #folder: string;

  /** @param root the state directory */
  constructor(root: string) {
    this.#folder = join(root, FOLDER);
  }

  /**
   * @param name any text; a text that is not a name has no secret
   * @returns undefined also for a file that cannot be read, such as a folder or a pipe in its place, and
   *   for an empty file, as a full disk or a copy may leave: a secret of no characters would admit
   *   anybody
   */
  async get(name: string): Promise<string | undefined> {
    if (!isName(name)) return undefined;
    const file = await readPlainFile(this.#path(name), MOST_SECRET);
    return file.kind === 'text' && file.text !== '' ? file.text : undefined;
  }

  /** Returns those of some names that have no value here. */
  async missing(names: readonly string[]): Promise<string[]> {
    const missing: string[] = [];
    for (const name of names) if ((await this.get(name)) === undefined) missing.push(name);
    return missing;
  }

  async set(name: string, value: string): Promise<void> {
    await makeFolder(this.#folder, 0o700);
    await writeDurably(this.#path(name), value);
  }

  /** @returns whether there was one */
  async remove(name: string): Promise<boolean> {
    const was = (await this.names()).includes(name);
    await rm(this.#path(name), { force: true });
    return was;
  }

  /** Lists the names, in order. */
  async names(): Promise<string[]> {
    const all = await readdir(this.#folder).catch((error: unknown) => {
      if (hasCode(error, 'ENOENT')) return [];
      throw error;
    });
    return all.filter((name) => isName(name) && !UNFINISHED.test(name)).sort();
  }

  #path(name: string): string {
    if (!isName(name)) throw new Error('no name of a secret');
    return join(this.#folder, name);
  }
}
