/** Body of `POST /api/send`. */
export interface WebSendRequest {
  /** Names, `name@host` and `all`, separated by commas; empty with `re`: its writer. */
  to: string;
  /** May be empty with `option`. */
  body: string;
  /** Id, unique id prefix or name; optional when there is only one. */
  channel?: string;
  from?: string;
  tier?: string;
  /** relPath of the message this is a reply to, in the channel. */
  re?: string;
  /** relPath of the message that this takes back, in the channel; `to` is empty then. */
  cancels?: string;
  /**
   * relPath of an open question of the sender, in the channel: this says more about it while the one
   * actor in `to` works on it.
   */
  about?: string;
  /** The number of the answer that is chosen, of those which that message offers. */
  option?: string;
  /** The answers that it offers, to choose one by its number. */
  options?: string[];
  /** The JSON Schema that an answer has to fit, as JSON text. */
  schema?: string;
  /** Files that were given to `POST /api/files` within the last day. */
  files?: { sha256: string; name: string }[];
}

/** Body of `POST /api/files`. */
export interface WebUpload {
  /** The name under which it is sent, without folders. */
  name: string;
  /** Its bytes in base64. */
  base64: string;
}

/**
 * Answer of `POST /api/send`, 202: the message is safe on this machine's disk; its results arrive
 * as events.
 */
export interface WebSent {
  /** Id of the outbox entry. */
  id: string;
  channel: string;
  from: string;
  messages: { relPath: string; to: string[]; re: string[]; cause: string[] }[];
  /** `sent`: it is on the bus already, as when a request was repeated. */
  state: 'queued' | 'sent';
  /** Notes for the sender, for example that no host serves an addressee. */
  notes: string[];
}

/** A task that a subscription has given because of an event. */
export interface WebEventTask {
  subscription: string;
  /** Id of the channel. */
  channel: string;
  relPath: string;
}

/** `POST /api/events/{source}`, as `crosstalk event publish --json`. */
export interface WebPublishedEvent {
  source: string;
  /** What makes it this event; the same one counts once. */
  id: string | null;
  /**
   * `unheard`: no subscription waits for it, and nothing was written; `duplicate`: it was published
   * before.
   */
  state: 'sent' | 'queued' | 'duplicate' | 'unheard';
  tasks: WebEventTask[];
}
