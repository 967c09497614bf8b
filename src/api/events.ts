import type { MessageRef } from '../protocol/layout.ts';
import type { Time, WebDeadLetter, WebNow, WebRun } from './now.ts';
import type { WebMessage } from './messages.ts';

/** Answer of `POST /api/dead-letters/{id}/retry`. */
export interface WebRetried {
  released: string[];
  /** Whether a running dispatcher was woken. */
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
    /** Text for people: what failed, where, the value that was seen, and what to do next. */
    message: string;
  };
}

/** A fact that became known about a message. */
export interface WebFact extends MessageRef {
  at: Time;
  /** `waiting`: its run was cut off or refused, and it waits again. */
  state:
    | 'queued'
    | 'sent'
    | 'taken'
    | 'answered'
    | 'silent'
    | 'failed'
    | 'cancelled'
    | 'parked'
    | 'waiting';
  /** The addressee in question; null for `queued` and `sent`. */
  actor: string | null;
  /** The run's id, the answer's relPath, or the dead letter's id. */
  detail: string | null;
}

/**
 * The events of `GET /api/events`, by their `event:` name. All but `hello` and `still_here` are stored for
 * clients that reconnect with `Last-Event-ID` (or `?last_event_id=`); each but `messages` and `facts` holds
 * the complete state, so that a newer event replaces an older one. Ages are those of its `at`.
 */
export interface WebEvents {
  /** The first of a stream; `resumed` when nothing was missed since the given id. */
  hello: { event_id: string; tip: string; resumed: boolean };
  /** The missed events are no longer known: the client must load everything again. */
  reset: { reason: string };
  /** New messages on the bus of one channel, oldest first. */
  messages: { tip: string; channel: string; channel_name: string; messages: WebMessage[] };
  /** The bus is at this commit, after its `messages`. */
  tip: { tip: string };
  outbox: Pick<WebNow, 'at' | 'outbox' | 'outbox_total'>;
  status: Pick<
    WebNow,
    'at' | 'health' | 'findings' | 'paused' | 'dispatcher' | 'parked' | 'push_budget' | 'machines'
  >;
  /** The active runs of this machine, and those that ended since the last such event. */
  runs: { running: WebRun[]; ended: WebRun[] };
  dead_letters: { dead_letters: WebDeadLetter[]; dead_letters_total: number };
  facts: { facts: WebFact[] };
  /** Sent every 5 s, without an id: a stream that is silent for longer is broken, or its server is. */
  still_here: Record<string, never>;
}
