import type { MessageRef } from '../protocol/message-ref.ts';
import type { Time } from './time.ts';
import type { WebMessage } from './messages.ts';
import type { WebDeadLetter, WebNow, WebOutboxEntry, WebRun } from './now.ts';

/** Answer of `POST /api/dead-letters/{id}/retry`. */
export interface WebRetried {
  released: string[];
  /** Whether a dispatcher was there to be woken. */
  woken: boolean;
}

/** Answer of `POST /api/wake`. */
export interface WebWoken {
  pid: number;
}

/** Any answer with a status of 400 or more. */
export interface WebError {
  error: {
    code:
      | 'usage'
      | 'not_found'
      | 'ambiguous'
      | 'invalid'
      | 'refused'
      | 'unauthorized'
      | 'forbidden'
      | 'too_large'
      | 'read_only'
      | 'internal';
    /** For people: what, where, the value seen; what to do next. */
    message: string;
  };
}

/** Something that became known of a message. */
export interface WebFact extends MessageRef {
  at: Time;
  state: 'queued' | 'sent' | 'taken' | 'answered' | 'silent' | 'failed' | 'parked';
  /** The addressee it is about; null for `queued` and `sent`. */
  actor: string | null;
  /** The run's id, the answer's relPath, the dead letter's id. */
  detail: string | null;
}

/**
 * The events of `GET /api/events`, by their `event:` name. All but `hello` are kept for those who come
 * back with `Last-Event-ID` (or `?last_event_id=`); each but `messages` and `facts` holds all there is to
 * say, so that a newer one replaces an older one.
 */
export interface WebEvents {
  /** The first of a stream; `resumed` when nothing was missed since the id that was given. */
  hello: { event_id: string; tip: string; resumed: boolean };
  /** What was missed is not known any more: load everything again. */
  reset: { reason: string };
  /** New on the bus, oldest first, of one channel. */
  messages: { tip: string; channel: string; channel_name: string; messages: WebMessage[] };
  /** The bus is at this commit, after its `messages`. */
  tip: { tip: string };
  outbox: { outbox: WebOutboxEntry[]; outbox_total: number };
  status: Pick<WebNow, 'health' | 'paused' | 'dispatcher' | 'parked' | 'push_budget'>;
  /** Those at work on this machine, and those that ended since the last such event. */
  runs: { running: WebRun[]; ended: WebRun[] };
  dead_letters: { dead_letters: WebDeadLetter[]; dead_letters_total: number };
  facts: { facts: WebFact[] };
}
