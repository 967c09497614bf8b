/** Whether a text is on one line, has no control characters, and is not blank. */
export function isOneLine(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '' && !/\p{Cc}/u.test(value);
}
