import type { Log } from '../log.ts';
import { messageKey, type MessageRef } from '../protocol/layout.ts';
import type { QuestionSet } from './question-locks.ts';
import type { Job } from './run/job.ts';

/** A current run, as the heartbeat shows it. */
export interface Running {
  actor: string;
  channel: string;
  tier: string;
  since: string;
  messages: string[];
}

/** A job under way. */
interface Under {
  running: Running;
  fanIn: QuestionSet | undefined;
  job: Job;
  /** Ends its run. */
  cancel: AbortController;
  done: Promise<void>;
}

/** The host in force, and whom it serves. */
interface Served {
  alias: string;
  actors: { has: (actor: string) => boolean };
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

  /** Returns the number of runs that {@link end} would end. */
  count(actor: string, message: MessageRef): number {
    return this.#for(actor, message).length;
  }

  /**
   * Ends the runs of an actor for a message: those it was delivered to, and those for peers' answers to the tasks
   * that the actor delegated for it.
   */
  end(actor: string, message: MessageRef): void {
    for (const { cancel } of this.#for(actor, message)) cancel.abort();
  }

  /** Ends the runs of actors that the host in force does not serve: their new host starts with their mail. */
  endUnserved({ alias, actors }: Served, log: Log): void {
    for (const { job, cancel } of this.#jobs.values()) {
      const { id, actor, channel, host } = job;
      if (cancel.signal.aborted || (host === alias && actors.has(actor))) continue;
      cancel.abort();
      log('dispatch_ended', { id, actor, channel, reason: 'unserved' });
    }
  }

  /** Returns the run of an actor for a question, in its channel, if it may receive messages. */
  steerable(actor: string, question: MessageRef): Job | undefined {
    return this.#for(actor, question).find(
      ({ job, running }) => running.channel === question.channel && job.steering?.isOpen === true,
    )?.job;
  }

  #for(actor: string, { channel, relPath }: MessageRef): Under[] {
    const key = messageKey({ channel, relPath });
    return [...this.#jobs.values()].filter(
      ({ running, fanIn }) =>
        running.actor === actor &&
        ((running.channel === channel && running.messages.includes(relPath)) ||
          fanIn?.questions.every((question) => question === key) === true),
    );
  }
}
