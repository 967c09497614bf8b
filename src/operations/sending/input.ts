import type { Delivered } from '../deliver.ts';

/** A message as its sender gives it, by any interface; it is not changed on its way. */
export interface SendInput {
  to: string;
  body: string;
  channel?: string;
  from?: string;
  tier?: string;
  /** Whether it starts unrelated work, so that neither `re` nor `cause` is recorded. */
  isNew: boolean;
  /** Which of the messages being processed it is about: a relPath, or the end of one. */
  for?: string;
  /**
   * relPath of the message in its channel that it answers, if that is named and no dispatch
   * applies.
   */
  answers?: string;
  wait: boolean;
  login: string;
}

/** The result of sending. */
export interface Sent {
  channel: string;
  from: string;
  /** `channel` is set if it differs: an answer goes to the channel in which its addressee asked. */
  messages: { relPath: string; channel?: string; to: string[]; re: string[]; cause: string[] }[];
  delivered: Delivered;
}
