import { formatAddress } from '../../protocol/address.ts';
import type { Located } from '../../protocol/message.ts';
import type { AddedMemory } from '../memory/add.ts';
import type { ListedMemory } from '../memory/list.ts';
import type { ReadMessage } from '../reading/read.ts';
import type { Replied } from '../reading/replies.ts';
import type { Sent } from '../sending/input.ts';

// What `--json` prints, under names that every other door uses as well.

/** A message as it is listed. */
export interface MessageJson {
  relPath: string;
  from: string;
  to: string[];
  timestamp: string;
  re: string[];
  body: string;
}

export function messageJson({ relPath, message }: Located): MessageJson {
  return {
    relPath,
    from: message.from,
    to: message.to.map(formatAddress),
    timestamp: message.timestamp,
    re: message.re,
    body: message.body,
  };
}

/** One message whole. */
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

export function readMessageJson(read: ReadMessage): ReadJson {
  const { message, channel, path, queued } = read;
  const { type, tier = null, host = null, cause, extra } = message;
  const place = { channel: channel.id, channel_name: channel.name, path, queued };
  return { ...place, ...messageJson(read), type, tier, host, cause, extra };
}

/** A message and what answers it. */
export interface RepliedJson {
  channel: string;
  message: string;
  state: 'PENDING' | 'REPLIED';
  replies: MessageJson[];
}

export function repliedJson({ ref, replies }: Replied): RepliedJson {
  return {
    channel: ref.channel,
    message: ref.relPath,
    state: replies.length === 0 ? 'PENDING' : 'REPLIED',
    replies: replies.map(messageJson),
  };
}

/** What came of sending. */
export interface SentJson {
  channel: string;
  from: string;
  status: 'sent' | 'queued';
  /** Why it is not on the remote yet. */
  reason: string | null;
  messages: Sent['messages'];
}

export function sentJson({ delivered, messages, channel, from }: Sent): SentJson {
  return {
    channel,
    from,
    status: delivered.published ? 'sent' : 'queued',
    reason: delivered.published ? null : delivered.reason,
    messages,
  };
}

/** A memory as it is listed, without its text. */
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

export function memoryJson(listed: ListedMemory): MemoryJson {
  const { file, memory, channel, superseded_by, queued } = listed;
  const { from, timestamp, subject, scope, alias, supersedes = null } = memory;
  const facts = { file, from, timestamp, subject, scope, channel, alias };
  return { ...facts, supersedes, superseded_by, queued };
}

/** A memory that was just written. */
export type AddedMemoryJson = Omit<MemoryJson, 'channel' | 'superseded_by' | 'queued'> & {
  status: 'remembered' | 'queued';
  reason: string | null;
};

export function addedMemoryJson({ file, memory, delivered }: AddedMemory): AddedMemoryJson {
  const { from, timestamp, subject, scope, alias, supersedes = null } = memory;
  return {
    file,
    status: delivered.published ? 'remembered' : 'queued',
    reason: delivered.published ? null : delivered.reason,
    ...{ from, timestamp, subject, scope, alias, supersedes },
  };
}
