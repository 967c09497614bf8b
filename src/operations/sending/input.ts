import type { DispatchLink } from '../../agents/dispatch-variables.ts';

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
