import type { Message } from '../protocol/message.ts';
import type { Attachment } from '../actions/sending/attached.ts';
import type { WebForce } from '../api/api.ts';
import type { Standing } from '../actions/tracing/thread.ts';

export type { Attachment };

/** A message on the screen. Texts are as they were written; the view makes them safe to print. */
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
  /** The message that it takes back. */
  cancels?: string;
  /** Force of it as a cancellation. */
  force?: WebForce;
  /** The answers that it offers. */
  options?: string[];
  /** Whether its writer has signed it; only where a key of that name is pinned here. */
  verified?: boolean;
  /** Set in a message that only looks like an answer: an interim answer, or the notice of a failure. */
  notYet?: Pick<Message, 'interim' | 'failed' | 'host'>;
}

/** A channel, as the list on the left shows it. */
export interface ChannelRow {
  id: string;
  name: string;
  /** Its depth in the tree of channels, 0 at the top. */
  depth: number;
}

/** A candidate for completion. */
export interface Choice {
  value: string;
  description: string;
}

/** Data with which a chat starts. */
export interface Opening {
  /** The name of the user. */
  me: string;
  channels: ChannelRow[];
  /** Id of the channel that is opened first. */
  current: string;
  /** Default addressees, as `--to` takes them; empty for none. */
  to: string;
  history: string[];
  drafts: Record<string, string>;
}

/** The state of a message after it was sent. */
export interface SentEntry {
  relPath: string;
  /** Undefined when the message is on the bus; otherwise the reason why it waits in the outbox. */
  queued: string | undefined;
}

/**
 * Functions that the screen requires from the rest of the program. The screen is bundled separately, so it imports
 * nothing from the rest (build.js).
 */
export interface ChatPort {
  /** Returns the channels with their places in the tree. */
  channels(): Promise<ChannelRow[]>;
  /** Returns the number of unread messages by id of the channel; waits for the index. */
  unread(): Promise<Record<string, number>>;
  /** Returns everything that can be an address. */
  addresses(): Promise<Choice[]>;
  /** Returns the skills that a message can ask for by beginning with `/name`. */
  skills(): Promise<Choice[]>;
  /** Returns the next older messages of a channel, oldest first; the first call returns the newest ones. */
  older(channel: string): Promise<{ entries: Entry[]; more: boolean }>;
  /** New messages on the bus, as they arrive. */
  news(): AsyncGenerator<Entry[]>;
  /** Puts on record that the user has seen messages on the screen. */
  seen(entries: readonly Entry[]): void;
  standings(channel: string, known: Entry[], wanted: string[]): Promise<Standing[]>;
  /**
   * @returns immediately the entry to show, and `sent`, which rejects when the message cannot be
   *   sent at all
   */
  send(
    channel: string,
    said: { to: string; body: string; attached?: readonly Attachment[] },
  ): { entry: Entry; sent: Promise<SentEntry> };
  /**
   * Replies to a message, in any form in which one may be named.
   *
   * @param said `again`: although the user has answered it already
   * @returns the entry to show once the message is found; rejects when it cannot be answered
   */
  reply(
    message: string,
    said: { body: string; again?: boolean; attached?: readonly Attachment[] },
  ): Promise<{ entry: Entry; sent: Promise<SentEntry> }>;
  /**
   * Says more about an open question of the user, while the actor that was asked works on it.
   *
   * @param message the question, in any form in which one may be named
   * @param said `to` says which of its addressees, if there are several
   * @returns the entry to show once the message is found; rejects when it cannot be said now
   */
  now(
    message: string,
    said: { to?: string; body: string },
  ): Promise<{ entry: Entry; sent: Promise<SentEntry> }>;
  /**
   * Reads a file that is to go along with a message, besides others that wait.
   *
   * @param file relative to the current folder, or to the home folder after `~/`
   */
  attach(file: string, waiting: readonly Attachment[]): Promise<Attachment>;
  /** Returns the text of a message as it was written. */
  body(message: string): Promise<string>;
  /** Returns the actors one can write to, with their hosts. */
  actors(): Promise<string[]>;
  /** Returns the shared notes with some words, best first; without words the newest ones. */
  memory(words: string): Promise<string[]>;
  /** Returns the number of messages that ask the user something; waits for the index. */
  asking(): Promise<number>;
  /** Returns the mail for the user. */
  inbox(): Promise<string[]>;
  thread(message: string): Promise<string[]>;
  /** Returns one whole message. */
  read(message: string): Promise<string[]>;
  search(channel: string, words: string): Promise<string[]>;
  status(): Promise<string[]>;
  /** Releases dead letters and returns the notice to show. */
  retry(id: string): Promise<string>;
  /** Takes a message back and returns the notice to show. */
  cancel(message: string): Promise<string>;
  /** Decides on the proposal of a message and returns the notice to show. */
  decide(decision: 'approve' | 'deny', message: string, note: string): Promise<string>;
  remember: {
    sent: (line: string) => void;
    draft: (channel: string, text: string) => void;
    seen: (channel: string, relPath: string) => void;
  };
}
