import { basename } from 'node:path';
import type { Hono } from 'hono';
import { listActors } from '../operations/setup/actors.ts';
import { listChannels } from '../operations/reading/channels.ts';
import { flow } from '../operations/page/flow.ts';
import { messagePage } from '../operations/page/message-page.ts';
import { wholeMessage } from '../operations/page/message-whole.ts';
import { resolveFrom } from '../operations/lookup/resolve.ts';
import { MAX_CONTEXT, MAX_HITS, search } from '../operations/reading/search.ts';
import { thread } from '../operations/tracing/thread.ts';
import { MAX_MESSAGE_BYTES } from '../protocol/message.ts';
import type {
  WebActors,
  WebChannels,
  WebFlow,
  WebHosts,
  WebMessagePage,
  WebMessageWhole,
  WebSearch,
  WebSession,
  WebThread,
} from '../api/api.ts';
import { packageVersion } from '../package.ts';
import { json } from './answers.ts';
import { count, given, name, place, required, since, time } from './params.ts';
import type { Parts } from './parts.ts';

const MAX_PAGE = 200;
const USUAL_PAGE = 50;
const USUAL_HOURS = 6;

/** The routes that only read. */
export function addReading(app: Hono, parts: Parts): void {
  const { context, hub, recent, now, login, readOnly } = parts;

  app.get('/api/session', async () => {
    const { hosts } = await now.get();
    return json({
      version: packageVersion(),
      transport: basename(context.transport.dir),
      branch: context.transport.branch,
      from: resolveFrom(context, undefined, login),
      host: hosts.find(({ this_machine: isHere }) => isHere)?.alias ?? null,
      read_only: readOnly,
      message_limit: MAX_MESSAGE_BYTES,
      event_id: hub.ring.id(),
    } satisfies WebSession);
  });

  app.get('/api/now', async () => json(await now.get()));
  app.get('/api/hosts', async () => {
    const { hosts } = await now.get();
    return json({ hosts } satisfies WebHosts);
  });

  app.get('/api/actors', async () => {
    const actors = await listActors(context);
    return json({
      actors: actors.map(({ name: actor, description, hosts }) => ({
        name: actor,
        description,
        hosts,
      })),
    } satisfies WebActors);
  });

  app.get('/api/channels', async (c) => {
    const event_id = hub.ring.id();
    const query = c.req.query.bind(c.req);
    const reader = name(query, 'for', resolveFrom(context, undefined, login));
    const channels = await listChannels(context, reader);
    return json({
      for: reader,
      channels: channels.map(({ id, parent, depth, body, messages, last, unread, ...rest }) => ({
        id,
        name: rest.name,
        parent: parent ?? null,
        depth,
        description: body.trim(),
        messages,
        last,
        unread,
      })),
      event_id,
    } satisfies WebChannels);
  });

  app.get('/api/channels/:channel/messages', async (c) => {
    const event_id = hub.ring.id();
    const query = c.req.query.bind(c.req);
    const found = await messagePage(context, {
      channel: c.req.param('channel'),
      limit: count(query, 'limit', { least: 1, most: MAX_PAGE, otherwise: USUAL_PAGE }),
      ...place(query),
    });
    return json({ ...found, event_id } satisfies WebMessagePage);
  });

  app.get('/api/message', async (c) => {
    const query = c.req.query.bind(c.req);
    const found: WebMessageWhole = await wholeMessage(context, required(query, 'ref'));
    return json(found);
  });

  app.get('/api/thread', async (c) => {
    const query = c.req.query.bind(c.req);
    const found: WebThread = await thread(context, required(query, 'ref'));
    return json(found);
  });

  app.get('/api/search', async (c) => {
    const query = c.req.query.bind(c.req);
    const found: WebSearch = await search(context, {
      words: required(query, 'q'),
      limit: count(query, 'limit', { least: 1, most: MAX_HITS, otherwise: MAX_HITS }),
      context: count(query, 'context', { least: 0, most: MAX_CONTEXT, otherwise: 0 }),
      ...given(query, 'channel', 'from'),
      ...since(query, context.now()),
    });
    return json(found);
  });

  app.get('/api/flow', async (c) => {
    const query = c.req.query.bind(c.req);
    const to = time(query, 'to', context.now());
    const from = time(query, 'from', new Date(to.getTime() - USUAL_HOURS * 3_600_000));
    const input = { from, to, ...given(query, 'channel') };
    const found: WebFlow = await flow(context, recent, hub.ended, input);
    return json(found);
  });
}
