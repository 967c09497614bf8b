import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode } from '../../errors.ts';
import { makeFolder } from '../../folder.ts';
import { readPlainFile } from '../../plain-file.ts';
import { isName } from '../../protocol/names.ts';
import { writeDurably } from '../files.ts';

const FOLDER = 'secrets';
/** Bytes of a secret: a key of any kind has room. */
export const MOST_SECRET = 64 * 1024;
/** What a process that was killed while it wrote has left. */
const UNFINISHED = /\.\d+\.\d+\.tmp$/;

/**
 * What an operator tells this machine alone: a file of mode 0600 for each, in the state directory. They
 * are on no bus, in no log and on no command line.
 */
export class Secrets {
  readonly #folder: string;

  /** @param root the state directory */
  constructor(root: string) {
    this.#folder = join(root, FOLDER);
  }

  /**
   * @param name any text; what is no name is no secret
   * @returns undefined also for what cannot be read, as a folder or a pipe in its place, and for an empty
   *   file, as a full disk or a copy may leave: whoever is let in by a secret of no characters is anybody
   */
  async get(name: string): Promise<string | undefined> {
    if (!isName(name)) return undefined;
    const file = await readPlainFile(this.#path(name), MOST_SECRET);
    return file.kind === 'text' && file.text !== '' ? file.text : undefined;
  }

  /** The names among these of which there is no value here. */
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

  /** The names alone, in order. */
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
