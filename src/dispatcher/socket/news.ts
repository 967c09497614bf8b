import { CrosstalkError } from '../../errors.ts';

/** Milliseconds between polls while somebody waits, who would else poll the remote as often. */
const AWAITED_MS = 5000;

interface Waiting {
  seen: string;
  tell: (tip: string) => void;
  letGo: () => void;
}

/** Those who wait for the bus to move on: each is told once its tip is another than they have seen. */
export class News {
  readonly #tip: () => Promise<string | undefined>;
  readonly #closed: AbortSignal;
  readonly #waiting = new Set<Waiting>();

  /**
   * @param tip the bus's tip as known here
   * @param stop lets everybody go, and nobody wait any more
   * @param once nobody may wait: after its one pass a dispatcher brings no news
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

  /** How many wait. */
  get awaited(): number {
    return this.#waiting.size;
  }

  /** How long a poll may wait, in milliseconds. */
  get longestPoll(): number {
    return this.#waiting.size > 0 ? AWAITED_MS : Infinity;
  }

  /**
   * Resolves with the bus's tip as soon as it is another than `seen`; at once if it is already.
   *
   * @param gone aborted when the one who asked is there no more
   * @throws CrosstalkError `aborted` when that happens, or everybody is let go
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

  /** Tells whoever has not seen the present tip; to be called when it may have moved. */
  async look(): Promise<void> {
    if (this.#waiting.size === 0) return;
    const tip = await this.#tip().catch(() => undefined);
    if (tip === undefined) return;
    for (const { seen, tell } of [...this.#waiting]) if (seen !== tip) tell(tip);
  }

  /** Nobody is to wait any more for what will not come: they look for news themselves. */
  letGo(): void {
    for (const { letGo } of [...this.#waiting]) letGo();
  }
}
