import { messageKey } from '../protocol/message-ref.ts';
import { type QueuedFile, questionsOf } from '../protocol/outgoing.ts';
import type { Outbox, OutboxEntry } from '../state/outbox.ts';
import type { Transport } from '../transport/transport.ts';

/** What a run would be for: answers of peers that lead to open questions. */
export interface FanIn {
  actor: string;
  /** The open questions, in any channel, as `<channel id>/<relPath>`. */
  questions: string[];
}

/** The number of questions whose last answers are remembered. */
const MAX_SAID = 10_000;

/**
 * Allows one run at a time for the answers of peers to a question, in any channel. The next run
 * starts when the answer of the previous one is visible in what it reads, because an actor that
 * does not see its own answer gives it again.
 */
export class FanIns {
  readonly #outbox: Outbox;
  readonly #transport: Transport;
  /** By actor and question. */
  readonly #running = new Set<string>();
  /**
   * By actor and question, the files of answers that were recorded here and not yet seen on the
   * bus: answers of runs that ended, and answers that are published again after the branch was set
   * back.
   */
  readonly #said = new Map<string, readonly string[]>();

  constructor({ outbox, transport }: { outbox: Outbox; transport: Transport }) {
    this.#outbox = outbox;
    this.#transport = transport;
    outbox.events.on('seen', (entry) => {
      this.#note(entry);
    });
  }

  begin(fanIn: FanIn | undefined): void {
    for (const key of keysOf(fanIn)) this.#running.add(key);
  }

  /** @param files the files of the run's answer, if it gave one */
  end(fanIn: FanIn | undefined, files: readonly string[] = []): void {
    for (const key of keysOf(fanIn)) {
      this.#running.delete(key);
      if (files.length > 0) this.#say(key, files);
    }
  }

  /**
   * Remembers the answer of an outbox entry: it may leave the outbox before the next look at the
   * scanned tip.
   */
  #note({ delivery, commits }: OutboxEntry): void {
    if (delivery === undefined) return;
    for (const file of commits.flatMap(({ files }) => files))
      for (const { channel, relPath } of questionsOf(file))
        this.#say(`${delivery.actor} ${channel}/${relPath}`, [file.path]);
  }

  #say(key: string, files: readonly string[]): void {
    this.#said.set(key, [...new Set([...(this.#said.get(key) ?? []), ...files])]);
    for (const oldest of this.#said.keys()) {
      if (this.#said.size <= MAX_SAID) break;
      this.#said.delete(oldest);
    }
  }

  /** Whether a run that reads the bus at `tip` may begin. */
  async mayBegin(fanIn: FanIn | undefined, tip: string): Promise<boolean> {
    if (fanIn === undefined) return true;
    const keys = keysOf(fanIn);
    if (keys.some((key) => this.#running.has(key)) || (await this.#isQueued(fanIn))) return false;
    const files = [...new Set(keys.flatMap((key) => this.#said.get(key) ?? []))];
    if (files.length === 0) return true;
    const standing = await this.#transport.standing(tip, files);
    // A file that is neither queued nor at the newest tip was set aside or lost, so do not wait for
    // it.
    if (standing.size < files.length && (await this.#transport.tip()) !== tip) return false;
    for (const key of keys) this.#said.delete(key);
    return true;
  }

  /** Whether an answer waits to be pushed, including one of a dispatcher that died. */
  async #isQueued({ actor, questions }: FanIn): Promise<boolean> {
    const entries = await this.#outbox.all();
    return entries.some(
      ({ delivery, commits }) =>
        delivery?.actor === actor &&
        commits.some(({ files }) => files.some((file) => answersOne(file, questions))),
    );
  }
}

/** Whether a file is a message that answers one of the questions. */
function answersOne(file: QueuedFile, questions: readonly string[]): boolean {
  return questionsOf(file).some(({ channel, relPath }) =>
    questions.includes(messageKey({ channel, relPath })),
  );
}

function keysOf(fanIn: FanIn | undefined): string[] {
  return fanIn?.questions.map((question) => `${fanIn.actor} ${question}`) ?? [];
}
