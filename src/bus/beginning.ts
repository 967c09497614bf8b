import type { Transport } from '../transport/transport.ts';

/** So many of the files something began with are looked for in the history. */
const MAX_FILES = 8;

/**
 * Where something began, a thread above all, for whoever looks at what was said since. Its day alone does
 * not tell, since a clock may be days behind: what such a machine writes has an older name than what it
 * answers. So what was added to git since counts as well.
 */
export class Beginning {
  /** The oldest message by name; everything of the day before it, and later, is looked at. */
  readonly relPath: string;
  readonly #transport: Transport;
  readonly #tip: string;
  readonly #files: readonly string[];
  #base: Promise<string | undefined> | undefined;

  /**
   * @param tip the commit it is looked at from
   * @param files paths of the first messages
   */
  constructor(transport: Transport, tip: string, relPath: string, files: readonly string[]) {
    this.relPath = relPath;
    this.#transport = transport;
    this.#tip = tip;
    this.#files = [...new Set(files)].slice(0, MAX_FILES);
  }

  /** A commit from before it; undefined where the history begins with it. */
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
