import { linkOf, type DispatchLink } from '../../agents/dispatch-variables.ts';
import { filesIn } from '../../protocol/attached.ts';
import { isRecord } from '../../state/files.ts';
import { dispatchOf, writerOf, type Surroundings, locateTransport } from '../locate.ts';
import type { SendInput, Sent } from './input.ts';
import { realpathSync } from 'node:fs';
import { findSocket } from '../../dispatcher/socket/socket-path.ts';
import { ask } from '../../dispatcher/socket/wake.ts';
import { likelyState } from '../../state/directory.ts';
import type { ErrorCode } from '../../errors.ts';
import { isChannelId, isName, isRelPath, relPathAt } from '../../protocol/layout.ts';
import { createHash } from 'node:crypto';
import { type Clock } from '../../clock.ts';

/** A {@link SendInput} for another process, which uses no environment. */
export interface HandedInput extends SendInput {
  /** The dispatch that links the message; absent if there is none. */
  link?: DispatchLink;
}

/** A `send` that one process delegates to another, with everything that makes its outcome reproducible. */
export interface HandedSend extends IdempotencyKey {
  /** The absolute path of its transport. */
  dir: string;
  /** All input of the `send`: nothing is taken from the environment of either process. */
  input: HandedInput;
}

/** Completes the input of a command from its surroundings: the sender, the channel and the link. */
export function handedInput(surroundings: Surroundings, input: SendInput): HandedInput {
  const dispatch = dispatchOf(surroundings);
  const link = linkOf(dispatch);
  const from = input.from ?? writerOf(surroundings);
  const channel = input.channel ?? dispatch.channel;
  return {
    ...input,
    ...(from !== undefined && { from }),
    ...(channel !== undefined && { channel }),
    ...(Object.keys(link).length > 0 && { link }),
  };
}

/** Fields of a message since talk.md, which a dispatcher of 6.0.0 would leave out without an error. */
const SINCE = ['reply', 'option', 'schema', 'cancels', 'only', 'one'] as const;

/**
 * Returns the operation with which a `send` is delegated. One with a field of talk.md has an operation
 * that an older dispatcher does not know; the command then does the work itself.
 */
export function sendOp({ options = [], files = [], ...input }: SendInput): 'send' | 'send_talk' {
  const isPlain =
    options.length + files.length === 0 && SINCE.every((key) => input[key] === undefined);
  return isPlain ? 'send' : 'send_talk';
}

/** Whether a value is a request; it comes from a command of the same user, perhaps of another version. */
export function isSendRequest(value: unknown): value is HandedSend {
  if (!isRecord(value) || !isRecord(value['input'])) return false;
  const { dir, id, at, seed, input } = value;
  if (input['link'] !== undefined && !isDispatchLink(input['link'])) return false;
  // A decision is made in the process of the person who decides; a delegated one is not valid.
  if (input['decision'] !== undefined || input['decides'] !== undefined) return false;
  if (input['files'] !== undefined && filesIn(input['files']) === undefined) return false;
  return [dir, id, at, seed, input['to'], input['body'], input['login']].every(
    (text) => typeof text === 'string',
  );
}

function isDispatchLink(value: unknown): value is DispatchLink {
  if (!isRecord(value)) return false;
  const { id, host, channel, tip, triggers = [] } = value;
  const isText = (text: unknown): boolean => text === undefined || typeof text === 'string';
  return (
    [id, host, channel, tip].every(isText) && Array.isArray(triggers) && triggers.every(isText)
  );
}

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
 * @returns undefined for anything that is not an answer: the command then does the work itself
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

/** Milliseconds to wait for the dispatcher. */
export const ANSWER_LIMIT_MS = 30_000;

/**
 * The dispatcher's answer to a delegated `send`; `timeout` when it does not answer in time, undefined
 * when there is none, or when it leaves the work to the command.
 */
export type Answered = SendAnswer | 'timeout' | undefined;

/** Address on which a dispatcher listens that could send something. */
interface Listener {
  /** The absolute path of the transport. */
  dir: string;
  state: NonNullable<ReturnType<typeof likelyState>>;
}

/**
 * Returns the place of the dispatcher of a command's transport, which need not run.
 *
 * @throws CrosstalkError `not_found` without a transport
 */
export function listenerFor(
  surroundings: Surroundings,
  transport: string | undefined,
): Listener | undefined {
  const dir = realpathSync.native(locateTransport(surroundings, transport));
  const state = likelyState(surroundings.env, dir);
  return state && { dir, state };
}

/** Whether there is a socket: of the dispatcher, or of one that was killed. */
export function isHeard({ state }: Listener): boolean {
  return findSocket(state.socket).kind === 'found';
}

/**
 * Asks a dispatcher to send a message.
 *
 * @param onAsked called once the request was written; the dispatcher may have the message by then
 */
export async function askToSend(
  { dir, state }: Listener,
  request: Omit<HandedSend, 'dir'>,
  onAsked?: () => void,
): Promise<Answered> {
  const question = { op: sendOp(request.input), request: { ...request, dir } };
  let isNobody = false;
  // A request that cannot be written calls back as well, when it is known that there is no dispatcher.
  const onWritten = (): void => {
    setImmediate(() => {
      if (!isNobody) onAsked?.();
    });
  };
  const asked = await ask(state.socket, question, ANSWER_LIMIT_MS, undefined, onWritten);
  isNobody = asked.kind === 'nobody';
  if (asked.kind === 'answered') return parseSendAnswer(asked.answer.send);
  return asked.kind === 'timeout' ? 'timeout' : undefined;
}

/** The values that make the outcome of a piece of work reproducible. */
export interface IdempotencyKey {
  /** Id of the outbox entry; a newly created one is a ULID. */
  id: string;
  /** Time, ISO 8601 in UTC. */
  at: string;
  /** Seed from a CSPRNG, from which the suffixes of the messages are derived. */
  seed: string;
}

/** Creates the values for work that starts now. */
export function newIdempotencyKey({
  newId,
  now,
  secret,
}: Pick<Clock, 'newId' | 'now' | 'secret'>): IdempotencyKey {
  return { id: newId(), at: now().toISOString(), seed: secret(16) };
}

/** Derives the suffix of one message of a `send`: as random as the seed, and reproducible. */
export function suffixOf(seed: string, serial: number): string {
  return createHash('sha256')
    .update(`${seed}/${String(serial)}`)
    .digest('hex')
    .slice(0, 12);
}

/** Returns the relPath of the first message of a `send` in its channel. */
export function firstPath({ at, seed }: IdempotencyKey): string {
  return relPathAt(new Date(at), suffixOf(seed, 0));
}
