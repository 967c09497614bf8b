import { reasonOf } from '../errors.ts';
import { HeldAnswers } from './held-answers.ts';
import { Notices, type NoticesParts } from './notices.ts';

/** Tells those who wait for an answer that there will be none, or that a person has to let it go. */
export class Tidings {
  readonly #parts: NoticesParts;
  readonly #notices: Notices;
  readonly #heldAnswers: HeldAnswers;

  constructor(parts: NoticesParts) {
    this.#parts = parts;
    this.#notices = new Notices(parts);
    this.#heldAnswers = new HeldAnswers(parts);
  }

  /**
   * Puts what is due into the outbox. What fails is logged, and tried again with the next call.
   *
   * @param tip the commit scanned last
   * @returns what is on its way to the bus
   */
  async write(host: string, tip: string): Promise<Promise<void>[]> {
    const pushes: Promise<void>[] = [];
    for (const told of [this.#notices, this.#heldAnswers])
      try {
        pushes.push(...(await told.write(host, tip)));
      } catch (error) {
        this.#parts.log('internal_error', { error: reasonOf(error) });
      }
    return pushes;
  }
}
