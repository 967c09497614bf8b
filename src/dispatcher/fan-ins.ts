import { messageFile } from '../protocol/layout.ts';
import type { Outbox } from '../state/outbox.ts';
import type { Transport } from '../transport/transport.ts';

/** What a run would be for: answers of peers that lead to the same open questions. */
export interface FanIn {
  actor: string;
  channel: string;
  /** As `conversationOf` calls it. */
  conversation: string;
}

/**
 * One run at a time for what peers answer to the same questions, and the next one once the answer of the
 * last can be seen where it reads: an actor that does not see its own answer gives it again.
 */
export class FanIns {
  readonly #outbox: Outbox;
  readonly #transport: Transport;
  readonly #running = new Set<string>();
  /** The files of answers that were recorded here, and not seen on the bus yet. */
  readonly #said = new Map<string, string[]>();

  constructor({ outbox, transport }: { outbox: Outbox; transport: Transport }) {
    this.#outbox = outbox;
    this.#transport = transport;
  }

  begin(fanIn: FanIn | undefined): void {
    if (fanIn !== undefined) this.#running.add(keyOf(fanIn));
  }

  /** @param relPaths of what the run answered, if it did */
  end(fanIn: FanIn | undefined, relPaths: readonly string[] = []): void {
    if (fanIn === undefined) return;
    const key = keyOf(fanIn);
    this.#running.delete(key);
    const files = relPaths.map((relPath) => messageFile(fanIn.channel, relPath));
    if (files.length > 0) this.#said.set(key, files);
  }

  /** Whether a run may begin that reads the bus at `tip`. */
  async mayBegin(fanIn: FanIn | undefined, tip: string): Promise<boolean> {
    if (fanIn === undefined) return true;
    const key = keyOf(fanIn);
    if (this.#running.has(key) || (await this.#isQueued(fanIn))) return false;
    const files = this.#said.get(key);
    if (files === undefined) return true;
    const standing = await this.#transport.standing(tip, files);
    // What is neither queued nor on the newest tip was kept aside, or is lost: nothing to wait for.
    if (standing.size < files.length && (await this.#transport.tip()) !== tip) return false;
    this.#said.delete(key);
    return true;
  }

  /** Whether an answer waits to be pushed, also one of a dispatcher that died. */
  async #isQueued({ actor, channel, conversation }: FanIn): Promise<boolean> {
    const questions = conversation.replace(/^for /, '').split(',');
    const entries = await this.#outbox.all();
    return entries.some(
      ({ delivery, commits }) =>
        delivery?.actor === actor &&
        delivery.channel === channel &&
        commits.some(({ files }) =>
          files.some(({ content }) => questions.some((question) => content.includes(question))),
        ),
    );
  }
}

function keyOf({ actor, channel, conversation }: FanIn): string {
  return `${actor}/${channel}/${conversation}`;
}
