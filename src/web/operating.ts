import type { Context } from '../actions/context.ts';
import type { Delivered } from '../actions/deliver.ts';
import { archiveChannel, createChannel } from '../actions/reading/channels.ts';
import { enableSchedule, runSchedule } from '../actions/schedules/edit.ts';
import { enableSubscription } from '../actions/subscriptions/edit.ts';
import { dropDeadLetters, findDeadLetter, listDeadLetters } from '../actions/upkeep/dlq.ts';
import { pause, resume } from '../actions/upkeep/pause.ts';
import type { WebChannelChanged, WebDropped, WebEdited, WebFired, WebPaused } from '../api/api.ts';
import { channelRequest, part } from './params.ts';
import { route } from './route.ts';

/** A file that was changed, as the actions return it. */
interface Edited {
  name: string;
  path: string;
  delivered: Delivered;
}

function editedOf({ name, path, delivered }: Edited): WebEdited {
  return { name, path, state: delivered.published ? 'published' : 'queued' };
}

async function archived(
  context: Context,
  input: { channel: string; undo: boolean; login: string },
): Promise<WebChannelChanged> {
  const { channel } = await archiveChannel(context, input);
  return { id: channel.id, name: channel.name, archived: !input.undo };
}

/** The routes that operate this machine: its dead letters, its pause, schedules, subscriptions and channels. */
export const operating = {
  /**
   * Forgets a dead letter; `all` for every one. Its messages stay on record, and nothing runs for them
   * @returns The dead letters that were forgotten
   * @fails 404 409
   */
  drop: route('POST /api/dead-letters/{id}/drop', {
    parameters: {
      /** id of the dead letter, or `all` */
      id: part,
    },
    answer: async ({ get, parts: { context } }): Promise<WebDropped> => {
      const id = get('id');
      const letters =
        id === 'all' ? await listDeadLetters(context) : [await findDeadLetter(context, id)];
      await dropDeadLetters(context, letters);
      return { dropped: letters.map((letter) => letter.id) };
    },
  }),

  /**
   * Lets no run of this machine start until it is resumed; what runs goes on
   * @returns Who has paused it, and since when
   */
  pause: route('POST /api/pause', {
    answer: async ({ parts: { context, login } }): Promise<WebPaused> => ({
      paused: await pause(context, login),
    }),
  }),

  /**
   * Lets runs start again, and has agent CLIs tried again that refused to work
   * @returns That nothing is paused
   */
  resume: route('POST /api/resume', {
    answer: async ({ parts }): Promise<WebPaused> => {
      await resume(parts.context);
      return { paused: null };
    },
  }),

  /**
   * Sends the message of a schedule now; its occurrences stay as they are
   * @returns The message
   * @fails 404 409
   */
  run_schedule: route('POST /api/schedules/{name}/run', {
    parameters: {
      /** its name */
      name: part,
    },
    answer: async ({ get, parts }): Promise<WebFired> => {
      const fired = await runSchedule(parts.context, { name: get('name') });
      const { name, channel, relPath, delivered } = fired;
      return { name, channel, relPath, state: delivered.published ? 'sent' : 'queued' };
    },
  }),

  /**
   * Has a schedule send nothing until it is resumed
   * @returns Its file, which was changed
   * @fails 404 409
   */
  pause_schedule: route('POST /api/schedules/{name}/pause', {
    parameters: {
      /** its name */
      name: part,
    },
    answer: async ({ get, parts: { context, login } }): Promise<WebEdited> =>
      editedOf(await enableSchedule(context, { name: get('name'), enabled: false, login })),
  }),

  /**
   * Has a schedule send again; what came due meanwhile is not made up for
   * @returns Its file, which was changed
   * @fails 404 409
   */
  resume_schedule: route('POST /api/schedules/{name}/resume', {
    parameters: {
      /** its name */
      name: part,
    },
    answer: async ({ get, parts: { context, login } }): Promise<WebEdited> =>
      editedOf(await enableSchedule(context, { name: get('name'), enabled: true, login })),
  }),

  /**
   * Has nothing follow on the answers or events of a subscription until it is resumed
   * @returns Its file, which was changed
   * @fails 404 409
   */
  pause_subscription: route('POST /api/subscriptions/{name}/pause', {
    parameters: {
      /** its name */
      name: part,
    },
    answer: async ({ get, parts: { context, login } }): Promise<WebEdited> =>
      editedOf(await enableSubscription(context, { name: get('name'), enabled: false, login })),
  }),

  /**
   * Has a subscription make tasks again
   * @returns Its file, which was changed
   * @fails 404 409
   */
  resume_subscription: route('POST /api/subscriptions/{name}/resume', {
    parameters: {
      /** its name */
      name: part,
    },
    answer: async ({ get, parts: { context, login } }): Promise<WebEdited> =>
      editedOf(await enableSubscription(context, { name: get('name'), enabled: true, login })),
  }),

  /**
   * Makes a channel
   * @returns The channel
   * @fails 400 409
   * @example {"name":"release","description":"Everything about 2.0."}
   */
  create_channel: route('POST /api/channels', {
    status: 201,
    body: channelRequest,
    answer: async ({ body, parts: { context, login } }): Promise<WebChannelChanged> => {
      const { id, name } = await createChannel(context, { ...body, login });
      return { id, name, archived: false };
    },
  }),

  /**
   * Takes a channel out of all lists; its messages stay, and work under way in it goes on
   * @returns The channel
   * @fails 404 409
   */
  archive_channel: route('POST /api/channels/{channel}/archive', {
    parameters: {
      /** id, unique id prefix or name */
      channel: part,
    },
    answer: ({ get, parts: { context, login } }): Promise<WebChannelChanged> =>
      archived(context, { channel: get('channel'), undo: false, login }),
  }),

  /**
   * Puts an archived channel back into the lists
   * @returns The channel
   * @fails 404 409
   */
  restore_channel: route('POST /api/channels/{channel}/restore', {
    parameters: {
      /** id, unique id prefix or name */
      channel: part,
    },
    answer: ({ get, parts: { context, login } }): Promise<WebChannelChanged> =>
      archived(context, { channel: get('channel'), undo: true, login }),
  }),
};
