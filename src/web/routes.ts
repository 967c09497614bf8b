import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packageRoot } from '../package.ts';
import { problem } from './answers.ts';
import { header, text } from './params.ts';
import { reading } from './reading.ts';
import { route } from './route.ts';
import { eventStream } from './stream.ts';
import { writing } from './writing.ts';

/** Pages that may look on at the same time. */
const MAX_STREAMS = 1000;

/**
 * Every route by its name: those that the server answers, that /metrics counts and that
 * docs/openapi.json describes. What is written above a route and its parameters becomes their
 * description there: a summary, more about it behind an empty line, what is answered (`@returns`, if not
 * what the summary says), and the statuses of refusals that not every such route has (`@fails`).
 */
export const routes = {
  ...reading,

  /**
   * Live updates as server-sent events, with resume
   *
   * Each event has an `id:`. Who comes back with the last one it saw gets what came since, or `reset`
   * when that is not kept any more. A stream opened without an id starts now: wait for `hello`, then
   * load what is shown, so that nothing falls between; or give the `event_id` of a loaded answer as
   * `last_event_id`. A comment is sent every 15 s.
   * @returns The stream. `data:` is JSON by the name in `event:`
   * @fails 503
   */
  events: route('GET /api/events', {
    media: 'text/event-stream',
    parameters: {
      /** the `event_id` of an answer, for a first stream; the header counts more */
      last_event_id: text,
      /** set by browsers when they come back */
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
