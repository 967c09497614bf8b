import { messageKey, type MessageRef } from '../protocol/message-ref.ts';
import type { Running } from './dispatcher-parts.ts';
import type { FanIn } from './fan-ins.ts';

/** A job under way. */
interface Under {
  running: Running;
  fanIn: FanIn | undefined;
  /** Ends its run. */
  cancel: AbortController;
  done: Promise<void>;
}

/** The jobs of a dispatcher that are under way, by dispatch id. */
export class Jobs {
  readonly #jobs = new Map<string, Under>();

  add(id: string, job: Under): void {
    this.#jobs.set(id, job);
  }

  delete(id: string): void {
    this.#jobs.delete(id);
  }

  get isEmpty(): boolean {
    return this.#jobs.size === 0;
  }

  get running(): Running[] {
    return [...this.#jobs.values()].map(({ running }) => running);
  }

  /** Resolved as the jobs end. */
  get ends(): Promise<void>[] {
    return [...this.#jobs.values()].map(({ done }) => done);
  }

  /**
   * Ends the runs of an actor for a message: those it was delivered to, and those for peers' answers to
   * what the actor gave away for it.
   *
   * @returns how many there are
   */
  end(actor: string, { channel, relPath }: MessageRef): number {
    const key = messageKey({ channel, relPath });
    const concerned = [...this.#jobs.values()].filter(
      ({ running, fanIn }) =>
        running.actor === actor &&
        ((running.channel === channel && running.messages.includes(relPath)) ||
          fanIn?.questions.every((question) => question === key) === true),
    );
    for (const { cancel } of concerned) cancel.abort();
    return concerned.length;
  }
}
