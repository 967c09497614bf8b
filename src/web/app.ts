import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Hono } from 'hono';
import { packageRoot } from '../package.ts';
import { problem, problemOf } from './answers.ts';
import { Files } from './files.ts';
import { HEADERS } from './headers.ts';
import { Metrics } from './metrics.ts';
import type { Parts } from './parts.ts';
import { addReading } from './reading.ts';
import { eventStream } from './stream.ts';
import { RequestGuard, type WebAccess } from './request-guard.ts';
import type * as Packages from './web-packages.ts';
import { addWriting } from './writing.ts';

/** Enough for a message of 1 MiB of which every byte takes six in JSON, and for the other fields. */
const MAX_BODY = 6 * 1024 * 1024 + 64 * 1024;
/** The most pages that may follow at the same time. */
const MAX_STREAMS = 1000;

/** All routes of the server. */
export function makeApp(packages: typeof Packages, parts: Parts, access: WebAccess): Hono {
  const { hub, readOnly, stop } = parts;
  const app = new packages.Hono();
  const guard = new RequestGuard(access, readOnly);
  const metrics = new Metrics(packages, parts);
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

  addReading(app, parts);
  addWriting(app, parts);
  app.get('/api/events', (c) => {
    if (hub.streams.size >= MAX_STREAMS)
      return problem('refused', `there are ${String(MAX_STREAMS)} streams already`, 503);
    const lastId = c.req.header('last-event-id') ?? c.req.query('last_event_id');
    return new Response(eventStream(hub, lastId === '' ? undefined : lastId, stop), {
      headers: { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' },
    });
  });
  app.get('/api/openapi.json', async () => {
    const text = await readFile(join(packageRoot(), 'docs', 'openapi.json'), 'utf8');
    return new Response(text, { headers: { 'content-type': 'application/json; charset=utf-8' } });
  });
  app.get('/metrics', async () => metrics.answer());
  app.all('/api/*', (c) =>
    problem('not_found', `there is no ${c.req.method} ${c.req.path}; see /api/openapi.json`),
  );
  app.get('*', (c) => files.at(c.req.path));
  app.notFound((c) => problem('not_found', `there is no ${c.req.method} ${c.req.path}`));
  return app;
}
