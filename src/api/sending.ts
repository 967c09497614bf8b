/** Body of `POST /api/send`. */
export interface WebSendRequest {
  /** Names, `name@host` and `all`, separated by commas; if empty with `re`, the writer of that message. */
  to: string;
  /** May be empty with `option`. */
  body: string;
  /** Id, unique id prefix or name; optional when there is only one. */
  channel?: string;
  from?: string;
  tier?: string;
  /** relPath of the message this is a reply to, in the channel. */
  re?: string;
  /** relPath of the message that this cancels, in the channel; `to` is empty then. */
  cancels?: string;
  /**
   * relPath of an open question of the sender, in the channel: this adds to it while the one actor in `to` works on it.
   */
  about?: string;
  /** Number of the chosen answer, of those which that message offers. */
  option?: string;
  /** The answers that it offers, to be chosen by number. */
  options?: string[];
  /** The JSON Schema that an answer has to fit, as JSON text. */
  schema?: string;
  /** Files that were uploaded by `POST /api/files` within the last day. */
  files?: { sha256: string; name: string }[];
}

/** Body of `POST /api/files`. */
export interface WebUpload {
  /** File name under which it is sent, without folders. */
  name: string;
  /** Its bytes in base64. */
  base64: string;
}

/**
 * Answer of `POST /api/send`, 202: the message is safe on this machine's disk; its results arrive as events.
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

/** A task that a subscription sent because of an event. */
export interface WebEventTask {
  subscription: string;
  /** Id of the channel. */
  channel: string;
  relPath: string;
}

/** `POST /api/events/{source}`, as `crosstalk event publish --json`. */
export interface WebPublishedEvent {
  source: string;
  /** Id of this event; an event with the same id counts once. */
  id: string | null;
  /**
   * `unheard`: no subscription waits for it, and nothing was written; `duplicate`: it was published before.
   */
  state: 'sent' | 'queued' | 'duplicate' | 'unheard';
  tasks: WebEventTask[];
}
