import type { WebError } from '../../api/api.ts';

/** A refusal of the server, with its message. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  /** Whether the request may have had its effect all the same. */
  readonly isUnsure: boolean;

  constructor(status: number, code: string, message: string, isUnsure = status === 0) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.code = code;
    this.isUnsure = isUnsure;
  }

  /** Returns the same error, after an attempt whose outcome is unknown. */
  unsure(): ApiError {
    return new ApiError(this.status, this.code, this.message, true);
  }
}

/** Milliseconds that an answer may take: a first search of a large bus takes long, a send does not. */
const READ_LIMIT_MS = 60_000;
const WRITE_LIMIT_MS = 15_000;

/** Reason for which a request was aborted that took too long. */
const LATE = 'late';

/** Shown when a request received no answer at all. */
const UNREACHABLE = 'The server cannot be reached; is `crosstalk web` still running?';

/**
 * Sends a request to the server.
 *
 * @param path below `/api/`
 * @throws ApiError when the server refuses, with status 0 when it cannot be reached or is silent
 */
export function get<T>(
  path: string,
  query: Record<string, string | number | undefined> = {},
  signal?: AbortSignal,
): Promise<T> {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, String(value)] as [string, string]],
  );
  const asked = new URLSearchParams(given).toString();
  return call<T>(`/api/${path}${asked === '' ? '' : `?${asked}`}`, {
    ...(signal !== undefined && { signal }),
  });
}

/**
 * Sends a request that writes.
 *
 * @param limit milliseconds that the answer may take
 * @throws ApiError as {@link get}
 */
export function post<T>(
  path: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
  limit = WRITE_LIMIT_MS,
): Promise<T> {
  const init = {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  };
  return call<T>(`/api/${path}`, init, limit);
}

async function call<T>(address: string, init: RequestInit, limit = READ_LIMIT_MS): Promise<T> {
  const ended = new AbortController();
  const { signal } = ended;
  const timer = setTimeout(() => {
    ended.abort(LATE);
  }, limit);
  init.signal?.addEventListener('abort', () => {
    ended.abort();
  });
  if (init.signal?.aborted === true) ended.abort();
  try {
    const answer = await fetch(address, { ...init, signal, credentials: 'same-origin' });
    return await valueOf<T>(answer, signal);
  } catch (error) {
    if (error instanceof ApiError || init.signal?.aborted === true) throw error;
    if (signal.reason !== LATE) throw new ApiError(0, 'unreachable', UNREACHABLE);
    const words = `The server has not answered for ${String(limit / 1000)} s; it may be stopped, or the tunnel to it stalled.`;
    throw new ApiError(0, 'silent', words);
  } finally {
    clearTimeout(timer);
  }
}

/** Returns the value of an answer. @throws ApiError for a refusal */
async function valueOf<T>(answer: Response, signal: AbortSignal): Promise<T> {
  const body = (await answer.json().catch((error: unknown) => {
    if (signal.aborted || answer.ok) throw error;
  })) as unknown;
  if (answer.ok) return body as T;
  const { code, message } = (body as Partial<WebError> | undefined)?.error ?? {};
  // A proxy says so when it does not reach the server.
  const isAway = code === undefined && [502, 503, 504].includes(answer.status);
  throw new ApiError(
    isAway ? 0 : answer.status,
    code ?? 'internal',
    message ?? (isAway ? UNREACHABLE : `The server answered with status ${String(answer.status)}.`),
  );
}

/** Shown when the server does not know the cookie of this browser. */
export const LOCKED =
  'The server was started again with a new token. Open the new address that crosstalk web printed; what you typed is kept in this browser.';

/** Returns the message of an error, for people. */
export function wordsOf(error: unknown): string {
  if (error instanceof ApiError && error.status === 401) return LOCKED;
  return error instanceof Error ? error.message : String(error);
}
