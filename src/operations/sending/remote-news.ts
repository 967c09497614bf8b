import { refreshed, type Context } from '../context.ts';

/**
 * The remote is asked for news at most once, and only when what is known here does not do: a
 * message is built on the newest tip anyway when it is pushed, so that asking first would double
 * what it costs.
 */
export class RemoteNews {
  readonly #context: Context;
  #asked: Promise<string | undefined> | undefined;
  /** Why the remote could not be asked. */
  problem: string | undefined;

  constructor(context: Context) {
    this.#context = context;
  }

  /** A push has just found that the remote does not answer. */
  isVain(): void {
    this.#asked ??= Promise.resolve(undefined);
  }

  /** Resolves to false when it was asked before. */
  async ask(): Promise<boolean> {
    const first = this.#asked === undefined;
    this.#asked ??= refreshed(this.#context).then((news) =>
      news.ok ? undefined : news.failure.reason,
    );
    this.problem = await this.#asked;
    return first;
  }
}
