import { wait } from '../../wait.ts';

/**
 * Where an interrupted question is: nowhere, and it never will be; with a dispatcher, which may send it;
 * or safe on disk, or on the bus.
 */
export type Reached = 'nowhere' | 'handed' | 'recorded';

/** Milliseconds after which a write that hangs is not waited for any more. */
const PATIENCE_MS = 2000;

type Stage = 'nowhere' | 'handing' | 'handed' | 'recording' | 'recorded';

/**
 * How far a question has got on its way, so that what is said of it once its asker is interrupted is true:
 *
 *     nowhere → handing → handed → recorded                    a dispatcher was asked, and has sent it
 *     nowhere → handing → nowhere → recording → recorded       there is none, so this process sends it
 *
 * Once the signal is aborted, nothing leaves `nowhere`. What is between two certain stages then, a request
 * that is being written to a socket or an entry that is being written to the disk, is awaited.
 */
export class Way {
  readonly #signal: AbortSignal;
  #at: Stage = 'nowhere';
  #failure: { error: unknown } | undefined;
  #onMove: () => void = () => undefined;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /** A dispatcher is asked, if there is one. */
  handing(): void {
    this.#move('handing');
  }

  /** A dispatcher was asked. */
  handed(): void {
    if (this.#at === 'handing') this.#move('handed');
  }

  /** It is left to this process; a dispatcher that was asked, and has not answered, may send it all the same. */
  alone(): void {
    if (this.#at === 'handing') this.#move('nowhere');
  }

  /**
   * It is about to be written to disk.
   *
   * @throws the reason of the signal when that is aborted: nothing may be written any more
   */
  recording(): void {
    this.#signal.throwIfAborted();
    if (this.#at === 'nowhere') this.#move('recording');
  }

  /** It is safe on disk, or on the bus. */
  recorded(): void {
    this.#move('recorded');
  }

  /** The sending has come to nothing. */
  failed(error: unknown): void {
    if (!this.#isBetween) return;
    this.#failure = { error };
    this.#onMove();
  }

  /**
   * Where the question is, once its asker is interrupted.
   *
   * @throws what the sending failed of meanwhile, if it did
   */
  async reached(): Promise<Reached> {
    if (this.#isBetween && this.#failure === undefined) {
      const moved = new Promise<void>((resolve) => (this.#onMove = resolve));
      await Promise.race([moved, wait(PATIENCE_MS)]);
    }
    if (this.#failure !== undefined) throw this.#failure.error;
    return this.#at === 'nowhere' || this.#at === 'recorded' ? this.#at : 'handed';
  }

  get #isBetween(): boolean {
    return this.#at === 'handing' || this.#at === 'recording';
  }

  #move(to: Stage): void {
    this.#at = to;
    this.#onMove();
  }
}
