import { isRecord } from '../../state/files.ts';
import type { Failure } from '../../transport/transport.ts';
import type { PublishOutcome } from '../../bus/publisher.ts';

/** What a line asks for; undefined for one that is no request. */
export function parseRequest(line: string): WakeRequest | undefined {
  const { op, ids, request, tip } = parseRecord(line);
  if (op === 'ping' || op === 'wake') return { op };
  if (op === 'news') return typeof tip === 'string' ? { op, tip } : undefined;
  if (op === 'send') return { op, request };
  if (op !== 'publish' || !Array.isArray(ids)) return undefined;
  return { op, ids: ids.filter((id): id is string => typeof id === 'string') };
}

/** What a line answers, taken apart as if anybody had written it; undefined for one that is no answer. */
export function parseAnswer(line: string): WakeAnswer | undefined {
  const { pid, tip, send, outcomes } = parseRecord(line);
  if (typeof pid !== 'number' || !Number.isSafeInteger(pid)) return undefined;
  return {
    pid,
    ...(typeof tip === 'string' && { tip }),
    ...(send !== undefined && { send }),
    ...(isRecord(outcomes) && { outcomes: parseOutcomes(outcomes) }),
  };
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
    ? { kind: kind as Failure['kind'], reason }
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

/** What other processes of this machine may ask the dispatcher, one JSON object a line. */
export type WakeRequest =
  | { op: 'ping' }
  | { op: 'wake' }
  /** Publish entries that are in the outbox already; answered once each was pushed or failed. */
  | { op: 'publish'; ids: string[] }
  /** Answered once the bus's tip is another than this, at once if it is already. */
  | { op: 'news'; tip: string }
  /** Write and publish a message; whoever made the dispatcher knows how. */
  | { op: 'send'; request: unknown };

export interface WakeAnswer {
  pid: number;
  tip?: string;
  send?: unknown;
  outcomes?: Record<string, PublishOutcome>;
}
