import { page, problem } from './answers.ts';
import { hasBody } from './body.ts';
import {
  cookieIn,
  cookieOf,
  isOurHost,
  isOurOrigin,
  isSame,
  pagePath,
  type Door,
} from './guard.ts';
import { isApi as isOfApi, pathOf, STREAMS } from './path.ts';

/** Who may access the server, and where it listens. */
export interface WebAccess {
  token: string;
  /** Known once the server listens. */
  door: () => Door;
}

/**
 * Checks every request before anything is done for it: the name by which it addresses the server,
 * the token, its origin, and whether it may write.
 */
export class RequestGuard {
  readonly #access: WebAccess;
  readonly #cookie: string;
  readonly #readOnly: boolean;

  constructor(access: WebAccess, readOnly: boolean) {
    this.#access = access;
    this.#cookie = cookieOf(access.token);
    this.#readOnly = readOnly;
  }

  /**
   * The refusal, or the answer to a request with the token in its address; undefined if the request
   * may proceed.
   */
  check(request: Request): Response | undefined {
    const door = this.#access.door();
    const header = (name: string): string | undefined => request.headers.get(name) ?? undefined;
    const [host, site] = [header('host'), header('sec-fetch-site')];
    if (!isOurHost(host, door))
      return problem('forbidden', 'the Host header names another server; use the address printed');
    const url = new URL(request.url);
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    const path = pathOf(request.url);
    const isApi = isOfApi(path);
    if (isRead && !isApi && url.searchParams.has('token')) return this.#enter(url, door);

    const name = cookieName(door);
    const byToken = this.#hasToken(header('authorization'));
    const byCookie = isSame(cookieIn(header('cookie'), name) ?? '', this.#cookie);
    if (!byToken && !byCookie)
      return isApi || !isRead ? unauthorized() : stranger(url, site, header('sec-fetch-mode'));
    if (isRead && !STREAMS.has(path)) {
      const isFromElsewhere = isApi && site !== undefined && site !== 'same-origin';
      return isFromElsewhere && site !== 'none' ? elsewhere() : undefined;
    }
    const origin = { host, origin: header('origin'), site };
    if (!isOurOrigin(origin, !byToken)) return elsewhere();
    if (isRead) return undefined;
    if (this.#readOnly)
      return problem(
        'read_only',
        'this server is read-only; start it without --read-only to write',
      );
    // Another method is refused by every path, whatever it sends.
    if (request.method !== 'POST') return undefined;
    const type = header('content-type');
    const isNothing = !hasBody(request) && (byToken || type === undefined);
    return isNothing || /^application\/json *(;|$)/i.test(type ?? '')
      ? undefined
      : problem('usage', 'the content-type has to be application/json', 415);
  }

  #hasToken(authorization: string | undefined): boolean {
    const [, given = ''] = /^Bearer +(\S+) *$/i.exec(authorization ?? '') ?? [];
    return isSame(given, this.#access.token);
  }

  /**
   * Exchanges the token in the address for a cookie, so that it is not left in the browser's
   * history.
   */
  #enter(url: URL, door: Door): Response {
    if (!isSame(url.searchParams.get('token') ?? '', this.#access.token)) return unauthorizedPage();
    // A redirect would still count as coming from where the address was opened, without the cookie.
    const response = goOn(200, url);
    const value = `${cookieName(door)}=${this.#cookie}; Path=/; HttpOnly; SameSite=Strict`;
    response.headers.append('set-cookie', value);
    return response;
  }
}

/** The cookie's name contains the port, because cookies are not separated by port. */
function cookieName({ port }: Door): string {
  return `crosstalk-${String(port)}`;
}

function elsewhere(): Response {
  return problem('forbidden', 'the request comes from another site, or does not say where from');
}

function unauthorized(): Response {
  const response = problem(
    'unauthorized',
    'the token is missing or wrong; send Authorization: Bearer <token>, or open the address that crosstalk web printed',
  );
  response.headers.set('www-authenticate', 'Bearer realm="crosstalk web"');
  return response;
}

function unauthorizedPage(): Response {
  return page(401, 'Open the address that <code>crosstalk web</code> printed: it has the token.');
}

/**
 * Answers a request without the cookie. A link in another program arrives without it, as it should;
 * when our own page follows the same link, the cookie is sent.
 */
function stranger(url: URL, site: string | undefined, mode: string | undefined): Response {
  const isLink = mode === 'navigate' && (site === 'cross-site' || site === 'same-site');
  return isLink ? goOn(401, url) : unauthorizedPage();
}

function goOn(status: number, { pathname }: URL): Response {
  const path = pagePath(pathname);
  const head = `<meta http-equiv="refresh" content="0;url=${path}">`;
  return page(status, `<a href="${path}">Crosstalk</a>`, head);
}
