import { withoutCredentials, withoutCredentialsIn } from './credentials.ts';

/** Every expected failure has a stable code; see docs/failures.md. */
export type ErrorCode =
  | 'usage'
  | 'not_found'
  | 'ambiguous'
  | 'invalid'
  | 'git_failed'
  | 'locked'
  | 'unsupported_version'
  | 'timed_out'
  | 'aborted'
  | 'refused'
  | 'held'
  | 'internal';

/**
 * The one error class that operations throw. `message` is the line the user reads: what failed,
 * where, the value that was seen, and what to do next. `data` holds the same facts for `--json`.
 * Neither ever contains the credentials of a URL, wherever the text came from (trust.md §5).
 */
export class CrosstalkError extends Error {
  readonly code: ErrorCode;
  readonly data: Readonly<Record<string, unknown>>;

  constructor(
    code: ErrorCode,
    message: string,
    options: { data?: Record<string, unknown>; cause?: unknown } = {},
  ) {
    super(
      withoutCredentials(message),
      options.cause === undefined ? undefined : { cause: options.cause },
    );
    this.name = 'CrosstalkError';
    this.code = code;
    this.data = withoutCredentialsIn(options.data ?? {});
  }
}

/** Returns the message of any value that was thrown, on one line, without credentials. */
export function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  const lines = text.split('\n').map((line) => line.trim());
  return withoutCredentials(lines.filter((line) => line !== '').join(' · '));
}

/**
 * Whether an error is a Node system error, such as that of a full disk. Our own errors have a code too, but
 * are not system errors.
 */
export function isSystemError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { errno, cause } = error as NodeJS.ErrnoException;
  return typeof errno === 'number' || isSystemError(cause);
}

/** Whether an error is a Node system error with this code, such as ENOENT. */
export function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && (error as NodeJS.ErrnoException).code === code;
}
