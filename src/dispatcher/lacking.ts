import { messageFile, placeOf } from '../protocol/layout.ts';
import type { Delivery, Mailboxes } from '../protocol/mailbox.ts';
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
}

/**
 * Answers of peers that an actor dealt with while the question behind them was not on the bus: a branch
 * was set back, or somebody removed it. Whoever asked gets no answer by that; so they are delivered again
 * when the question is back and still open.
 */
export class Lacking {
  readonly #parts: Parts;
  /** What is being dealt with again. */
  readonly #again = new Set<string>();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Before the outcome of a run is put on record: what it lacked may come back after a crash. */
  async note({ actor, channel, incomplete, lacking }: Run): Promise<void> {
    const { silences } = this.#parts;
    const again = incomplete.filter((relPath) =>
      this.#again.delete(keyOf({ actor, channel, relPath })),
    );
    if (lacking.length > 0) return silences.lacked({ actor, channel, incomplete, lacking });
    if (again.length > 0) await silences.done(actor, channel, again);
  }

  /**
   * What is to be delivered again.
   *
   * @param open questions that are back, and unanswered
   */
  async dueFor(audience: Audience, tip: string, open: Iterable<Delivery>): Promise<Delivery[]> {
    const back = new Set([...open].map(({ channel, relPath }) => messageFile(channel, relPath)));
    if (back.size === 0) return [];
    const due: Delivery[] = [];
    for (const { actor, channel, incomplete } of await this.#parts.silences.without(back)) {
      const places = incomplete.map((relPath) => ({ channel, relPath }));
      const { deliveries } = await scanAgain(this.#parts, audience, tip, places);
      for (const one of deliveries) if (one.actor === actor) due.push(one);
    }
    for (const one of due) this.#again.add(keyOf(one));
    return due;
  }

  /**
   * Adds what is to be delivered again to what is waiting.
   *
   * @returns which of them these are
   */
  async addTo(
    waiting: Delivery[],
    audience: Audience,
    tip: string,
    open: Iterable<Delivery>,
  ): Promise<(one: Delivery) => boolean> {
    const due = await this.dueFor(audience, tip, open);
    const found = new Set(waiting.map(keyOf));
    for (const one of due) if (!found.has(keyOf(one))) waiting.push(one);
    const keys = new Set(due.map(keyOf));
    return (one) => keys.has(keyOf(one));
  }

  /** The same after a run: what it lacked may have come back while it ran. */
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
    const due = await this.dueFor(audience, tip, open);
    for (const one of due) mailboxes.reopen(one);
    // A start that has to find them again looks at everything: no scan of news would tell of them.
    if (due.length > 0 && mailboxes.scanned === tip) mailboxes.addScan('', tip, due);
  }
}
