import { formatAddress } from '../../protocol/address.ts';
import type { Located } from '../../protocol/message.ts';
import type { Outcome } from '../../protocol/owed.ts';
import { talkHeader, type TalkFields } from '../../protocol/talk.ts';
import type { AddedMemory } from '../memory/add.ts';
import type { ListedMemory } from '../memory/list.ts';
import type { InboxEntry } from '../lookup/inbox.ts';
import type { ReadMessage } from '../reading/read.ts';
import type { Replied } from '../reading/replies.ts';
import type { Sent } from '../sending/input.ts';
import type { Failed } from '../waiting/standing.ts';

// The output of `--json`; the MCP tools and the page use the same names.

/** A message in a list. */
export interface MessageJson extends TalkFields {
  relPath: string;
  from: string;
  to: string[];
  timestamp: string;
  re: string[];
  /** Whether its writer has signed it; only where a key of that name is pinned here. */
  verified?: boolean;
  body: string;
}

/** Converts a message of a list to JSON. */
export function messageJson({ relPath, message, verified }: Located): MessageJson {
  return {
    relPath,
    from: message.from,
    to: message.to.map(formatAddress),
    timestamp: message.timestamp,
    re: message.re,
    ...(verified !== undefined && { verified }),
    ...talkHeader(message),
    body: message.body,
  };
}

/** A message of an inbox. */
export interface InboxJson extends MessageJson {
  channel: string;
  channel_name: string;
  unread: boolean;
  /** Whether it asks something that was not answered yet. */
  waits_for_you: boolean;
}

/** Converts a message of an inbox to JSON. */
export function inboxJson({ channel, unread, asks, ...located }: InboxEntry): InboxJson {
  const place = { channel: channel.id, channel_name: channel.name, unread, waits_for_you: asks };
  return { ...place, ...messageJson(located) };
}

/** One complete message. */
export interface ReadJson extends MessageJson {
  channel: string;
  channel_name: string;
  path: string;
  queued: boolean;
  type: string;
  tier: string | null;
  host: string | null;
  cause: string[];
  extra: Record<string, unknown>;
}

/** Converts a complete message to JSON. */
export function readMessageJson(read: ReadMessage): ReadJson {
  const { message, channel, path, queued } = read;
  const { type, tier = null, host = null, cause, extra } = message;
  const place = { channel: channel.id, channel_name: channel.name, path, queued };
  return { ...place, ...messageJson(read), type, tier, host, cause, extra };
}

/** A message and its answers. */
export interface RepliedJson {
  channel: string;
  message: string;
  state: Outcome;
  replies: MessageJson[];
  /** The deliveries that came to nothing, as long as there is no answer. */
  failures: Failed[];
  /** What holds the answer up, a line for each cause; empty unless it was waited for. */
  held_up: string[];
}

/** Converts a message and its answers to JSON. */
export function repliedJson({ ref, state, replies, failures, held_up }: Replied): RepliedJson {
  return {
    channel: ref.channel,
    message: ref.relPath,
    state,
    replies: replies.map(messageJson),
    failures,
    held_up,
  };
}

/** The result of sending. */
export interface SentJson {
  channel: string;
  from: string;
  status: 'sent' | 'queued';
  /** Why it is not on the remote yet. */
  reason: string | null;
  messages: Sent['messages'];
}

/** Converts the result of sending to JSON. */
export function sentJson({ delivered, messages, channel, from }: Sent): SentJson {
  return {
    channel,
    from,
    status: delivered.published ? 'sent' : 'queued',
    reason: delivered.published ? null : delivered.reason,
    messages,
  };
}

/** A memory in a list, without its text. */
export interface MemoryJson {
  file: string;
  from: string;
  timestamp: string;
  subject: string;
  scope: string;
  channel: string | null;
  alias: string[];
  supersedes: string | null;
  superseded_by: string | null;
  queued: boolean;
}

/** Converts a memory of a list to JSON. */
export function memoryJson(listed: ListedMemory): MemoryJson {
  const { file, memory, channel, superseded_by, queued } = listed;
  const { from, timestamp, subject, scope, alias, supersedes = null } = memory;
  const facts = { file, from, timestamp, subject, scope, channel, alias };
  return { ...facts, supersedes, superseded_by, queued };
}

/** A memory that was just created. */
export type AddedMemoryJson = Omit<MemoryJson, 'channel' | 'superseded_by' | 'queued'> & {
  status: 'remembered' | 'queued';
  reason: string | null;
};

/** Converts a newly created memory to JSON. */
export function addedMemoryJson({ file, memory, delivered }: AddedMemory): AddedMemoryJson {
  const { from, timestamp, subject, scope, alias, supersedes = null } = memory;
  return {
    file,
    status: delivered.published ? 'remembered' : 'queued',
    reason: delivered.published ? null : delivered.reason,
    ...{ from, timestamp, subject, scope, alias, supersedes },
  };
}
