import type { MessageRef } from '../protocol/message-ref.ts';
import type { Time } from './time.ts';

/** A message that came for somebody. */
export interface WebInboxItem extends MessageRef {
  channel_name: string;
  from: string;
  /** Whether its writer has signed it; only where a key of that name is pinned on this machine. */
  verified?: boolean;
  timestamp: Time;
  excerpt: string;
  options: string[];
  unread: boolean;
  /** Whether it asks something that was not answered yet. */
  waits_for_you: boolean;
  /** Whether it asks for a decision. */
  proposal: boolean;
  /** Why the work of which it tells failed; null for any other message. */
  failed: string | null;
}

/** `GET /api/inbox`: what asks something, then what came, unread first. */
export interface WebInbox {
  for: string;
  unread: number;
  questions: number;
  messages: WebInboxItem[];
  event_id: string;
}
