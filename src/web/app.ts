import { join } from 'node:path';
import type { Hono } from 'hono';
import { packageRoot } from '../package.ts';
import { problem, problemOf } from './answers.ts';
import { assertAnnounced } from './body.ts';
import { Files } from './files.ts';
import { HEADERS } from './headers.ts';
import { Metrics } from './metrics.ts';
import type { Parts } from './parts.ts';
import { isApi, pathOf, STREAMS } from './path.ts';
import type { Route } from './route.ts';
import { routes } from './routes.ts';
import { RequestGuard, type WebAccess } from './request-guard.ts';
import type * as Packages from './web-packages.ts';

/** All routes of the server. */
export function makeApp(packages: typeof Packages, parts: Parts, access: WebAccess): Hono {
  const all = Object.values<Route>(routes).map(({ where, serve, limit }) => {
    const [method, path] = where.split(' ') as [string, string];
    return { method, path, serve, limit };
  });
  const app = new packages.Hono({ getPath: ({ url }) => pathOf(url) });
  const guard = new RequestGuard(access, parts.readOnly);
  const metrics = new Metrics(
    packages,
    parts,
    all.map(({ path }) => path),
  );
  const files = new Files(join(packageRoot(), 'dist', 'page'));

  app.use(async (c, next) => {
    const refused = guard.check(c.req.raw);
    if (refused === undefined) await next();
    else c.res = refused;
    for (const [name, value] of Object.entries(HEADERS))
      if (!c.res.headers.has(name)) c.res.headers.set(name, value);
    metrics.count(c.req.method, c.req.path, c.res.status);
  });
  // What follows is the same for everybody: where secrets are, compression would tell their length.
  app.use('/assets/*', packages.compress());
  app.onError((error) => problemOf(error));

  for (const { method, path, serve, limit } of all)
    app.on(method, routed(path), (c) => {
      if (c.req.method === 'HEAD' && STREAMS.has(path)) return notFor(c.req, [method]);
      assertAnnounced(c.req.raw, limit);
      return serve(c, { parts, metrics });
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

/** A path of the table in the way of the router. */
function routed(path: string): string {
  return path.replace(/\{(\w+)\}/g, ':$1');
}

/** Refuses a method that a path does not have, and names those that it has. */
function notFor(
  { method, path }: { method: string; path: string },
  methods: readonly string[],
): Response {
  const allowed = methods.flatMap((one) =>
    // Whoever asks only for the head of a stream would leave it open.
    one === 'GET' && !STREAMS.has(path) ? ['GET', 'HEAD'] : [one],
  );
  const words = `${path} is not for ${method}, but for ${allowed.join(' and ')}; see /api/openapi.json`;
  const response = problem('usage', words, 405);
  response.headers.set('allow', allowed.join(', '));
  return response;
}
