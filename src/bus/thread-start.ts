import type { Transport } from '../transport/transport.ts';

/** Maximum number of first files that are looked up in the history. */
const MAX_FILES = 8;

/**
 * The start of something, usually a thread, for code that reads what was written since. Its day alone is
 * not enough, since a clock may be days behind: a message of such a machine has an older name than the
 * one that it answers. So files added to git since count as well.
 */
export class ThreadStart {
  /** The oldest message by name; everything of the day before it, and later, is read. */
  readonly relPath: string;
  readonly #transport: Transport;
  readonly #tip: string;
  readonly #files: readonly string[];
  #base: Promise<string | undefined> | undefined;

  /**
   * @param tip the commit to read from
   * @param files paths of the first messages
   */
  constructor(transport: Transport, tip: string, relPath: string, files: readonly string[]) {
    this.relPath = relPath;
    this.#transport = transport;
    this.#tip = tip;
    this.#files = [...new Set(files)].slice(0, MAX_FILES);
  }

  /** Returns a commit from before it; undefined when the history starts with it. */
  base(): Promise<string | undefined> {
    this.#base ??= this.#transport.before(this.#tip, (commit) =>
      this.#transport.hasAny(commit, this.#files),
    );
    return this.#base;
  }

  /** Whether it came after a commit; `undefined` is from before everything. */
  async isAfter(commit: string | undefined): Promise<boolean> {
    return commit === undefined || !(await this.#transport.hasAny(commit, this.#files));
  }
}
