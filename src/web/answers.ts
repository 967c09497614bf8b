import { CrosstalkError, reasonOf, type ErrorCode } from '../errors.ts';
import type { WebError } from '../api/api.ts';

type Code = WebError['error']['code'];

const STATUS: Readonly<Record<Code, number>> = {
  usage: 400,
  unauthorized: 401,
  forbidden: 403,
  read_only: 403,
  not_found: 404,
  ambiguous: 409,
  refused: 409,
  too_large: 413,
  invalid: 422,
  internal: 500,
};

const CODES: Partial<Record<ErrorCode, Code>> = {
  usage: 'usage',
  not_found: 'not_found',
  ambiguous: 'ambiguous',
  invalid: 'invalid',
  refused: 'refused',
  held: 'refused',
  locked: 'refused',
};

/**
 * Leaves out what programs of this machine have printed, for whoever may not watch it: the last line of a failed run
 * may be a key. It is the second argument of `JSON.stringify`.
 */
export function withoutPrinted(this: unknown, key: string, value: unknown): unknown {
  const of = this as Record<string, unknown>;
  if (key === 'said' && typeof value === 'string') return 'attempts' in of ? null : undefined;
  return key === 'detail' && 'attempts_since_release' in of ? '' : value;
}

/** @param replacer as `JSON.stringify` takes it */
export function json(value: unknown, status = 200, replacer?: typeof withoutPrinted): Response {
  return new Response(JSON.stringify(value, replacer), {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8' },
  });
}

export function problem(code: Code, message: string, status = STATUS[code]): Response {
  return json({ error: { code, message } } satisfies WebError, status);
}

/** An error that refuses a request with a response of its own. */
export class Refusal extends Error {
  readonly response: Response;

  constructor(response: Response) {
    super('refused');
    this.name = 'Refusal';
    this.response = response;
  }
}

/** Returns the response to a request whose operation threw. */
export function problemOf(error: unknown): Response {
  if (error instanceof Refusal) return error.response;
  if (error instanceof TooLarge) return problem('too_large', error.message);
  const code = error instanceof CrosstalkError ? CODES[error.code] : undefined;
  return problem(code ?? 'internal', reasonOf(error));
}

/** Maximum bytes of a body: a message of 1 MiB, in which each byte may take six in JSON, and the other fields. */
const MAX_BODY = 6 * 1024 * 1024 + 64 * 1024;

/** The error for a body that is too large. */
class TooLarge extends Error {
  /** @param limit bytes */
  constructor(limit: number) {
    super(`the body is larger than ${String(limit)} bytes; send less`);
    this.name = 'TooLarge';
  }
}

type Headed = Pick<Request, 'headers'>;

/** Whether a request announces a body; it may still be empty. */
export function hasBody({ headers }: Headed): boolean {
  return headers.has('transfer-encoding') || (headers.get('content-length') ?? '0') !== '0';
}

/**
 * Refuses a body by the size it announces, before any of it is read.
 *
 * @throws TooLarge
 */
export function assertAnnounced({ headers }: Headed, limit = MAX_BODY): void {
  if (Number(headers.get('content-length') ?? '0') > limit) throw new TooLarge(limit);
}

/**
 * Reads the JSON in the body of a request, at most `limit` bytes, whether or not its size was announced.
 *
 * @throws CrosstalkError `usage` for a body that is not JSON
 * @throws TooLarge
 */
export async function jsonIn(request: Request, limit = MAX_BODY): Promise<unknown> {
  const bytes = await bytesIn(request, limit);
  try {
    return JSON.parse(bytes.toString());
  } catch (error) {
    throw new CrosstalkError('usage', 'the body is not JSON', { cause: error });
  }
}

/**
 * Reads the body of a request, at most `limit` bytes.
 *
 * @throws TooLarge
 */
export async function bytesIn(request: Request, limit: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  await eachIn(request, limit, (chunk) => chunks.push(chunk));
  return Buffer.concat(chunks);
}

/**
 * Reads a body piece by piece, at most `limit` bytes, without keeping it.
 *
 * @throws TooLarge
 */
export async function eachIn(
  request: Request,
  limit: number | undefined,
  take: (chunk: Uint8Array) => void,
): Promise<void> {
  assertAnnounced(request, limit);
  let size = 0;
  const body: ReadableStream<Uint8Array> | null = request.body;
  const reader = body?.getReader();
  for (let read = await reader?.read(); read?.done === false; read = await reader?.read()) {
    size += read.value.byteLength;
    if (size > (limit ?? MAX_BODY)) throw new TooLarge(limit ?? MAX_BODY);
    take(read.value);
  }
}
