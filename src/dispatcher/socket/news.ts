import { CrosstalkError } from '../../errors.ts';

/**
 * Milliseconds between polls while a command waits, which would otherwise poll the remote as often.
 */
const AWAITED_MS = 5000;

interface Waiting {
  seen: string;
  tell: (tip: string) => void;
  letGo: () => void;
}

/**
 * The requests that wait for the bus to change: each is answered once the tip differs from the one
 * it has seen.
 */
export class News {
  readonly #tip: () => Promise<string | undefined>;
  readonly #closed: AbortSignal;
  readonly #waiting = new Set<Waiting>();

  /**
   * @param tip the bus's tip as known locally
   * @param stop ends all waits and allows no new ones
   * @param once allows no waits: after its one pass a dispatcher brings no news
   */
  constructor(
    tip: () => Promise<string | undefined>,
    { stop, once }: { stop: AbortSignal; once: boolean },
  ) {
    this.#tip = tip;
    this.#closed = once ? AbortSignal.abort() : stop;
    stop.addEventListener('abort', () => {
      this.letGo();
    });
  }

  /** The number of waiting requests. */
  get awaited(): number {
    return this.#waiting.size;
  }

  /** Milliseconds that a poll may wait. */
  get longestPoll(): number {
    return this.#waiting.size > 0 ? AWAITED_MS : Infinity;
  }

  /**
   * Resolves with the bus's tip as soon as it differs from `seen`, which may be immediately.
   *
   * @param gone aborted when the sender of the request is no longer there
   * @throws CrosstalkError `aborted` when that happens, and when all waits are ended
   */
  after(seen: string, gone: AbortSignal): Promise<string> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#waiting.delete(waiting);
        gone.removeEventListener('abort', letGo);
      };
      const letGo = (): void => {
        leave();
        reject(new CrosstalkError('aborted', 'no longer waiting for news'));
      };
      const tell = (tip: string): void => {
        leave();
        resolve(tip);
      };
      const waiting: Waiting = { seen, tell, letGo };
      this.#waiting.add(waiting);
      gone.addEventListener('abort', letGo);
      if (gone.aborted || this.#closed.aborted) letGo();
      else void this.look();
    });
  }

  /**
   * Answers every request that has not seen the current tip; to be called when the tip may have
   * changed.
   */
  async look(): Promise<void> {
    if (this.#waiting.size === 0) return;
    const tip = await this.#tip().catch(() => undefined);
    if (tip === undefined) return;
    for (const { seen, tell } of [...this.#waiting]) if (seen !== tip) tell(tip);
  }

  /** Ends all waits, as no more news will come: the senders look for news themselves. */
  letGo(): void {
    for (const { letGo } of [...this.#waiting]) letGo();
  }
}
