import { messageKey } from '../protocol/message-ref.ts';
import { type QueuedFile, questionsOf } from '../protocol/outgoing.ts';
import type { Outbox, OutboxEntry } from '../state/outbox.ts';
import type { Transport } from '../transport/transport.ts';

/** What a run would be for: answers of peers that lead to open questions. */
export interface FanIn {
  actor: string;
  /** The open questions, of whichever channel: `<channel id>/<relPath>`. */
  questions: string[];
}

/** Questions whose last answers are remembered. */
const MAX_SAID = 10_000;

/**
 * One run at a time for what peers answer to a question, in whichever channels they do, and the next one
 * once the answer of the last can be seen where it reads: an actor that does not see its own answer gives
 * it again.
 */
export class FanIns {
  readonly #outbox: Outbox;
  readonly #transport: Transport;
  /** By actor and question. */
  readonly #running = new Set<string>();
  /**
   * By actor and question the files of answers that were recorded here, and not seen on the bus yet: of
   * runs that ended, and of what a set-back took and is published again.
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

  /** @param files what the run answered, if it did */
  end(fanIn: FanIn | undefined, files: readonly string[] = []): void {
    for (const key of keysOf(fanIn)) {
      this.#running.delete(key);
      if (files.length > 0) this.#say(key, files);
    }
  }

  /** What an entry answers may leave the outbox before anybody looks at what is scanned. */
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

  /** Whether a run may begin that reads the bus at `tip`. */
  async mayBegin(fanIn: FanIn | undefined, tip: string): Promise<boolean> {
    if (fanIn === undefined) return true;
    const keys = keysOf(fanIn);
    if (keys.some((key) => this.#running.has(key)) || (await this.#isQueued(fanIn))) return false;
    const files = [...new Set(keys.flatMap((key) => this.#said.get(key) ?? []))];
    if (files.length === 0) return true;
    const standing = await this.#transport.standing(tip, files);
    // What is neither queued nor on the newest tip was kept aside, or is lost: nothing to wait for.
    if (standing.size < files.length && (await this.#transport.tip()) !== tip) return false;
    for (const key of keys) this.#said.delete(key);
    return true;
  }

  /** Whether an answer waits to be pushed, also one of a dispatcher that died. */
  async #isQueued({ actor, questions }: FanIn): Promise<boolean> {
    const entries = await this.#outbox.all();
    return entries.some(
      ({ delivery, commits }) =>
        delivery?.actor === actor &&
        commits.some(({ files }) => files.some((file) => answersOne(file, questions))),
    );
  }
}

/** Whether a file is a message that answers one of some questions. */
function answersOne(file: QueuedFile, questions: readonly string[]): boolean {
  return questionsOf(file).some(({ channel, relPath }) =>
    questions.includes(messageKey({ channel, relPath })),
  );
}

function keysOf(fanIn: FanIn | undefined): string[] {
  return fanIn?.questions.map((question) => `${fanIn.actor} ${question}`) ?? [];
}
