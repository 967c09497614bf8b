import { randomBytes } from 'node:crypto';
import { once, setMaxListeners } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { join, extname, relative, sep } from 'node:path';
import { readdir, readFile } from 'node:fs/promises';
import type { Hono } from 'hono';
import { CrosstalkError, reasonOf, hasCode } from '../errors.ts';
import { isWebTokenValid, RIGHTS, webTokenOf } from '../actions/page/web-tokens.ts';
import { takeCensus } from '../actions/health/census.ts';
import type { Context } from '../actions/context.ts';
import { openAddresses, publicUrlOf, isLoopback } from './guard.ts';
import { makeParts, type Parts } from './parts.ts';
import { packageRoot } from '../package.ts';
import { problem, problemOf, assertAnnounced } from './answers.ts';
import { Metrics } from './metrics.ts';
import { isApi, pathOf, STREAMS } from './path.ts';
import type { Route } from './route.ts';
import { routes } from './routes.ts';
import { RequestGuard, type WebAccess, page } from './request-guard.ts';
import { RIGHT_OF, refusalOf, type Admitted } from './rights.ts';
import type * as Packages from './web-packages.ts';

export interface WebOptions {
  host: string;
  /** 0 for any free port. */
  port: number;
  /** A random token by default. */
  token?: string;
  /** The address under which a tunnel or proxy exposes the server, such as `https://bus.example.org`. */
  publicUrl?: string;
  readOnly: boolean;
  /** Whether decisions may be made on the page although other machines can reach it. */
  allowApprove?: boolean;
  login: string;
  stop: AbortSignal;
}

export interface ServerAddress {
  /** The addresses, including the token; the first is for this machine, or the public one. */
  urls: [string, ...string[]];
  port: number;
  token: string;
}

/** Milliseconds until open connections are closed at the end. */
const GRACE_MS = 500;
/** Milliseconds for the last pushes; sent messages are safe even if they take longer. */
const LAST_PUSH_MS = 5000;
const LEAST_TOKEN = 16;
const TOKEN = /^[A-Za-z0-9._~+/=-]+$/;

/**
 * Serves the page and its API until `stop`.
 *
 * @param listening receives the address
 * @throws CrosstalkError `usage` for a token that is too short or missing or an invalid public address,
 *   `refused` when the port is taken or the address does not belong to this machine
 */
export async function serveWeb(
  given: Context,
  options: WebOptions,
  listening: (address: ServerAddress) => Promise<void> | void,
): Promise<void> {
  const { host, port, readOnly, login, stop } = options;
  const token = tokenOf(options);
  const publicUrl = options.publicUrl === undefined ? undefined : publicUrlOf(options.publicUrl);
  const context: Context = { ...given, isFollowed: true };
  const packages = await import('./web-packages.ts');
  const closing = new AbortController();
  // Each stream listens to this signal.
  setMaxListeners(0, closing.signal);
  const close = (): void => {
    closing.abort();
  };
  const epoch = randomBytes(4).toString('hex');
  const isOwn = isLoopback(host) && (publicUrl === undefined || isLoopback(publicUrl.hostname));
  const mayDecide = !readOnly && (isOwn || options.allowApprove === true);
  const parts = makeParts({
    context,
    token,
    login,
    readOnly,
    mayWatch: !readOnly,
    mayOperate: !readOnly,
    mayDecide,
    stop: closing.signal,
    epoch,
  });
  const door = { host, bound: host, port, hostname: context.hostname, publicUrl };
  const rights = RIGHTS.filter((right) =>
    right === 'decide' ? mayDecide : right === 'read' || !readOnly,
  );
  const app = makeApp(packages, parts, {
    token,
    door: () => door,
    rights: new Set(rights),
    tokenOf: (given) => webTokenOf(context, given),
  });
  const server = packages.createAdaptorServer({
    fetch: app.fetch,
    createServer,
    overrideGlobalObjects: false,
  }) as Server;
  Object.assign(door, await listen(server, host, port));
  stop.addEventListener('abort', close, { once: true });
  if (stop.aborted) close();
  try {
    const { done } = await parts.hub.start(closing.signal);
    // Prepares the index and the newest messages for the first page.
    const ready = [takeCensus(context), parts.now.get()];
    void Promise.allSettled(ready);
    const [first = '', ...others] = openAddresses(door).map(
      (origin) => `${origin}/?token=${encodeURIComponent(token)}`,
    );
    await listening({ urls: [first, ...others], port: door.port, token });
    await done;
    await Promise.allSettled(ready);
    await Promise.race([
      Promise.allSettled(parts.pushes),
      sleep(LAST_PUSH_MS, undefined, { ref: false }),
    ]);
  } finally {
    close();
    stop.removeEventListener('abort', close);
    await end(server);
  }
}

function tokenOf({ host, token }: WebOptions): string {
  if (token === undefined) {
    if (isLoopback(host)) return randomBytes(32).toString('base64url');
    throw new CrosstalkError(
      'usage',
      `--host ${host} lets other machines in, which takes a token of your own: at least ${String(LEAST_TOKEN)} characters, with --token or CROSSTALK_WEB_TOKEN. Whoever has it reads every message and sends as you, and http hides neither from the network`,
    );
  }
  if (token.length >= LEAST_TOKEN && TOKEN.test(token)) return token;
  throw new CrosstalkError(
    'usage',
    `the token has ${String(token.length)} characters, expected at least ${String(LEAST_TOKEN)} letters, digits and . _ ~ + / = -; make one with: openssl rand -hex 32`,
  );
}

async function listen(
  server: Server,
  host: string,
  port: number,
): Promise<{ bound: string; port: number }> {
  server.listen({ port, host, exclusive: true });
  try {
    await once(server, 'listening');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why =
      code === 'EADDRINUSE'
        ? 'is taken by another program; choose another with --port, or 0 for any that is free'
        : `cannot be listened on: ${reasonOf(error)}; choose others with --host and --port`;
    throw new CrosstalkError('refused', `port ${String(port)} of ${host} ${why}`, { cause: error });
  }
  const { address: bound, port: given } = server.address() as AddressInfo;
  return { bound, port: given };
}

async function end(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeIdleConnections();
  const timer = setTimeout(() => {
    server.closeAllConnections();
  }, GRACE_MS);
  await closed;
  clearTimeout(timer);
}

/** Creates the app with all routes of the server. */
export function makeApp(packages: typeof Packages, parts: Parts, access: WebAccess): Hono {
  const all = Object.entries<Route>(routes).map(([name, { where, serve, limit }]) => {
    const [method, path] = where.split(' ') as [string, string];
    return { method, path, serve, limit, right: RIGHT_OF[name as keyof typeof routes] };
  });
  const app = new packages.Hono({ getPath: ({ url }) => pathOf(url) });
  const guard = new RequestGuard(access, parts.readOnly);
  const metrics = new Metrics(
    packages,
    parts,
    all.map(({ path }) => path),
  );
  const files = new Files(join(packageRoot(), 'dist', 'page'));
  const admitted = new WeakMap<Request, Admitted>();

  app.use(async (c, next) => {
    const checked = await guard.check(c.req.raw);
    if (checked instanceof Response) c.res = checked;
    else {
      if (checked !== undefined) admitted.set(c.req.raw, checked);
      await next();
    }
    for (const [name, value] of Object.entries(HEADERS))
      if (!c.res.headers.has(name)) c.res.headers.set(name, value);
    metrics.count(c.req.method, c.req.path, c.res.status);
  });
  // These files are the same for everybody: with secrets in a response, compression would reveal their
  // length.
  app.use('/assets/*', packages.compress());
  app.onError((error) => problemOf(error));

  for (const { method, path, serve, limit, right } of all)
    app.on(method, routed(path), (c) => {
      if (c.req.method === 'HEAD' && STREAMS.has(path)) return notFor(c.req, [method]);
      const who = admitted.get(c.req.raw);
      if (who?.rights.has(right) === false) return refusalOf(who, right);
      assertAnnounced(c.req.raw, limit);
      const theirs = who === undefined ? parts : partsFor(parts, who);
      const stop =
        who?.token !== undefined && STREAMS.has(path)
          ? whileValid(theirs, who.token, c.req.raw.signal)
          : theirs.stop;
      return serve(c, { parts: { ...theirs, stop }, metrics });
    });
  for (const path of new Set(all.map((one) => one.path))) {
    const methods = all.filter((one) => one.path === path).map(({ method }) => method);
    app.all(routed(path), (c) => notFor(c.req, methods));
  }
  app.all('*', (c) => {
    const { method, path } = c.req;
    if (isApi(path))
      return problem('not_found', `there is no ${method} ${path}; see /api/openapi.json`);
    return method === 'GET' || method === 'HEAD' ? files.at(path) : notFor(c.req, ['GET']);
  });
  return app;
}

/** Milliseconds between two looks whether the token still counts that has let somebody in who follows the bus. */
const TOKEN_LOOK_MS = 5000;

/** Returns the parts for a request; those of a person are under that name. */
function partsFor(parts: Parts, { person, rights }: Admitted): Parts {
  const may = {
    readOnly: !rights.has('write'),
    mayWatch: rights.has('watch'),
    mayOperate: rights.has('operate'),
    mayDecide: rights.has('decide'),
  };
  if (person === undefined) return { ...parts, ...may };
  const env = { ...parts.context.env, CROSSTALK_FROM: person };
  const context: Context = { ...parts.context, env, dispatch: {} };
  return { ...parts, ...may, context, login: person, person };
}

/** Returns a signal that ends with a token, and with the server; nothing looks once the request is gone. */
function whileValid({ context, stop }: Parts, token: string, gone: AbortSignal): AbortSignal {
  const over = new AbortController();
  const timer = setInterval(() => {
    // A state that cannot be read lets nobody in.
    void isWebTokenValid(context, token)
      .catch(() => false)
      .then((isValid) => {
        if (!isValid) over.abort();
      });
  }, TOKEN_LOOK_MS).unref();
  const ends = AbortSignal.any([stop, gone, over.signal]);
  ends.addEventListener('abort', () => {
    clearInterval(timer);
  });
  return AbortSignal.any([stop, over.signal]);
}

/** Converts a path of the table to the router's format. */
function routed(path: string): string {
  return path.replace(/\{(\w+)\}/g, ':$1');
}

/** Refuses a method that a path does not have, and names those that it has. */
function notFor(
  { method, path }: { method: string; path: string },
  methods: readonly string[],
): Response {
  const allowed = methods.flatMap((one) =>
    // A client that requests only the head of a stream would leave it open.
    one === 'GET' && !STREAMS.has(path) ? ['GET', 'HEAD'] : [one],
  );
  const words = `${path} is not for ${method}, but for ${allowed.join(' and ')}; see /api/openapi.json`;
  const response = problem('usage', words, 405);
  response.headers.set('allow', allowed.join(', '));
  return response;
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.json': 'application/json; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
};
/** Pattern of the files whose names contain a hash of their content, added by Vite. */
// eslint-disable-next-line regexp/no-super-linear-backtracking -- only sees names of our own files
const HASHED = /^\/assets\/.*-[A-Za-z0-9_-]{8,}\.[a-z0-9]+$/;

/** Pattern of a path that cannot be a page, although it may be requested. */
const FILE = /^\/assets\/|^\/[^/]+\.[a-z0-9]+$/;

/** The files of the page as Vite wrote them. Only listed files are served, so no path leads outside. */
export class Files {
  readonly #folder: string;
  #listed: Map<string, string> | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Returns the file at a path, otherwise the page itself, whose script decides what to show. */
  async at(path: string): Promise<Response> {
    this.#listed ??= await list(this.#folder);
    const file = this.#listed.get(path);
    if (file !== undefined && path !== '/index.html')
      return serve(file, { forEver: HASHED.test(path) });
    if (FILE.test(path) && path !== '/index.html')
      return page(404, { title: 'There is no such file', paragraphs: [] });
    // The files may have been built again since.
    this.#listed = await list(this.#folder);
    const index = this.#listed.get('/index.html');
    return index === undefined
      ? page(503, {
          title: 'The page is not in this build of Crosstalk',
          paragraphs: ['The API works: see docs/web.md.'],
        })
      : serve(index, { forEver: false });
  }
}

async function serve(file: string, { forEver }: { forEver: boolean }): Promise<Response> {
  const headers = {
    'content-type': TYPES[extname(file)] ?? 'application/octet-stream',
    'cache-control': forEver ? 'public, max-age=31536000, immutable' : 'no-store',
  };
  return new Response(new Uint8Array(await readFile(file)), { headers });
}

/** Lists the files of a folder, by their paths in a URL. */
async function list(folder: string): Promise<Map<string, string>> {
  try {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    return new Map(
      entries
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name))
        .map((file) => [`/${relative(folder, file).split(sep).join('/')}`, file]),
    );
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return new Map();
    throw error;
  }
}

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "require-trusted-types-for 'script'",
  'trusted-types crosstalk',
].join('; ');

/** The headers of every response. Responses without another caching rule are never stored. */
const HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': POLICY,
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
};
