import type { MessageRef } from '../../protocol/layout.ts';
import type { Delivery } from '../../protocol/mailbox.ts';
import type { Located } from '../../protocol/message.ts';

/**
 * The most malformed and changed files that are named; a hostile push may contain any number of
 * them.
 */
const MAX_NAMED = 1000;

/** Some of the findings by name, and how many more there were. */
interface Findings<T> {
  named: T[];
  more: number;
}

/** A message that takes another one back, and the id of its channel. */
export interface CancelFound extends Located {
  channel: string;
  /** The actor that is new here: it was written before this host served that one. */
  unserved?: string;
}

/** Findings of a scan, in commit order. */
export interface Scan {
  /** A message whose content is missing does not show its addressee, so it is delivered to every actor. */
  deliveries: Delivery[];
  /** Messages that the actors of this host wrote on this host, by channel. */
  own: Map<string, Located[]>;
  malformed: Findings<{ path: string; reason: string }>;
  /** Messages whose content is missing from this clone. */
  unread: MessageRef[];
  /** Messages that take others back, which are for these actors. */
  cancels: CancelFound[];
  /** Messages that somebody edited or deleted: they are reported, and nothing else happens. */
  changed: Findings<{ path: string; change: 'edited' | 'deleted' }>;
  /** Paths of deleted messages; such a message may be added again later. */
  removed: string[];
  /** Messages that did not reach an actor only because of an `@host` (protocol.md §3). */
  skipped: (MessageRef & { actor: string })[];
  /** Whether files changed that configure runs: hosts, profiles, upstream. */
  configured: boolean;
  /** Paths of files of claims that were added or changed. */
  claims: string[];
  added: number;
}

export function emptyScan(): Scan {
  return {
    deliveries: [],
    own: new Map(),
    malformed: { named: [], more: 0 },
    unread: [],
    cancels: [],
    changed: { named: [], more: 0 },
    removed: [],
    skipped: [],
    configured: false,
    claims: [],
    added: 0,
  };
}

/** Adds a finding by name, or only counts it when many are named already. */
export function add<T>(findings: Findings<T>, item: T): void {
  if (findings.named.length < MAX_NAMED) findings.named.push(item);
  else findings.more++;
}
