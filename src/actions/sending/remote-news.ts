import { refreshed, type Context } from '../context.ts';

/**
 * A fetch from the remote that happens at most once, and only if the local data is insufficient: a pushed
 * message is built on the newest tip anyway, so fetching first would double the cost.
 */
export class RemoteNews {
  readonly #context: Context;
  #asked: Promise<string | undefined> | undefined;
  /** The reason why the remote could not be reached. */
  problem: string | undefined;

  constructor(context: Context) {
    this.#context = context;
  }

  /** Prevents a fetch, after a push has just found that the remote does not answer. */
  isVain(): void {
    this.#asked ??= Promise.resolve(undefined);
  }

  /** Fetches; resolves to false when that was already done. */
  async ask(): Promise<boolean> {
    const first = this.#asked === undefined;
    this.#asked ??= refreshed(this.#context).then((news) =>
      news.ok ? undefined : news.failure.reason,
    );
    this.problem = await this.#asked;
    return first;
  }
}
