import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packageRoot } from '../package.ts';
import { problem } from './answers.ts';
import { overview } from './overview.ts';
import { header, text } from './params.ts';
import { reading } from './reading.ts';
import { route } from './route.ts';
import { shelf } from './shelf.ts';
import { eventStream } from './stream.ts';
import { webhooks } from './webhook.ts';
import { writing } from './writing.ts';

/** The most pages that may follow at the same time. */
const MAX_STREAMS = 1000;

/**
 * Every route by its name: those that the server answers, that /metrics counts and that
 * docs/openapi.json describes. The comments above a route and its parameters become their descriptions
 * there: a summary, further text after an empty line, the answer (`@returns`, if it is not what the summary
 * says), and the statuses of refusals that only some routes have (`@fails`).
 */
export const routes = {
  ...reading,
  ...overview,
  ...shelf,

  /**
   * Live updates as server-sent events, with resume
   *
   * Each event has an `id:`. A client that returns with the last id it saw gets the events since, or `reset`
   * when these are no longer kept. A stream opened without an id starts now: wait for `hello` and then
   * load what is shown, so that nothing is missed; or give the `event_id` of a loaded answer as
   * `last_event_id`. The event `still_here` is sent every 5 s.
   * @returns The stream. `data:` is JSON by the name in `event:`
   * @fails 503
   */
  events: route('GET /api/events', {
    media: 'text/event-stream',
    parameters: {
      /** the `event_id` of an answer, for a first stream; the header takes precedence */
      last_event_id: text,
      /** set by browsers when they reconnect */
      'Last-Event-ID': header,
    },
    answer: async ({ get, parts: { hub, stop } }) => {
      if (hub.streams.size >= MAX_STREAMS)
        return problem('refused', `there are ${String(MAX_STREAMS)} streams already`, 503);
      const lastId = get('Last-Event-ID') ?? get('last_event_id');
      return new Response(eventStream(hub, lastId === '' ? undefined : lastId, stop), {
        headers: { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' },
      });
    },
  }),

  ...writing,
  ...webhooks,

  /** This file */
  openapi: route('GET /api/openapi.json', {
    media: 'application/json',
    answer: async () => {
      const file = await readFile(join(packageRoot(), 'docs', 'openapi.json'), 'utf8');
      return new Response(file, {
        headers: { 'content-type': 'application/json; charset=utf-8' },
      });
    },
  }),

  /**
   * Figures for Prometheus
   * @returns The text format of Prometheus
   */
  metrics: route('GET /metrics', {
    media: 'text/plain',
    answer: async ({ metrics }) => metrics.answer(),
  }),
};
