import type { Log } from '../../log.ts';
import type { PublishOutcome, Publisher } from '../../bus/publisher.ts';
import type { ErrorTracker } from '../../bus/stalled-jobs.ts';
import { EarlyReplies } from './early-replies.ts';
import type { News } from './news.ts';
import type { WakeAnswer, WakeRequest } from './wake-lines.ts';
import { Emitter } from '../../emitter.ts';
import { wait } from '../../wait.ts';

/** Carries out requests that arrive at the dispatcher's socket, and answers them. */
export class Answers {
  readonly #app: { publisher: Publisher; unrecorded: ErrorTracker; log: Log };
  readonly #send: (request: unknown) => Promise<unknown>;
  readonly #bell: WakeUp;
  readonly #news: News;
  readonly replies: EarlyReplies;
  #handedOver = 0;

  /**
   * @param options `send` carries out a command that was passed on, undefined when it is not for this transport;
   * `stop` ends all waits; `once`: a dispatcher of one pass allows none
   */
  constructor(
    app: { publisher: Publisher; unrecorded: ErrorTracker; log: Log },
    options: {
      send: (request: unknown) => Promise<unknown>;
      stop: AbortSignal;
      once: boolean;
    },
    { bell, news }: { bell: WakeUp; news: News },
  ) {
    this.#app = app;
    this.#send = options.send;
    this.#bell = bell;
    this.#news = news;
    this.replies = new EarlyReplies(options);
  }

  /** The number of requests that commands have passed on and are waiting for. */
  get handedOver(): number {
    return this.#handedOver;
  }

  /** The number of requests that wait for news, or for a reply. */
  get awaited(): number {
    return this.#news.awaited + this.replies.awaited;
  }

  /** @param gone aborted when the sender of the request is no longer there */
  async to(request: WakeRequest, gone: AbortSignal): Promise<WakeAnswer> {
    const [bell, news] = [this.#bell, this.#news];
    const reply = { pid: process.pid };
    if (request.op === 'ping') {
      const { first } = this.#app.unrecorded;
      return { ...reply, ...(first && { unrecorded: first }) };
    }
    if (request.op === 'news') {
      // The wait for the next poll may be long, so look now.
      if (news.awaited === 0) bell.ring('look');
      return { ...reply, tip: await news.after(request.tip, gone) };
    }
    if (request.op === 'reply') return { ...reply, ...(await this.replies.to(request, gone)) };
    if (request.op === 'wake') {
      this.#app.log('woken');
      bell.ring('ask');
      return reply;
    }
    this.#handedOver += 1;
    try {
      return { ...reply, ...(await this.#deliver(request)) };
    } finally {
      this.#handedOver -= 1;
    }
  }

  async #deliver(
    request: Exclude<WakeRequest, { op: 'ping' | 'wake' | 'news' | 'reply' }>,
  ): Promise<Partial<WakeAnswer>> {
    if ('request' in request) {
      const send = await this.#send(request.request);
      return send === undefined ? {} : { send };
    }
    const outcomes: Record<string, PublishOutcome> = {};
    await Promise.all(
      request.ids.map(async (id) => (outcomes[id] = await this.#app.publisher.publish(id))),
    );
    return { outcomes };
  }
}

/**
 * Request of a ring: `look` at the local state, or `ask` the remote. `fetch` asks it on the word of another machine,
 * which may be wrong, so that it does not count as activity.
 */
export type Ring = 'look' | 'fetch' | 'ask';

/**
 * Ends the wait of a dispatcher. Any part that knows of work rings it: the socket, for requests
 * that arrive there, and the publisher, after a push. The alarm listens to it.
 */
export class WakeUp {
  readonly #events = new Emitter<{ rung: [what: Ring] }>();

  ring(what: Ring): void {
    this.#events.emit('rung', what);
  }

  onRing(heard: (what: Ring) => void): void {
    this.#events.on('rung', heard);
  }
}

/** Milliseconds between looks. */
const EACH_MS = 1000;

/**
 * Rings when another process has changed the database: a command that cannot reach the socket, as in another
 * container, has put something into the outbox, has sent it itself, or has let somebody go on.
 */
export async function lookAtChanges(
  isChanged: () => Promise<boolean>,
  bell: WakeUp,
  stop: AbortSignal,
): Promise<void> {
  while (!stop.aborted) {
    // A failure here is a failure of the next tick, which reports it.
    if (await isChanged().catch(() => false)) bell.ring('look');
    await wait(EACH_MS, stop);
  }
}
