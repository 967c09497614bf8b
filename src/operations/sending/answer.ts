import type { ErrorCode } from '../../errors.ts';
import { isChannelId, isName, isRelPath } from '../../protocol/names.ts';
import { isRecord } from '../../state/files.ts';
import type { Sent } from './input.ts';

const OID = /^[0-9a-f]{40}([0-9a-f]{24})?$/;

/** The error codes that an answer may contain; any other becomes `internal`. */
const CODES: readonly string[] = [
  'usage',
  'not_found',
  'ambiguous',
  'invalid',
  'git_failed',
  'locked',
  'unsupported_version',
  'timed_out',
  'refused',
  'held',
] satisfies ErrorCode[];

/**
 * Parses the answer to a `send` that arrived over a socket, without trusting its sender.
 *
 * @returns undefined for what is not an answer: the command then does the work itself
 */
export function parseSendAnswer(value: unknown): SendAnswer | undefined {
  if (!isRecord(value)) return undefined;
  const notes = textsOf(value['notes']);
  const { error } = value;
  if (isRecord(error) && typeof error['message'] === 'string') {
    const code = CODES.includes(String(error['code'])) ? (error['code'] as ErrorCode) : 'internal';
    return { error: { code, message: error['message'] }, notes };
  }
  const sent = parseSent(value['sent']);
  const { since } = value;
  if (sent === undefined) return undefined;
  return { sent, notes, ...(typeof since === 'string' && OID.test(since) && { since }) };
}

function parseSent(value: unknown): Sent | undefined {
  if (!isRecord(value) || !isRecord(value['delivered']) || !Array.isArray(value['messages']))
    return undefined;
  const { channel, from, delivered } = value;
  const { published, direct, reason } = delivered;
  const messages = value['messages'].map(parseMessage);
  if (typeof channel !== 'string' || !isName(from)) return undefined;
  if (messages.length === 0 || messages.some((one) => one === undefined)) return undefined;
  return {
    channel,
    from,
    messages: messages.filter((one) => one !== undefined),
    delivered:
      published === true
        ? { published, direct: direct === true }
        : { published: false, reason: typeof reason === 'string' ? reason : 'no reason given' },
  };
}

function parseMessage(value: unknown): Sent['messages'][number] | undefined {
  if (!isRecord(value) || !isRelPath(value['relPath'])) return undefined;
  const { relPath, channel, to, re, cause } = value;
  const where = isChannelId(channel) ? { channel } : {};
  return { relPath, ...where, to: textsOf(to), re: textsOf(re), cause: textsOf(cause) };
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one): one is string => typeof one === 'string') : [];
}

/** The answer of the dispatcher. */
export interface SendAnswer {
  sent?: Sent;
  /** A commit before it was on the bus. */
  since?: string;
  error?: { code: ErrorCode; message: string };
  /** Lines for the operator. */
  notes: string[];
}
