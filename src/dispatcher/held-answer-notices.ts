import type { Engine } from './run/engine.ts';
import { createHash } from 'node:crypto';
import { reasonOf } from '../errors.ts';
import { outgoing } from '../protocol/outgoing.ts';
import { answerMessages } from '../protocol/reply.ts';
import type { HeldEntry, OutboxEntry } from '../state/outbox.ts';
import { brief, peopleWhoWait, whileHeld } from './run/briefing.ts';

/** Milliseconds until an answer is looked at again whose messages cannot be read. */
const WAIT_MS = 60_000;

/**
 * Notifies people who wait for an answer that is held because of a secret, once and without stating anything about
 * it: somebody who can read the transport should not learn more than that.
 *
 * Crash order: the note in the outbox → the held entry records the note → pushed. The path of a note is derived from
 * the entry, so one that is written twice is on the bus once.
 */
export class HeldAnswerNotices {
  readonly #engine: Engine;
  readonly #notBefore = new Map<string, number>();

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /**
   * Puts the notes that are due into the outbox.
   *
   * @param tip the commit scanned last
   * @returns the notes that are on their way to the bus
   */
  async write(host: string, tip: string): Promise<Promise<void>[]> {
    const { outbox, publisher, log, now } = this.#engine;
    const pushes: Promise<void>[] = [];
    for (const held of await outbox.held()) {
      if (held.told === true || held.delivery === undefined) continue;
      if ((this.#notBefore.get(held.id) ?? 0) > now().getTime()) continue;
      const note = await this.#noteOn(held, host, tip).catch((error: unknown) => {
        log('internal_error', { id: held.id, error: reasonOf(error) });
        return 'later' as const;
      });
      if (note === 'later') {
        this.#notBefore.set(held.id, now().getTime() + WAIT_MS);
        continue;
      }
      if (note !== undefined) await outbox.put(note);
      await outbox.markTold(held.id);
      if (note !== undefined) pushes.push(publisher.publish(note.id).then(() => undefined));
    }
    return pushes;
  }

  async #noteOn(
    { id, at, delivery }: HeldEntry,
    host: string,
    tip: string,
  ): Promise<OutboxEntry | 'later' | undefined> {
    if (delivery === undefined) return undefined;
    const { actor, channel, messages } = delivery;
    const briefing = await brief(this.#engine, { actor, host, channel, tip, messages });
    if (briefing.unread.length > 0) return 'later';
    const body = `${actor} on ${host} has an answer that is held there, as something in it looks like a secret. It comes when somebody on ${host} lets it go: crosstalk outbox\n`;
    const writer = { actor, host, at: new Date(at) };
    const plans = peopleWhoWait(actor, briefing);
    const notes = answerMessages(plans, briefing.batch, body, writer, channel);
    if (notes.length === 0) return undefined;
    const commits = notes.map((note, serial) => {
      const suffix = createHash('sha256')
        .update(`${id} ${String(serial)} held`)
        .digest('hex');
      const { message } = whileHeld(note, 'secret');
      return outgoing(message, note.channel, host, suffix.slice(0, 16)).commit;
    });
    return { id: `${id}-held`, commits };
  }
}
