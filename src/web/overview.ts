import type {
  WebActors,
  WebBranchDiff,
  WebCost,
  WebFlow,
  WebHosts,
  WebSchedules,
  WebRunOutput,
} from '../api/api.ts';
import { CrosstalkError } from '../errors.ts';
import { flow } from '../operations/page/flow.ts';
import { runOutput } from '../operations/page/run-output.ts';
import { schedulesHere } from '../operations/schedules/list.ts';
import { COST_BY } from '../operations/reading/cost-by.ts';
import { cost } from '../operations/reading/cost.ts';
import { listActors } from '../operations/setup/actors.ts';
import { branchDiff } from '../operations/worktrees/branch-diff.ts';
import { moment, needed, oneOf, part, text, time, whole } from './params.ts';
import { route } from './route.ts';

const USUAL_HOURS = 6;
const MOST_LINES = 2_147_483_647;

/** The routes that show who is there, and what happened when. */
export const overview = {
  /** The actors one can write to, and the hosts and tiers that serve them */
  actors: route('GET /api/actors', {
    answer: async ({ parts }): Promise<WebActors> => {
      const actors = await listActors(parts.context);
      return {
        actors: actors.map(({ name, description, hosts }) => ({ name, description, hosts })),
      };
    },
  }),

  /** The hosts, and when each was last heard of */
  hosts: route('GET /api/hosts', {
    answer: async ({ parts }): Promise<WebHosts> => {
      const { hosts } = await parts.now.get();
      return { hosts };
    },
  }),

  /** The messages that are sent when they are due, and what became of the last of each */
  schedules: route('GET /api/schedules', {
    answer: async ({ parts }): Promise<WebSchedules> => ({
      schedules: await schedulesHere(parts.context),
    }),
  }),

  /**
   * What the runs of this machine have used, and those of others as far as their answers tell
   * @fails 400
   */
  cost: route('GET /api/cost', {
    parameters: {
      /** actor (the default), tier, host, channel, thread, schedule, subscription, skill, session or day */
      by: oneOf(COST_BY),
      /** a date or so long ago: 2026-06-09, 2h, 3d, today (default: 30 days ago) */
      since: moment,
    },
    answer: async ({ get, given, parts }): Promise<WebCost> =>
      cost(parts.context, { by: get('by') ?? 'actor', ...given('since') }),
  }),

  /**
   * What a run of this machine printed, as it prints it: its end, at most 256 KiB
   *
   * It may hold secrets that were printed, so a read-only window is not shown it.
   * @fails 400 404 409
   */
  run_output: route('GET /api/runs/{id}/output', {
    parameters: {
      /** the id of the run */
      id: part,
      /** `last` of an earlier answer: only what came then */
      after: whole({ minimum: 0, maximum: MOST_LINES, default: 0 }),
    },
    answer: async ({ get, parts: { context, readOnly } }): Promise<WebRunOutput> => {
      if (readOnly)
        throw new CrosstalkError(
          'refused',
          'this window is read-only, and what runs print may be secret; see it with: crosstalk watch',
        );
      return runOutput(context, get('id'), get('after'));
    },
  }),

  /**
   * What the branch of an answer changed, if this machine has it: at most 256 KiB, or 4000 lines
   *
   * It is not on the bus, so a read-only window is not shown it.
   * @fails 400 404 409 422
   */
  branch: route('GET /api/branch', {
    parameters: {
      /** The message: relPath, `<channel>/<relPath>`, or its hex suffix if unique */
      ref: needed,
    },
    answer: async ({ get, parts: { context, readOnly } }): Promise<WebBranchDiff> => {
      if (readOnly)
        throw new CrosstalkError(
          'refused',
          'this window is read-only, and what a branch changed is not on the bus; see it with: crosstalk worktree diff',
        );
      return branchDiff(context, get('ref'));
    },
  }),

  /**
   * What happened between two times: lanes, runs, messages, answer times, backlog
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
