/** Escapes of characters that need none. Both forms are equivalent. */
const NEEDLESS = /%(?:2[DE]|3\d|4[1-9A-F]|5[0-9AF]|6[1-9A-F]|7[0-9AE])/gi;

/** A percent sign that is not an escape; after the replacement of later escapes, it must not become one. */
const STRAY = /%(?![0-9A-F]{2})/gi;

/**
 * Returns the path of a request in the one form that all code here uses: for permissions, routes, files
 * and counts. Two guards that parse a path differently would leave a gap between them.
 *
 * Escapes of letters, digits and `-._~` are decoded, dots have been resolved by the URL's parser, and
 * several slashes in a row count as one. Other escapes stay, since `%2F` in a name is no separator.
 *
 * @param address the absolute address of the request
 */
export function pathOf(address: string): string {
  return new URL(address).pathname
    .replace(STRAY, '%25')
    .replace(NEEDLESS, decodeURIComponent)
    .replace(/\/{2,}/g, '/');
}

/** Whether a path belongs to the API, in upper or lower case. */
export function isApi(path: string): boolean {
  const lower = path.toLowerCase();
  return lower === '/api' || lower.startsWith('/api/') || lower === '/metrics';
}

/** The headers by which forges authenticate a push webhook; `webhook.ts` verifies them. */
export const FORGE_HEADERS = [
  'X-Hub-Signature-256',
  'X-Forgejo-Signature',
  'X-Gitea-Signature',
  'webhook-signature',
  'X-Gitlab-Token',
] as const;

/** Whether a request reports an event, or a push: it authenticates itself (`webhook.ts`), without a cookie. */
export function isWebhook(method: string, path: string, has: (header: string) => boolean): boolean {
  if (method !== 'POST') return false;
  return /^\/api\/events\/[^/]+$/.test(path) || (path === '/api/wake' && FORGE_HEADERS.some(has));
}

/** The paths whose answers do not end. */
export const STREAMS: ReadonlySet<string> = new Set(['/api/events']);
