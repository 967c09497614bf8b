import type { NodeState } from '../operations/tracing/thread.ts';

/** A message on the screen. Texts are as they were written: the view makes them harmless. */
export interface Entry {
  channel: string;
  relPath: string;
  from: string;
  to: string[];
  /** Milliseconds since 1970. */
  at: number;
  re: string[];
  cause: string[];
  body: string;
}

/** A channel, as the list on the left shows it. */
export interface ChannelRow {
  id: string;
  name: string;
  /** How many channels it is below. */
  depth: number;
}

/** Something that can be completed. */
export interface Choice {
  value: string;
  description: string;
}

/** What a chat begins with. */
export interface Opening {
  /** Who writes. */
  me: string;
  channels: ChannelRow[];
  /** Id of the channel that is opened first. */
  current: string;
  /** Default addressees, as `--to` takes them; empty for none. */
  to: string;
  history: string[];
  drafts: Record<string, string>;
}

/** How far the addressees of a message are. */
export interface EntryStanding {
  relPath: string;
  states: NodeState[];
}

/** What a message is when it was sent. */
export interface SentEntry {
  relPath: string;
  /** Undefined when it is on the bus; else why it only waits in the outbox. */
  queued: string | undefined;
}

/**
 * What the screen asks of the rest of the program. It is bundled apart, so it imports none of it
 * (build.js).
 */
export interface ChatPort {
  /** Channels with their place in the tree. */
  channels(): Promise<ChannelRow[]>;
  /** Unread messages by id of the channel; waits for the index. */
  unread(): Promise<Record<string, number>>;
  /** What can be addressed. */
  addresses(): Promise<Choice[]>;
  /** The next older messages of a channel, oldest first; the newest at first. */
  older(channel: string): Promise<{ entries: Entry[]; more: boolean }>;
  /** Messages that come to the bus, as they come. */
  news(): AsyncGenerator<Entry[]>;
  standings(channel: string, known: Entry[], wanted: string[]): Promise<EntryStanding[]>;
  /** @returns at once what is shown, and `sent`, which rejects when it cannot be sent at all */
  send(channel: string, to: string, body: string): { entry: Entry; sent: Promise<SentEntry> };
  thread(message: string): Promise<string[]>;
  search(channel: string, words: string): Promise<string[]>;
  status(): Promise<string[]>;
  /** Releases dead letters; what is to be said of it. */
  retry(id: string): Promise<string>;
  remember: {
    sent: (line: string) => void;
    draft: (channel: string, text: string) => void;
    seen: (channel: string, relPath: string) => void;
  };
}
