const SCHEMES = ['nats:', 'tls:'];

/** Splits a `crosstalk.bell` into its servers, unparsed: separated by commas or spaces. */
export function serversIn(text: string): string[] {
  return text.split(/[\s,]+/).filter((one) => one !== '');
}

/** Parses the address of a server of a bell; undefined for anything else. */
export function serverUrl(text: string): URL | undefined {
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  const plain = url.pathname === '' || url.pathname === '/';
  const isServer = SCHEMES.includes(url.protocol) && url.hostname !== '' && plain;
  return isServer && url.search === '' && url.hash === '' ? url : undefined;
}

/**
 * Returns a `crosstalk.bell` without logins, so that it may be shown. If the list is valid, all servers are shown;
 * otherwise, as it is never used, only the text after the last `@`: a password may contain any other separator of a URL
 * or a list. A query, which no server has, may hold a token.
 *
 * @param login text in the place of a login
 */
export function shownServers(text: string, login = ''): string {
  const urls = serversIn(text).map(serverUrl);
  if (urls.every((url) => url !== undefined))
    return urls
      .map(({ protocol, host, username, password }) => {
        const hasLogin = username !== '' || password !== '';
        return `${protocol}//${hasLogin ? login : ''}${host}`;
      })
      .join(',');
  const at = text.lastIndexOf('@');
  const rest = at < 0 ? text : login + text.slice(at + 1);
  return rest.replace(/[?#][^\s,]+/g, '?***');
}
