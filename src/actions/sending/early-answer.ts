import { lstat } from 'node:fs/promises';
import { ask } from '../../dispatcher/socket/wake.ts';
import type { EarlyReply } from '../../dispatcher/socket/early-replies.ts';
import { hasCode } from '../../errors.ts';
import type { Address } from '../../protocol/address.ts';
import type { Located } from '../../protocol/message.ts';
import { type MessageRef, isName, isRelPath, isSender } from '../../protocol/layout.ts';
import { isRecord } from '../../state/files.ts';
import type { Replied } from '../reading/replies.ts';
import type { DispatcherPlace } from './send.ts';

/**
 * Waits a moment for a plain answer to a question that the dispatcher has just sent. The dispatcher sends it as soon
 * as the remote has it, so that this process need not open the transport beside the answering ones
 * (docs/decisions/28-starting.md).
 *
 * @param limits `timeout`: milliseconds
 * @returns undefined where there is none in that time, or one that takes a closer look: the caller then looks for
 * itself
 */
export async function earlyAnswer(
  state: Omit<DispatcherPlace, 'seen'>,
  ref: MessageRef,
  { timeout, signal }: { timeout: number; signal: AbortSignal },
): Promise<Replied | undefined> {
  // An operator who pins keys sees whether the answer is signed.
  const pinned = await lstat(state.pins).catch((error: unknown) => !hasCode(error, 'ENOENT'));
  if (pinned !== false) return undefined;
  const request = { op: 'reply', channel: ref.channel, relPath: ref.relPath } as const;
  const asked = await ask(state.socket, request, timeout, signal);
  const reply = asked.kind === 'answered' ? parseReply(asked.answer.reply) : undefined;
  if (reply?.re.includes(ref.relPath) !== true) return undefined;
  const { relPath, ...said } = reply;
  const answer: Located = { relPath, message: { ...said, type: 'text', cause: [], extra: {} } };
  return {
    ref,
    question: undefined,
    replies: [answer],
    ...{ caused: [], returned: [], owing: [], failures: [], silent: [], held_up: [] },
    cancelled: undefined,
    state: 'REPLIED',
    isOver: true,
  };
}

/** Parses the reply that the dispatcher sends, without trusting it. */
function parseReply(value: unknown): EarlyReply | undefined {
  if (!isRecord(value)) return undefined;
  const { relPath, from, to, timestamp, re, body } = value;
  if (!isRelPath(relPath) || !isSender(from) || typeof body !== 'string') return undefined;
  if (typeof timestamp !== 'string' || !isList(to, isAddress) || !isList(re, isText))
    return undefined;
  return { relPath, from, to, timestamp, re, body };
}

function isList<T>(value: unknown, isOne: (one: unknown) => one is T): value is T[] {
  return Array.isArray(value) && value.every(isOne);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isAddress(value: unknown): value is Address {
  if (!isRecord(value)) return false;
  const { name, host } = value;
  return isSender(name) && (host === undefined || isName(host));
}
