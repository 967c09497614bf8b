import type { Delivered } from '../deliver.ts';

/** A message as somebody says it, through whichever door; nobody changes it on its way. */
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
  /** relPath of the message in its channel that it answers, where that is named and no dispatch counts. */
  answers?: string;
  wait: boolean;
  login: string;
}

/** What came of it. */
export interface Sent {
  channel: string;
  from: string;
  /** `channel` where it is another: an answer goes where its addressee asked. */
  messages: { relPath: string; channel?: string; to: string[]; re: string[]; cause: string[] }[];
  delivered: Delivered;
}
