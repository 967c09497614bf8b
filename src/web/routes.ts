import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packageRoot } from '../package.ts';
import { problem } from './answers.ts';
import { header, text, moment, needed, oneOf, part, time, whole } from './params.ts';
import { operating } from './operating.ts';
import { reading } from './reading.ts';
import { route } from './route.ts';
import { webhooks } from './webhook.ts';
import { writing } from './writing.ts';
import type {
  WebActors,
  WebBranchDiff,
  WebCost,
  WebFlow,
  WebHosts,
  WebSchedules,
  WebSessions,
  WebRunOutput,
  WebBrokenFiles,
  WebNoteLog,
  WebNotes,
  WebNoteWhole,
  WebSkills,
  WebSkillWhole,
  WebSubscriptions,
} from '../api/api.ts';
import { warmSessions } from '../actions/health/warm-sessions.ts';
import { flow } from '../actions/page/flow.ts';
import { runOutput } from '../actions/page/run-output.ts';
import { schedulesHere } from '../actions/schedules/list.ts';
import { COST_BY } from '../actions/reading/cost-by.ts';
import { cost } from '../actions/reading/cost.ts';
import { listActors } from '../actions/setup/actors.ts';
import { branchDiff } from '../actions/worktrees/branch-diff.ts';
import { brokenFiles } from '../actions/page/broken-files.ts';
import { NOTE_STATES, notePage, notesLog, notesPage } from '../actions/page/notes.ts';
import { skillPage, skillsPage } from '../actions/page/skills.ts';
import { subscriptionsHere } from '../actions/subscriptions/list.ts';
import { MEMORY_KINDS } from '../protocol/files/memory.ts';
import { encodeEvent, printedOut } from './ring.ts';
import type { Hub } from './hub.ts';

const MOST_NOTES = 200;
const USUAL_NOTES = 50;
const MOST_CHANGES = 1000;
const MOST_BEFORE = 2_147_483_647;

/** The routes that show the content of the bus other than messages: skills, notes, and automation. */
const shelf = {
  /** The skills, the actors that take each, and the problems of those that cannot be read */
  skills: route('GET /api/skills', {
    answer: ({ parts }): Promise<WebSkills> => skillsPage(parts.context),
  }),

  /**
   * One skill with its text and the files next to it
   * @fails 400 404
   */
  skill: route('GET /api/skills/{name}', {
    parameters: {
      /** its name */
      name: part,
    },
    answer: ({ get, parts }): Promise<WebSkillWhole> => skillPage(parts.context, get('name')),
  }),

  /** The tasks that subscriptions create on answers and events */
  subscriptions: route('GET /api/subscriptions', {
    answer: ({ parts }): Promise<WebSubscriptions> => subscriptionsHere(parts.context),
  }),

  /** The schedules, subscriptions and skills that cannot be read, also those of other hosts */
  broken_files: route('GET /api/broken-files', {
    answer: ({ parts }): Promise<WebBrokenFiles> => brokenFiles(parts.context),
  }),

  /**
   * Shared notes, newest first, or those that contain some words, best first
   * @fails 400
   */
  memories: route('GET /api/memories', {
    parameters: {
      /** the words; without them, all notes */
      q: text,
      /** `in_force` (the default), `replaced`, `forgotten` or `all` */
      state: oneOf(NOTE_STATES),
      /** note, decision, preference, reference or archive */
      kind: oneOf(MEMORY_KINDS),
      /** only those of this scope: `global`, the id of a channel, or `actor:<name>` */
      scope: text,
      /** the maximum number of notes */
      limit: whole({ minimum: 1, maximum: MOST_NOTES, default: USUAL_NOTES }),
      /** the number of first notes to leave out, for the pages after the first */
      skip: whole({ minimum: 0, maximum: MOST_BEFORE, default: 0 }),
    },
    answer: ({ get, given, parts }): Promise<WebNotes> => {
      const { q: words } = given('q');
      return notesPage(parts.context, parts.notes, {
        ...(words !== undefined && { words }),
        ...given('kind', 'scope'),
        state: get('state') ?? 'in_force',
        limit: get('limit'),
        skip: get('skip'),
      });
    },
  }),

  /**
   * One shared note with its text, and its history
   * @fails 400 404 409 422
   */
  memory: route('GET /api/memories/{memory}', {
    parameters: {
      /** its file name, a unique hex suffix of it, or its name */
      memory: part,
    },
    answer: ({ get, parts }): Promise<WebNoteWhole> =>
      notePage(parts.context, parts.notes, get('memory')),
  }),

  /**
   * The changes of the shared notes and their authors, newest first
   * @fails 400
   */
  memory_log: route('GET /api/memory-log', {
    parameters: {
      /** the maximum number of changes */
      limit: whole({ minimum: 1, maximum: MOST_CHANGES, default: USUAL_NOTES }),
    },
    answer: ({ get, parts }): Promise<WebNoteLog> =>
      notesLog(parts.context, parts.notes, get('limit')),
  }),
};

const USUAL_HOURS = 6;
const MOST_LINES = 2_147_483_647;

/** The routes that show the actors, the hosts and past events. */
const overview = {
  /** The actors one can write to, and the hosts and tiers that serve them */
  actors: route('GET /api/actors', {
    answer: async ({ parts }): Promise<WebActors> => {
      const actors = await listActors(parts.context);
      return {
        actors: actors.map(({ name, description, hosts }) => ({ name, description, hosts })),
      };
    },
  }),

  /** The hosts, and the time of each one's last sign of life */
  hosts: route('GET /api/hosts', {
    answer: async ({ parts }): Promise<WebHosts> => {
      const { hosts } = await parts.now.get();
      return { hosts };
    },
  }),

  /** The messages that are sent when they are due, and the last outcome of each */
  schedules: route('GET /api/schedules', {
    answer: async ({ parts }): Promise<WebSchedules> => ({
      schedules: await schedulesHere(parts.context),
    }),
  }),

  /** The processes of agent CLIs that this machine keeps between runs */
  sessions: route('GET /api/sessions', {
    answer: async ({ parts }): Promise<WebSessions> => ({
      sessions: await warmSessions(parts.context),
    }),
  }),

  /**
   * The usage of this machine's runs, and of others as far as their answers state it
   * @fails 400
   */
  cost: route('GET /api/cost', {
    parameters: {
      /** actor (the default), tier, host, channel, thread, schedule, subscription, skill, session or day */
      by: oneOf(COST_BY),
      /** a date or a time before now: 2026-06-09, 2h, 3d, today (default: 30 days ago) */
      since: moment,
    },
    answer: async ({ get, given, parts }): Promise<WebCost> =>
      cost(parts.context, { by: get('by') ?? 'actor', ...given('since') }),
  }),

  /**
   * The output of a run of this machine, also while it runs: its end, at most 256 KiB
   *
   * It may contain secrets that were printed, so a read-only window does not show it.
   * @fails 400 404 409
   */
  run_output: route('GET /api/runs/{id}/output', {
    parameters: {
      /** the id of the run */
      id: part,
      /** `last` of an earlier answer: only later lines */
      after: whole({ minimum: 0, maximum: MOST_LINES, default: 0 }),
    },
    answer: ({ get, parts }): Promise<WebRunOutput> =>
      runOutput(parts.context, get('id'), get('after')),
  }),

  /**
   * The changes in the branch of an answer, if this machine has it: at most 256 KiB, or 4000 lines
   *
   * It is not on the bus, so a read-only window does not show it.
   * @fails 400 404 409 422
   */
  branch: route('GET /api/branch', {
    parameters: {
      /** The message: relPath, `<channel>/<relPath>`, or its hex suffix if unique */
      ref: needed,
    },
    answer: ({ get, parts }): Promise<WebBranchDiff> => branchDiff(parts.context, get('ref')),
  }),

  /**
   * The events between two times: lanes, runs, messages, answer times, backlog
   * @fails 400 404 409
   */
  flow: route('GET /api/flow', {
    parameters: {
      /** ISO 8601 (default: 6 hours before `to`) */
      from: time,
      /** ISO 8601 (default: now) */
      to: time,
      /** id, unique id prefix or name; without it, all */
      channel: text,
    },
    answer: async ({ get, given, parts: { context, recent, hub } }): Promise<WebFlow> => {
      const to = get('to') ?? context.now();
      const from = get('from') ?? new Date(to.getTime() - USUAL_HOURS * 3_600_000);
      return flow(context, recent, hub.ended, { from, to, ...given('channel') });
    },
  }),
};

/** Maximum number of pages that may follow at the same time. */
const MAX_STREAMS = 1000;

/**
 * Every route by its name: those that the server answers, that /metrics counts and that docs/openapi.json
 * describes. The comments above a route and its parameters become their descriptions there: a summary,
 * further text after an empty line, the answer (`@returns`, if the summary does not describe it), and the
 * statuses of refusals that only some routes have (`@fails`).
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
    answer: async ({ get, parts: { hub, stop, mayWatch } }) => {
      if (hub.streams.size >= MAX_STREAMS)
        return problem('refused', `there are ${String(MAX_STREAMS)} streams already`, 503);
      const lastId = get('Last-Event-ID') ?? get('last_event_id');
      const stream = eventStream(
        hub,
        lastId === '' ? undefined : lastId,
        stop,
        mayWatch ? undefined : printedOut,
      );
      return new Response(stream, {
        headers: { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' },
      });
    },
  }),

  ...writing,
  ...operating,
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

/** Milliseconds between heartbeats; a page treats the server as silent after several times as long. */
const STILL_HERE_MS = 5000;
/** Number of heartbeats after which a reader that accepts no data counts as gone, whatever its socket reports. */
const PATIENCE = 12;
const encoder = new TextEncoder();
const PREAMBLE = encoder.encode('retry: 1000\n\n');
const STILL_HERE = encoder.encode('event: still_here\ndata: {}\n\n');

/**
 * Streams the events for one page, from its last position on. Nothing is read in advance: the page takes
 * the next event from the ring when its socket has room for one.
 *
 * @param lastId the last event that the page has seen
 * @param signal ends the stream
 * @param shown returns the event as its reader may see it
 */
export function eventStream(
  hub: Hub,
  lastId: string | undefined,
  signal: AbortSignal,
  shown: (event: Uint8Array) => Uint8Array = (event) => event,
): ReadableStream<Uint8Array> {
  const { ring } = hub;
  const { after, resumed } = ring.beginning(lastId);
  let seen = after;
  const gone = new AbortController();
  let waited = 0;
  let timer: NodeJS.Timeout | undefined;
  const leave = (): void => {
    gone.abort();
    clearInterval(timer);
    signal.removeEventListener('abort', leave);
    hub.streams.delete(gone);
  };
  return new ReadableStream<Uint8Array>({
    start(controller) {
      hub.streams.add(gone);
      signal.addEventListener('abort', leave, { once: true });
      const hello = { event_id: ring.id(seen), tip: hub.tip, resumed };
      controller.enqueue(PREAMBLE);
      controller.enqueue(encodeEvent('hello', hello, ring.id(seen)));
      if (lastId !== undefined && !resumed)
        controller.enqueue(
          encodeEvent('reset', { reason: 'what came since is not kept any more' }, ring.id(seen)),
        );
      timer = setInterval(() => {
        if ((controller.desiredSize ?? 0) > 0) {
          waited = 0;
          controller.enqueue(STILL_HERE);
        } else if (++waited >= PATIENCE) {
          leave();
          controller.error(new Error('the reader takes nothing'));
        }
      }, STILL_HERE_MS).unref();
    },
    async pull(controller) {
      let next = ring.next(seen);
      while (next === 'none' && !gone.signal.aborted) {
        await hub.more(seen, gone.signal);
        next = ring.next(seen);
      }
      if (gone.signal.aborted) {
        controller.close();
      } else if (next === 'gone') {
        seen = ring.newest;
        controller.enqueue(
          encodeEvent('reset', { reason: 'the page was too slow for the events' }, ring.id(seen)),
        );
      } else if (next !== 'none') {
        ({ seq: seen } = next);
        controller.enqueue(shown(next.bytes));
      }
    },
    cancel: leave,
  });
}
