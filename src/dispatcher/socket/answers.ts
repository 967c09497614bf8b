import type { Log } from '../../log.ts';
import type { PublishOutcome, Publisher } from '../../bus/publisher.ts';
import type { Trouble } from '../../bus/troubles.ts';
import type { Bell } from './bell.ts';
import { EarlyReplies } from './early-replies.ts';
import type { News } from './news.ts';
import type { WakeAnswer, WakeRequest } from './wake-lines.ts';

export interface AnswersParts {
  bell: Bell;
  news: News;
  publisher: Publisher;
  /** The outcomes that could not be put on record yet. */
  dispatcher: { unrecorded: { first: Trouble | undefined } };
  /** Carries out a `send` that a command passed on; undefined when it is not for this transport. */
  send: (request: unknown) => Promise<unknown>;
  log: Log;
  /** Ends all waits. */
  stop: AbortSignal;
  /** Whether it is a dispatcher of one pass, which allows no waits. */
  once: boolean;
}

/** Carries out requests that arrive at the dispatcher's socket, and answers them. */
export class Answers {
  readonly #parts: AnswersParts;
  readonly replies: EarlyReplies;
  #handedOver = 0;

  constructor(parts: AnswersParts) {
    this.#parts = parts;
    this.replies = new EarlyReplies(parts);
  }

  /** The number of requests that commands have passed on and are waiting for. */
  get handedOver(): number {
    return this.#handedOver;
  }

  /** The number of requests that wait for news, or for a reply. */
  get awaited(): number {
    return this.#parts.news.awaited + this.replies.awaited;
  }

  /** @param gone aborted when the sender of the request is no longer there */
  async to(request: WakeRequest, gone: AbortSignal): Promise<WakeAnswer> {
    const { bell, news, log } = this.#parts;
    const reply = { pid: process.pid };
    if (request.op === 'ping') {
      const { first } = this.#parts.dispatcher.unrecorded;
      return { ...reply, ...(first && { unrecorded: first }) };
    }
    if (request.op === 'news') {
      // The wait for the next poll may be long, so look now.
      if (news.awaited === 0) bell.ring('look');
      return { ...reply, tip: await news.after(request.tip, gone) };
    }
    if (request.op === 'reply') return { ...reply, ...(await this.replies.to(request, gone)) };
    if (request.op === 'wake') {
      log('woken');
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
      const send = await this.#parts.send(request.request);
      return send === undefined ? {} : { send };
    }
    const outcomes: Record<string, PublishOutcome> = {};
    await Promise.all(
      request.ids.map(async (id) => (outcomes[id] = await this.#parts.publisher.publish(id))),
    );
    return { outcomes };
  }
}
