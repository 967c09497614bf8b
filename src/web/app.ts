import { join } from 'node:path';
import type { Hono } from 'hono';
import { packageRoot } from '../package.ts';
import { problem, problemOf } from './answers.ts';
import { Files } from './files.ts';
import { HEADERS } from './headers.ts';
import { Metrics } from './metrics.ts';
import type { Parts } from './parts.ts';
import type { Route } from './route.ts';
import { routes } from './routes.ts';
import { RequestGuard, type WebAccess } from './request-guard.ts';
import type * as Packages from './web-packages.ts';

/** Room for a message of 1 MiB, of which each byte may take six in JSON, and for the other fields. */
const MAX_BODY = 6 * 1024 * 1024 + 64 * 1024;

/** All routes of the server. */
export function makeApp(packages: typeof Packages, parts: Parts, access: WebAccess): Hono {
  const all = Object.values<Route>(routes).map(({ where, serve }) => {
    const [method, path] = where.split(' ') as [string, string];
    return { method, path, serve };
  });
  const app = new packages.Hono();
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
  app.use(
    '/api/*',
    packages.bodyLimit({
      maxSize: MAX_BODY,
      onError: () =>
        problem('too_large', `the body is larger than ${String(MAX_BODY)} bytes; send less`),
    }),
  );
  app.onError((error) => problemOf(error));

  for (const { method, path, serve } of all)
    app.on(method, path.replace(/\{(\w+)\}/g, ':$1'), (c) => serve(c, { parts, metrics }));
  app.all('/api/*', (c) =>
    problem('not_found', `there is no ${c.req.method} ${c.req.path}; see /api/openapi.json`),
  );
  app.get('*', (c) => files.at(c.req.path));
  app.notFound((c) => problem('not_found', `there is no ${c.req.method} ${c.req.path}`));
  return app;
}
