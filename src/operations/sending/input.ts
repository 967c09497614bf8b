export interface SendInput {
  to: string;
  body: string;
  channel?: string;
  from?: string;
  tier?: string;
  /** Start unrelated work: record neither `re` nor `cause`. */
  isNew: boolean;
  /** Of the messages being processed the one it is about: its relPath, or how that ends. */
  for?: string;
  wait: boolean;
  login: string;
  /** Why nobody is asked to push it now: a dispatcher that took too long goes on with it. */
  unanswered?: string;
  /** The dispatch it is sent in; absent outside of one. */
  link?: DispatchLink;
  /** Called once it is safe on disk. */
  onDurable?: () => void;
  /** Of the outbox entry, when the same message may have been handed over before. */
  id?: string;
}

/** The dispatch in which a message is sent, which links it to what is being processed (protocol.md §4). */
export interface DispatchLink {
  /** Of the run, a ULID: the message counts as sent by it. */
  id?: string;
  /** The alias of the host. */
  host?: string;
  /** The id of the channel that the batch is in. */
  channel?: string;
  /** relPaths of the batch. */
  triggers?: readonly string[];
  /** The commit that the batch was read at. */
  tip?: string;
}
