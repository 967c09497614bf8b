import { CrosstalkError, reasonOf, type ErrorCode } from '../errors.ts';
import { TooLarge } from './body.ts';
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

export function json(value: unknown, status = 200): Response {
  return new Response(JSON.stringify(value), {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8' },
  });
}

export function problem(code: Code, message: string, status = STATUS[code]): Response {
  return json({ error: { code, message } } satisfies WebError, status);
}

/** Thrown where a request is refused with an answer of its own. */
export class Refusal extends Error {
  readonly response: Response;

  constructor(response: Response) {
    super('refused');
    this.name = 'Refusal';
    this.response = response;
  }
}

/** The answer to a request whose operation threw. */
export function problemOf(error: unknown): Response {
  if (error instanceof Refusal) return error.response;
  if (error instanceof TooLarge) return problem('too_large', error.message);
  const code = error instanceof CrosstalkError ? CODES[error.code] : undefined;
  return problem(code ?? 'internal', reasonOf(error));
}
