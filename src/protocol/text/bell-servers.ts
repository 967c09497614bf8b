const SCHEMES = ['nats:', 'tls:'];

/** The servers in a `crosstalk.bell`, each as it stands there: separated by commas or spaces. */
export function serversIn(text: string): string[] {
  return text.split(/[\s,]+/).filter((one) => one !== '');
}

/** The address of a server of a bell; undefined for whatever is none. */
export function serverUrl(text: string): URL | undefined {
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  const plain = url.pathname === '' || url.pathname === '/';
  const isServer = SCHEMES.includes(url.protocol) && url.hostname !== '' && plain;
  return isServer && url.search === '' && url.hash === '' ? url : undefined;
}

/**
 * A `crosstalk.bell` without logins, so that it may be shown. Of a list that can be read, all servers are
 * shown; of another one, which is never used, only what follows the last `@`: a password may hold anything
 * else that separates the parts of a URL or of a list. A query, which no server has, may hold a token.
 *
 * @param login what stands in the place of a login
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
