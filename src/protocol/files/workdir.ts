/**
 * Whether a text can name the folder of a tier: absolute or below the home folder, and without control
 * characters.
 */
export function isWorkdir(text: unknown): text is string {
  return typeof text === 'string' && /^(?:\/|~(?:\/|$))/.test(text) && !/\p{Cc}/u.test(text);
}
