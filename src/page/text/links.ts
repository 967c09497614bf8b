/** The schemes of links that may be followed; any other link stays text. */
const SCHEMES: readonly string[] = ['http:', 'https:', 'mailto:'];

/**
 * The address a link of a message leads to, or undefined for one that is not followed: a link with
 * any scheme except http, https and mailto, and an address relative to this page.
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
