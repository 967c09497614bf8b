/** What a link in a message may lead to; all else stays the text that it is. */
const SCHEMES: readonly string[] = ['http:', 'https:', 'mailto:'];

/**
 * The address a link of a message leads to, or undefined for one that is not followed: any scheme
 * but http, https and mailto, and addresses relative to this page.
 */
export function safeLink(href: string): string | undefined {
  let url: URL;
  try {
    url = new URL(href);
  } catch {
    return undefined;
  }
  return SCHEMES.includes(url.protocol) ? url.href : undefined;
}
