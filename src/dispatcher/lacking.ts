import { messageFile, placeOf } from '../protocol/layout.ts';
import type { Delivery, Mailboxes } from '../protocol/mailbox.ts';
import type { Departed } from '../state/departed.ts';
import type { Lacking as Run, Silences } from '../state/silences.ts';
import type { Transport } from '../transport/transport.ts';
import type { Archive } from './archive.ts';
import { keyOf } from './known.ts';
import { scanAgain, type Audience } from './scan.ts';
import { openAgain } from './still-open.ts';

interface Parts {
  transport: Transport;
  archive: Archive;
  silences: Silences;
  departed: Departed;
}

/**
 * Answers of peers that an actor dealt with while something else of the thread was not on the bus, as a
 * branch was set back or somebody removed it: the question behind them, so that there was nobody to
 * answer, or another answer, so that it went on waiting. Whoever asked gets no answer by that; so they are
 * delivered again when that is back, with the question still open.
 */
export class Lacking {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Before the outcome of a run is put on record: what it lacked may come back after a crash. */
  async note({ actor, channel, incomplete, lacking }: Run, isAgain: boolean): Promise<void> {
    const { silences } = this.#parts;
    if (lacking.length > 0) await silences.lacked({ actor, channel, incomplete, lacking });
    else if (isAgain) await silences.done(actor, channel, incomplete);
  }

  /**
   * Marks of what is back and unanswered what is to be delivered again, and adds to what is waiting what
   * was dealt with without it.
   *
   * @param back deliveries that are on the bus again, and open
   */
  async addBack(
    waiting: Delivery[],
    audience: Audience,
    tip: string,
    back: readonly Delivery[],
  ): Promise<void> {
    await this.#addWithout(waiting, audience, tip, back);
    await this.#mark(back, () => true);
  }

  /** The same of all that is open, of which some was gone once. */
  async addOpen(waiting: Delivery[], audience: Audience, tip: string): Promise<void> {
    const { departed } = this.#parts;
    const open = [...waiting];
    await this.#addWithout(waiting, audience, tip, open);
    const gone = open.filter(({ channel, relPath }) => departed.has(messageFile(channel, relPath)));
    await this.#mark(gone, (isAgain) => !isAgain);
  }

  /** Marks answers that were met with silence. @param isMeant by whether it was dealt with again */
  async #mark(back: readonly Delivery[], isMeant: (isAgain: boolean) => boolean): Promise<void> {
    const answers = back.filter(({ message }) => message.re.length > 0);
    if (answers.length === 0) return;
    const met = new Map<string, boolean>();
    await this.#parts.silences.each((actor, channel, relPath, isAgain) => {
      const key = keyOf({ actor, channel, relPath });
      if (!isAgain || met.has(key)) met.set(key, isAgain || met.get(key) === true);
    });
    for (const one of answers) {
      const isAgain = met.get(keyOf(one));
      if (isAgain !== undefined && isMeant(isAgain)) one.again ??= 'without_others';
    }
  }

  async #addWithout(
    waiting: Delivery[],
    audience: Audience,
    tip: string,
    open: readonly Delivery[],
  ): Promise<Delivery[]> {
    if (open.length === 0) return [];
    const back = new Set(open.map(({ channel, relPath }) => messageFile(channel, relPath)));
    const due: Delivery[] = [];
    for (const { actor, channel, incomplete } of await this.#parts.silences.without(back)) {
      const places = incomplete.map((relPath) => ({ channel, relPath }));
      const { deliveries } = await scanAgain(this.#parts, audience, tip, places);
      due.push(...deliveries.filter((one) => one.actor === actor));
    }
    const known = new Map(waiting.map((one) => [keyOf(one), one]));
    for (const one of due) {
      const there = known.get(keyOf(one));
      if (there === undefined) waiting.push(one);
      (there ?? one).again = 'without_question';
    }
    return due;
  }

  /** After a run: what it lacked may have come back while it ran. */
  async complete(
    mailboxes: Mailboxes,
    audience: Audience,
    lacking: readonly string[],
  ): Promise<void> {
    const tip = mailboxes.scanned;
    if (lacking.length === 0 || tip === undefined) return;
    const standing = await this.#parts.transport.standing(tip, [...lacking]);
    const places = [...standing].flatMap((path) => {
      const place = placeOf(path);
      return place.kind === 'message' ? [place] : [];
    });
    const { deliveries } = await scanAgain(this.#parts, audience, tip, places);
    const open = await openAgain(this.#parts, deliveries, audience.host, tip);
    const due = await this.#addWithout([], audience, tip, [...open]);
    for (const one of due) mailboxes.reopen(one);
    // A start that has to find them again looks at everything: no scan of news would tell of them.
    if (due.length > 0 && mailboxes.scanned === tip) mailboxes.addScan('', tip, due);
  }
}
