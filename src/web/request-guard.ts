import { problem, hasBody } from './answers.ts';
import { cookiesIn, isOurOrigin, isSame, pagePath, portOf, whoseHost, type Door } from './guard.ts';
import { cookieOf, type Right, type WebToken } from '../actions/page/web-tokens.ts';
import { type Admitted, READ_ONLY } from './rights.ts';
import { isApi as isOfApi, isWebhook, pathOf, STREAMS } from './path.ts';
import { createHash } from 'node:crypto';

/** The credentials and the addresses of the server. */
export interface WebAccess {
  token: string;
  /** Returns the addresses, which are known once the server listens. */
  door: () => Door;
  /** Returns the rights of whoever has the server's own token. */
  rights: ReadonlySet<Right>;
  /** Finds the token of a person. */
  tokenOf: (given: { token: string } | { cookie: string }) => Promise<WebToken | undefined>;
}

/**
 * A guard that checks every request before anything is done for it: the name by which it addresses the
 * server, the token, its origin, and whether it may write.
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
   * Returns the refusal, or the response to a request with the token in its address; otherwise who is let in, or
   * undefined for a webhook, which its route authenticates.
   */
  async check(request: Request): Promise<Response | Admitted | undefined> {
    const door = this.#access.door();
    const header = (name: string): string | undefined => request.headers.get(name) ?? undefined;
    const [host, site] = [header('host'), header('sec-fetch-site')];
    const url = new URL(request.url);
    const path = pathOf(request.url);
    const isApi = isOfApi(path);
    const reader = { isApi, accept: header('accept') };
    if (whoseHost(host, door) === undefined)
      return foreignHost(host, header('x-forwarded-proto') === 'https', reader);
    // A webhook is authenticated by its route.
    const has = (name: string): boolean => request.headers.has(name);
    if (isWebhook(request.method, path, has)) return this.#readOnly ? readOnly() : undefined;
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (isRead && !isApi && url.searchParams.has('token')) return this.#enter(url, door, reader);

    const [, shown = ''] = /^Bearer +(\S+) *$/i.exec(header('authorization') ?? '') ?? [];
    const byToken = await this.#whose({ token: shown });
    // The operator's own comes first: a link with a person's token must not have them write as that person.
    const cookies = [cookieName(door), personCookie(door)].flatMap((name) =>
      cookiesIn(header('cookie'), name),
    );
    const who = byToken ?? (await this.#byCookie(cookies));
    if (who === undefined)
      return isLink(site, header('sec-fetch-mode')) && isRead && !isApi
        ? goOn(401, url)
        : unauthorized({ ...reader, isApi: isApi || !isRead }, 'none');
    if (isRead && !STREAMS.has(path)) {
      const isFromElsewhere = isApi && site !== undefined && site !== 'same-origin';
      return isFromElsewhere && site !== 'none' ? elsewhere() : who;
    }
    const origin = { host, origin: header('origin'), site };
    if (!isOurOrigin(origin, byToken === undefined, door)) return elsewhere();
    if (isRead) return who;
    if (this.#readOnly) return readOnly();
    // Every path refuses another method, whatever the body.
    if (request.method !== 'POST') return who;
    const type = header('content-type');
    const isNothing = !hasBody(request) && (byToken !== undefined || type === undefined);
    return isNothing || /^application\/json *(;|$)/i.test(type ?? '')
      ? who
      : problem('usage', 'the content-type has to be application/json', 415);
  }

  /** Returns who has a token, or the cookie that was made of it. */
  async #whose(given: { token: string } | { cookie: string }): Promise<Admitted | undefined> {
    const { token, rights, tokenOf } = this.#access;
    const isOwn =
      'token' in given ? isSame(given.token, token) : isSame(given.cookie, this.#cookie);
    if (isOwn) return { rights };
    const found = await tokenOf(given);
    if (found === undefined) return undefined;
    const left = found.rights.filter((right) => !this.#readOnly || right === 'read');
    return { person: found.name, token: found.id, rights: new Set(left) };
  }

  /** Returns who one of some cookies lets in: there may be others of the same name, from other servers. */
  async #byCookie(cookies: readonly string[]): Promise<Admitted | undefined> {
    for (const cookie of cookies) {
      const who = await this.#whose({ cookie });
      if (who !== undefined) return who;
    }
    return undefined;
  }

  /**
   * Exchanges the token in the address for a cookie, so that it is not left in the browser's
   * history.
   */
  async #enter(
    url: URL,
    door: Door,
    reader: Parameters<typeof unauthorized>[0],
  ): Promise<Response> {
    const token = url.searchParams.get('token') ?? '';
    const who = await this.#whose({ token });
    if (who === undefined) return unauthorized(reader, 'wrong');
    // A redirect would still count as coming from the site where the address was opened, without the
    // cookie.
    const response = goOn(200, url);
    const cookie =
      who.token === undefined
        ? `${cookieName(door)}=${cookieOf(token)}`
        : `${personCookie(door)}=${who.token}.${cookieOf(token)}`;
    const value = `${cookie}; Path=/; HttpOnly; SameSite=Strict`;
    const isSecure = door.publicUrl?.protocol === 'https:';
    response.headers.append('set-cookie', isSecure ? `${value}; Secure` : value);
    return response;
  }
}

/** Returns the cookie's name, which contains the port, because cookies are not separated by port. */
function cookieName({ port, publicUrl }: Door): string {
  return `crosstalk-${String(publicUrl === undefined ? port : portOf(publicUrl))}`;
}

/** Returns the name of a cookie that a person's token is exchanged for. */
function personCookie(door: Door): string {
  return `${cookieName(door)}-person`;
}

function readOnly(): Response {
  return problem('read_only', READ_ONLY);
}

function elsewhere(): Response {
  return problem('forbidden', 'the request comes from another site, or does not say where from');
}

/**
 * Whether a request follows a link in another program. Such a request arrives without the cookie, as it
 * should; when our own page follows the same link, the cookie is sent.
 */
function isLink(site: string | undefined, mode: string | undefined): boolean {
  return mode === 'navigate' && (site === 'cross-site' || site === 'same-site');
}

function goOn(status: number, { pathname }: URL): Response {
  const path = pagePath(pathname);
  const head = `<meta http-equiv="refresh" content="0;url=${path}">`;
  const paragraphs = [`<a href="${path}">Continue</a>`];
  return page(status, { title: 'Crosstalk', paragraphs, head });
}

/** Pattern of a `Host` header that may be repeated in a response: a name and a port. */
const NAME = /^(?:[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?|\[[0-9a-f:.]{2,45}\])(?::\d{1,5})?$/i;

/** The recipient of a refusal: whether it requested the API, and the types that it accepts. */
interface Reader {
  isApi: boolean;
  accept: string | undefined;
}

/** Whether a person sees the response in a browser. */
function isForPeople({ isApi, accept = '' }: Reader): boolean {
  return !isApi && (accept.includes('text/html') || !accept.includes('json'));
}

/**
 * Refuses a request that addresses the server by a name that is not its own. The response tells the owner
 * of a tunnel or a proxy how to configure the name; a page of another site whose name resolves to this
 * server (DNS rebinding) gets no more than that.
 *
 * @param host the header
 * @param isSecure whether a proxy reports that the request arrived by https
 */
function foreignHost(host: string | undefined, isSecure: boolean, reader: Reader): Response {
  const name = NAME.test(host ?? '') ? (host ?? '').toLowerCase() : undefined;
  const option = `--public-url ${isSecure ? 'https' : 'http'}://${name ?? '<name>:<port>'}`;
  const who = name ?? 'the name in the Host header';
  if (!isForPeople(reader))
    return problem(
      'forbidden',
      `this server does not go by ${who}; use the address that crosstalk web printed, or, if a tunnel or proxy of yours leads here under this name, start it with ${option}`,
    );
  const shown = option.replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return page(403, {
    title: 'Not an address of this server',
    paragraphs: [
      `This server does not go by <code>${name ?? 'the name it was asked for'}</code>. Open the address that <code>crosstalk web</code> printed.`,
      `If a tunnel or a proxy <em>of yours</em> leads here under this name, start the server with <code>crosstalk web ${shown}</code>`,
    ],
  });
}

/**
 * Refuses a request without the token.
 *
 * @param given whether it had a token, which is wrong
 */
function unauthorized(reader: Reader, given: 'none' | 'wrong'): Response {
  const response = isForPeople(reader)
    ? page(401, {
        title: given === 'none' ? 'This browser is not let in yet' : 'This token is not valid',
        paragraphs: [
          'Open the address that <code>crosstalk web</code> printed where it was started. It ends in <code>?token=…</code> and lets this browser in; addresses without the token work after that.',
          'Each start makes a new token, unless <code>CROSSTALK_WEB_TOKEN</code> gives one, so an address of an earlier start lets nobody in.',
          'What was typed on the page is kept in this browser.',
        ],
      })
    : problem(
        'unauthorized',
        'the token is missing or wrong; send Authorization: Bearer <token>, or open the address that crosstalk web printed',
      );
  response.headers.set('www-authenticate', 'Bearer realm="crosstalk web"');
  return response;
}

const STYLE =
  ':root{color-scheme:light dark}body{font:1rem/1.5 system-ui,sans-serif;max-width:38rem;margin:12vh auto;padding:0 1rem}h1{font-size:1.25rem}code{font-size:.95em;padding:.1em .3em;border-radius:.25em;background:#8883;overflow-wrap:anywhere}';

/** Policy that allows nothing but the style above, by its hash. */
const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

/** A page of fixed text; its parts are HTML, so they contain no unescaped part of a request. */
interface PlainPage {
  title: string;
  paragraphs: readonly string[];
  /** Additional HTML for its head. */
  head?: string;
}

/** Returns a small page without any script, which loads nothing. */
export function page(status: number, { title, paragraphs, head = '' }: PlainPage): Response {
  const text = paragraphs.map((one) => `<p>${one}</p>`).join('');
  const html = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title} – Crosstalk</title><style>${STYLE}</style>${head}</head><body><main><h1>${title}</h1>${text}</main></body></html>\n`;
  const headers = {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': POLICY,
  };
  return new Response(html, { status, headers });
}
