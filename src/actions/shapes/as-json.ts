import { formatAddress } from '../../protocol/address.ts';
import type { Located } from '../../protocol/message.ts';
import { asksSeveral, type Outcome } from '../../protocol/owed.ts';
import { talkHeader, type TalkFields } from '../../protocol/talk.ts';
import type { Channel } from '../../protocol/files/channel.ts';
import type { Memory, MemoryChange, MemoryKind } from '../../protocol/files/memory.ts';
import type { ListedMemory } from '../memory/list.ts';
import type { LoggedMemory } from '../memory/log.ts';
import type { AddedMemory } from '../memory/add.ts';
import type { Cancellation } from '../lookup/taken-back.ts';
import type { InboxEntry } from '../state/inbox.ts';
import type { ReadMessage } from '../reading/read.ts';
import type { Replied } from '../reading/replies.ts';
import type { Sent } from '../sending/input.ts';
import type { WebFailed, WebForce, WebTaken } from '../../api/api.ts';

// The output of `--json`; the MCP tools and the page use the same names.

/** Returns the fields of a channel in JSON, with the names in its file. */
export function channelJson<T extends Channel>({
  createdBy,
  createdAt,
  ...channel
}: T): Omit<T, 'createdBy' | 'createdAt'> & { created_by?: string; created_at?: string } {
  return {
    ...channel,
    ...(createdBy !== undefined && { created_by: createdBy }),
    ...(createdAt !== undefined && { created_at: createdAt }),
  };
}

/** A message in a list. */
export interface MessageJson extends TalkFields {
  relPath: string;
  from: string;
  to: string[];
  timestamp: string;
  re: string[];
  /** Whether its writer has signed it; only where a key of that name is pinned here. */
  verified?: boolean;
  /** The message by which it was taken back; `read` and `log` say it. */
  cancelled_by?: string;
  /** Effect of a message that cancels another one: `late` after the answer, which stays; `none`: its writer may not. */
  force?: WebForce;
  body: string;
}

/** Converts a message of a list to JSON. */
export function messageJson(
  located: Located & { cancelled?: Cancellation; force?: WebForce },
): MessageJson {
  const { relPath, message, verified, cancelled, force } = located;
  return {
    relPath,
    from: message.from,
    to: message.to.map(formatAddress),
    timestamp: message.timestamp,
    re: message.re,
    ...(verified !== undefined && { verified }),
    ...talkHeader(message),
    ...(cancelled && { cancelled_by: cancelled.relPath }),
    ...(force && { force }),
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
  /** The deliveries that came to nothing, as long as the only name that was asked has not answered. */
  failures: WebFailed[];
  /** The message by which its writer took it back; absent where nobody did. */
  cancelled?: string;
  /** Only where several were asked: those who have not answered. */
  unanswered?: string[];
  /** The host that has taken it; absent where none has, and where several names were asked, as `thread` has those. */
  taken?: WebTaken;
  /** Causes that hold the answer up, a line each; empty unless it was waited for. */
  held_up: string[];
}

/** Converts a message and its answers to JSON. */
export function repliedJson(followed: Replied): RepliedJson {
  const { ref, question, state, replies, failures, cancelled, owing, held_up } = followed;
  const isOne = !asksSeveral(question?.to ?? []);
  const taken = isOne ? owing.find((one) => one.taken !== undefined)?.taken : undefined;
  return {
    channel: ref.channel,
    message: ref.relPath,
    state,
    replies: replies.map(messageJson),
    failures,
    ...(cancelled && { cancelled: cancelled.relPath }),
    ...(taken && { taken }),
    ...(!isOne && {
      unanswered: owing.map(({ actor: name, host }) =>
        formatAddress({ name, ...(host !== undefined && { host }) }),
      ),
    }),
    held_up,
  };
}

/** The result of sending. */
export interface SentJson {
  channel: string;
  from: string;
  status: 'sent' | 'queued';
  /** Reason why it is not on the remote yet. */
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
  name: string | null;
  kind: MemoryKind;
  /** The first of those that it replaces. */
  supersedes: string | null;
  /** All others that it replaces. */
  supersedes_also: string[];
  superseded_by: string | null;
  change: MemoryChange | null;
  changed_by: string | null;
  queued: boolean;
}

type OwnMemoryJson = Omit<MemoryJson, 'channel' | 'superseded_by' | 'queued'>;

/** Converts a memory of a list to JSON. */
export function memoryJson(listed: ListedMemory): MemoryJson {
  const { channel, superseded_by, queued } = listed;
  return { ...ownMemoryJson(listed), channel, superseded_by, queued };
}

function ownMemoryJson({ file, memory }: { file: string; memory: Memory }): OwnMemoryJson {
  const { from, timestamp, subject, scope, alias, supersedes } = memory;
  const { name = null, change = null, changedBy = null } = memory;
  const kind: MemoryKind = memory.kind ?? 'note';
  const [first = null, ...also] = supersedes;
  const links = { supersedes: first, supersedes_also: also };
  const facts = { file, from, timestamp, subject, scope, alias, name, kind };
  return { ...facts, ...links, change, changed_by: changedBy };
}

/** A memory that was just created. */
export type AddedMemoryJson = OwnMemoryJson & {
  status: 'remembered' | 'queued';
  reason: string | null;
};

/** Converts a newly created memory to JSON. */
export function addedMemoryJson(added: AddedMemory): AddedMemoryJson {
  const { delivered } = added;
  return {
    status: delivered.published ? 'remembered' : 'queued',
    reason: delivered.published ? null : delivered.reason,
    ...ownMemoryJson(added),
  };
}

/** A change of the shared notes. */
export type LoggedMemoryJson = MemoryJson &
  Pick<LoggedMemory, 'at' | 'by' | 'what'> & {
    /** Whether it gave way to another of its name that does not supersede it. */
    same_name: boolean;
  };

/** Converts a change of the shared notes to JSON. */
export function loggedMemoryJson(logged: LoggedMemory): LoggedMemoryJson {
  const { at, by, what, outnamed } = logged;
  return { at, by, what, same_name: outnamed, ...memoryJson(logged) };
}
