import type { WebError } from '../../api/api.ts';

/** A refusal of the server, with its message. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.code = code;
  }
}

/** Shown when a request received no answer at all. */
const UNREACHABLE = 'The server cannot be reached; is `crosstalk web` still running?';

/**
 * Sends a request to the server.
 *
 * @param path below `/api/`
 * @throws ApiError when the server refuses, with status 0 when it cannot be reached
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

/** Sends a request that writes. @throws ApiError as {@link get} */
export function post<T>(path: string, body: unknown): Promise<T> {
  return call<T>(`/api/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}

async function call<T>(address: string, init: RequestInit): Promise<T> {
  let answer: Response;
  try {
    answer = await fetch(address, { ...init, credentials: 'same-origin' });
  } catch (error) {
    if (init.signal?.aborted === true) throw error;
    throw new ApiError(0, 'unreachable', UNREACHABLE);
  }
  const body = (await answer.json().catch(() => undefined)) as unknown;
  if (answer.ok) return body as T;
  const { code, message } = (body as Partial<WebError> | undefined)?.error ?? {};
  throw new ApiError(
    answer.status,
    code ?? 'internal',
    message ?? `The server answered with status ${String(answer.status)}.`,
  );
}

/** The message of an error, for people. */
export function wordsOf(error: unknown): string {
  if (error instanceof ApiError && error.status === 401)
    return 'This window is not let in: open the address that `crosstalk web` printed.';
  return error instanceof Error ? error.message : String(error);
}
