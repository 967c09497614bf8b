import { refreshed, type Context } from '../context.ts';

/**
 * Asks the remote for news at most once, and only if what is known locally does not suffice: a
 * pushed message is built on the newest tip anyway, so asking first would double the cost.
 */
export class RemoteNews {
  readonly #context: Context;
  #asked: Promise<string | undefined> | undefined;
  /** Why the remote could not be asked. */
  problem: string | undefined;

  constructor(context: Context) {
    this.#context = context;
  }

  /** Called after a push has just found that the remote does not answer. */
  isVain(): void {
    this.#asked ??= Promise.resolve(undefined);
  }

  /** Resolves to false when the remote was already asked. */
  async ask(): Promise<boolean> {
    const first = this.#asked === undefined;
    this.#asked ??= refreshed(this.#context).then((news) =>
      news.ok ? undefined : news.failure.reason,
    );
    this.problem = await this.#asked;
    return first;
  }
}
