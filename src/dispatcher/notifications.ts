import type { Engine } from './run/engine.ts';
import { createHash } from 'node:crypto';
import { reasonOf } from '../errors.ts';
import { HeldAnswerNotices } from './held-answer-notices.ts';
import { passed } from '../crash-points.ts';
import { noticeText, planNotice } from '../protocol/failure-notice.ts';
import { outgoing } from '../protocol/outgoing.ts';
import { answerMessages } from '../protocol/reply.ts';
import type { DeadLetter } from '../state/dead-letters.ts';
import type { OutboxEntry } from '../state/outbox.ts';
import { behind } from './pools/fence.ts';
import { brief } from './run/briefing.ts';

/** Notifies those who wait for an answer that there will be none, or that a person has to release it. */
export class Notifications {
  readonly #engine: Engine;
  readonly #notices: Notices;
  readonly #heldAnswers: HeldAnswerNotices;

  constructor(engine: Engine) {
    this.#engine = engine;
    this.#notices = new Notices(engine);
    this.#heldAnswers = new HeldAnswerNotices(engine);
  }

  /**
   * Puts due notifications into the outbox. A failure is logged, and tried again with the next call.
   *
   * @param tip the commit scanned last
   * @returns the notifications that are on their way to the bus
   */
  async write(host: string, tip: string): Promise<Promise<void>[]> {
    const pushes: Promise<void>[] = [];
    for (const told of [this.#notices, this.#heldAnswers])
      try {
        pushes.push(...(await told.write(host, tip)));
      } catch (error) {
        this.#engine.log('internal_error', { error: reasonOf(error) });
      }
    return pushes;
  }
}

/** Milliseconds until a notice is tried again whose messages cannot be read, or that failed. */
const WAIT_MS = 60_000;

/**
 * Notifies those who wait for an answer that there will be none (talk.md, "Bad news"): a reply with `failed` for each
 * dead letter that is not retried any more.
 *
 * Crash order: the dead letter, and that a notice is due → the notice in the outbox → it is not due any more →
 * pushed. The path of a notice is derived from its letter, so that a delivery is reported once, however often it
 * fails after a retry.
 */
class Notices {
  readonly #engine: Engine;
  readonly #notBefore = new Map<string, number>();

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /**
   * Puts due notices into the outbox.
   *
   * @param tip the commit scanned last
   * @returns the notices that are on their way to the bus
   */
  async write(host: string, tip: string): Promise<Promise<void>[]> {
    const { deadLetters, outbox, publisher, log, now } = this.#engine;
    const pushes: Promise<void>[] = [];
    for (const id of await deadLetters.dueNotices()) {
      if ((this.#notBefore.get(id) ?? 0) > now().getTime()) continue;
      const letter = await deadLetters.get(id);
      // An operator may have released or dropped it.
      const isOver = letter === undefined || letter.state === 'retrying';
      const entry = isOver ? undefined : await this.#entryOrLater(letter, host, tip);
      if (entry === 'later') {
        this.#notBefore.set(id, now().getTime() + WAIT_MS);
        continue;
      }
      if (entry !== undefined) {
        await outbox.put(entry);
        passed('notice_recorded');
      }
      await deadLetters.told(id);
      passed('notice_removed');
      if (entry === undefined) continue;
      log('failure_told', { id, replies: pathsOf(entry) });
      pushes.push(publisher.publish(entry.id).then(() => undefined));
    }
    return pushes;
  }

  /**
   * Returns the entry of a letter, or puts it off: a letter of which no notice can be made must not hold up those
   * behind it.
   */
  #entryOrLater(
    letter: DeadLetter,
    host: string,
    tip: string,
  ): Promise<OutboxEntry | 'later' | undefined> {
    return this.#entryOf(letter, host, tip).catch((error: unknown) => {
      this.#engine.log('internal_error', { id: letter.id, error: reasonOf(error) });
      return 'later' as const;
    });
  }

  async #entryOf(
    letter: DeadLetter,
    host: string,
    tip: string,
  ): Promise<OutboxEntry | 'later' | undefined> {
    const { actor, channel, messages } = letter;
    const briefing = await brief(this.#engine, { actor, host, channel, tip, messages });
    const { batch, unread, lookup, answered } = briefing;
    if (unread.length > 0) return 'later';
    const plans = planNotice(batch, actor, lookup, answered);
    const { id, reason, attempts } = letter;
    const body = noticeText({ actor, host, reason, attempts, letter: id });
    const writer = { actor, host, at: new Date(letter.first_failed_at) };
    const failed = { reason, attempts, host, dead_letter: id };
    const commits = answerMessages(plans, batch, body, writer, channel).map((answer, serial) => {
      const suffix = createHash('sha256')
        .update(`${id} ${String(serial)}`)
        .digest('hex');
      return outgoing({ ...answer.message, failed }, answer.channel, host, suffix.slice(0, 16));
    });
    const claim = await this.#engine.deadLetters.claimOf(id);
    const last = commits.length - 1;
    const written = commits.map(({ commit }, index) =>
      claim === undefined ? commit : behind(commit, claim, { isLast: index === last }),
    );
    const paths = written.flatMap(({ files }) => files.map(({ path }) => path));
    if (paths.length === 0 || (await this.#isTold(tip, paths))) return undefined;
    return { id: this.#engine.newId(), commits: written };
  }

  /** Whether a notice is on the bus, or on its way there. */
  async #isTold(tip: string, paths: readonly string[]): Promise<boolean> {
    const { transport, outbox } = this.#engine;
    const standing = await transport.standing(tip, paths);
    const queued = new Set((await outbox.all()).flatMap(pathsOf));
    return paths.some((path) => standing.has(path) || queued.has(path));
  }
}

function pathsOf({ commits }: OutboxEntry): string[] {
  return commits.flatMap(({ files }) => files.map(({ path }) => path));
}
