import type { MessageRef } from '../../protocol/message-ref.ts';
import type { Delivery } from '../../protocol/mailbox.ts';
import type { Located } from '../../protocol/message.ts';

/** Malformed and changed files that are named; a hostile push has any number of them. */
const MAX_NAMED = 1000;

/** Some of what was found, by name, and how many more there were. */
interface Findings<T> {
  named: T[];
  more: number;
}

/** What a scan came upon, in commit order. */
export interface Scan {
  /** For whom a message is whose content is missing, only the message would tell: for each actor. */
  deliveries: Delivery[];
  /** Messages that the actors of this host wrote on this host, by channel. */
  own: Map<string, Located[]>;
  malformed: Findings<{ path: string; reason: string }>;
  /** Messages whose content is missing from this clone. */
  unread: MessageRef[];
  /** Messages that somebody edited or deleted: said, and nothing else is done about it. */
  changed: Findings<{ path: string; change: 'edited' | 'deleted' }>;
  /** Paths of messages that were deleted; one of them may be added again. */
  removed: string[];
  /** Messages kept away only by an `@host` (protocol.md §3). */
  skipped: (MessageRef & { actor: string })[];
  /** Files that say how to run: hosts, profiles, upstream. */
  configured: boolean;
  added: number;
}

export function emptyScan(): Scan {
  return {
    deliveries: [],
    own: new Map(),
    malformed: { named: [], more: 0 },
    unread: [],
    changed: { named: [], more: 0 },
    removed: [],
    skipped: [],
    configured: false,
    added: 0,
  };
}

/** Names it, or counts it when there are many already. */
export function add<T>(findings: Findings<T>, item: T): void {
  if (findings.named.length < MAX_NAMED) findings.named.push(item);
  else findings.more++;
}
