import { Lines } from '../store/lines.ts';

/** How many messages are remembered at a time. */
const MAX_PATHS = 200_000;

/**
 * Messages that were on the bus and no longer are, by path: a message that comes back may be
 * answered already, and its answer may come before it in the history. This is kept on disk, because
 * a message may come back days later, when the machine that wrote it starts again.
 */
export class Departed {
  readonly #lines: Lines<{ path: string }>;
  readonly #paths = new Set<string>();
  #loaded = false;

  /** @param root the state directory */
  constructor(root: string) {
    this.#lines = new Lines(root, 'departed', MAX_PATHS);
  }

  /** Reads what is on disk, once; {@link has} knows it from then on. */
  async load(): Promise<void> {
    if (this.#loaded) return;
    for (const { path } of await this.#lines.all()) this.#add(path);
    this.#loaded = true;
  }

  /** Whether any are known. */
  get any(): boolean {
    return this.#paths.size > 0;
  }

  has(path: string): boolean {
    return this.#paths.has(path);
  }

  /**
   * Takes note of messages that are gone.
   *
   * @param options `lasting`: whether the note must be on disk when this returns: not for what was archived,
   *   which comes back marked
   */
  async note(paths: readonly string[], { lasting }: { lasting: boolean }): Promise<void> {
    const fresh = paths.filter((path) => !this.#paths.has(path));
    if (lasting) await this.#lines.add(fresh.map((path) => ({ path })));
    for (const path of fresh) this.#add(path);
  }

  #add(path: string): void {
    if (this.#paths.size >= MAX_PATHS) {
      const [oldest = ''] = this.#paths;
      this.#paths.delete(oldest);
    }
    this.#paths.add(path);
  }
}
