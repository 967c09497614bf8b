import { isRecord, isTime } from '../../state/files.ts';
import { isChannelId, isRelPath } from '../../protocol/layout.ts';
import type { TrackedError } from '../../bus/stalled-jobs.ts';
import { failureKind, type Failure } from '../../transport/git/failure.ts';
import type { PublishOutcome } from '../../bus/publisher.ts';

/** Parses a request from a line; undefined when the line is not a request. */
export function parseRequest(line: string): WakeRequest | undefined {
  const { op, ids, request, tip, channel, relPath } = parseRecord(line);
  if (op === 'ping' || op === 'wake') return { op };
  if (op === 'news') return typeof tip === 'string' ? { op, tip } : undefined;
  if (op === 'reply')
    return isChannelId(channel) && isRelPath(relPath) ? { op, channel, relPath } : undefined;
  if (op === 'send' || op === 'send_talk') return { op, request };
  if ((op !== 'publish' && op !== 'publish_files') || !Array.isArray(ids)) return undefined;
  const named = ids.filter((id): id is string => typeof id === 'string');
  return { op, ids: [...new Set(named)] };
}

/**
 * Parses an answer from a line, without trusting its sender; undefined when the line is not an
 * answer.
 */
export function parseAnswer(line: string): WakeAnswer | undefined {
  const { pid, tip, send, reply, outcomes, unrecorded } = parseRecord(line);
  if (typeof pid !== 'number' || !Number.isSafeInteger(pid)) return undefined;
  return {
    pid,
    ...(typeof tip === 'string' && { tip }),
    ...(send !== undefined && { send }),
    ...(reply !== undefined && { reply }),
    ...(isRecord(outcomes) && { outcomes: parseOutcomes(outcomes) }),
    ...(isTrouble(unrecorded) && { unrecorded }),
  };
}

function isTrouble(value: unknown): value is TrackedError {
  return isRecord(value) && isTime(value['since']) && typeof value['reason'] === 'string';
}

function parseOutcomes(value: Record<string, unknown>): Record<string, PublishOutcome> {
  const outcomes = Object.entries(value).flatMap(([id, one]): [string, PublishOutcome][] => {
    if (!isRecord(one)) return [];
    if (one['published'] === true) return [[id, { published: true }]];
    const failure = parseFailure(one['failure']);
    return failure === undefined ? [] : [[id, { published: false, failure }]];
  });
  return Object.fromEntries(outcomes);
}

function parseFailure(value: unknown): Failure | undefined {
  if (!isRecord(value)) return undefined;
  const { kind, reason } = value;
  return typeof kind === 'string' && typeof reason === 'string'
    ? { kind: failureKind(kind), reason }
    : undefined;
}

function parseRecord(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : {};
  } catch {
    return {};
  }
}

/**
 * Request of another process of this machine to the dispatcher, as one JSON object per line. Requests with attached
 * files have names of their own: a dispatcher of an older version would send a message without them, and does not
 * understand these.
 */
export type WakeRequest =
  | { op: 'ping' }
  | { op: 'wake' }
  /**
   * Publish entries that are already in the outbox; answered once each of them was pushed or has
   * failed.
   */
  | { op: 'publish' | 'publish_files'; ids: string[] }
  /** Answered once the bus's tip differs from this one, which may be immediately. */
  | { op: 'news'; tip: string }
  /** Answered once the dispatcher has pushed a reply to a message; see {@link EarlyReplies}. */
  | { op: 'reply'; channel: string; relPath: string }
  /** Write and publish a message; the creator of the dispatcher supplies the function for this. */
  | { op: 'send' | 'send_talk'; request: unknown };

export interface WakeAnswer {
  pid: number;
  tip?: string;
  send?: unknown;
  reply?: unknown;
  outcomes?: Record<string, PublishOutcome>;
  /** Time since which the outcome of a run cannot be recorded, and the reason; sent with a `ping`. */
  unrecorded?: TrackedError;
}
