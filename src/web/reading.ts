import { basename } from 'node:path';
import { listChannels } from '../actions/reading/channels.ts';
import { inboxPage } from '../actions/page/inbox-page.ts';
import { messagePage, type PageInput, wholeMessage } from '../actions/page/message-page.ts';
import { proposalPage } from '../actions/page/proposals.ts';
import { noteShown } from '../actions/page/shown.ts';
import { resolveFrom } from '../actions/lookup/resolve.ts';
import { search } from '../actions/reading/search.ts';
import { SEARCH } from '../present/parameters.ts';
import { thread } from '../actions/tracing/thread.ts';
import { MAX_MESSAGE_BYTES } from '../protocol/message.ts';
import type {
  WebChannels,
  WebInbox,
  WebMessagePage,
  WebMessageWhole,
  WebNow,
  WebProposal,
  WebSearch,
  WebSession,
  WebThread,
} from '../api/api.ts';
import { packageVersion } from '../package.ts';
import { moment, needed, only, part, relPath, sender, text, whole } from './params.ts';
import { fileOfMessage, type ShownFile } from '../actions/page/shown-file.ts';
import { MAX_FILES } from '../protocol/attached.ts';
import { route } from './route.ts';
import { problem } from './answers.ts';

const MAX_PAGE = 200;
const USUAL_PAGE = 50;
const USUAL_INBOX = 10;
const MOST_BEFORE = 2_147_483_647;

/** The routes that show messages and the state of the bus. */
export const reading = {
  /** The settings and permissions of this window */
  session: route('GET /api/session', {
    answer: async ({
      parts: { context, hub, now, login, readOnly, mayOperate, mayDecide },
    }): Promise<WebSession> => {
      const { hosts } = await now.get();
      return {
        version: packageVersion(),
        transport: basename(context.transport.dir),
        branch: context.transport.branch,
        from: resolveFrom(context, undefined, login),
        host: hosts.find(({ this_machine: isHere }) => isHere)?.alias ?? null,
        read_only: readOnly,
        may_operate: mayOperate,
        may_decide: mayDecide,
        message_limit: MAX_MESSAGE_BYTES,
        event_id: hub.ring.id(),
      };
    },
  }),

  /** The whole bus at a glance, as this machine knows it */
  now: route('GET /api/now', {
    answer: ({ parts }): Promise<WebNow> => parts.now.get(),
  }),

  /**
   * The channels in the order of their tree, with counts and unread messages
   * @fails 400
   */
  channels: route('GET /api/channels', {
    parameters: {
      /** the name whose unread messages are counted (default: the sender of the session) */
      for: sender,
    },
    answer: async ({ get, parts: { context, hub, login } }): Promise<WebChannels> => {
      const event_id = hub.ring.id();
      const self = resolveFrom(context, undefined, login);
      const reader = get('for') ?? self;
      const channels = await listChannels(context, reader);
      return {
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
      };
    },
  }),

  /**
   * Messages that ask somebody something, then others for them, unread first
   * @fails 400
   */
  inbox: route('GET /api/inbox', {
    parameters: {
      /** the recipient (default: the sender of the session) */
      for: sender,
      /** the maximum number of messages */
      limit: whole({ minimum: 1, maximum: MAX_PAGE, default: USUAL_INBOX }),
      /** `1`: only those that ask something or are unread */
      open: text,
    },
    answer: async ({ get, parts: { context, hub, login } }): Promise<WebInbox> => {
      const event_id = hub.ring.id();
      const name = get('for') ?? resolveFrom(context, undefined, login);
      const input = { name, limit: get('limit'), open: get('open') === '1' };
      return { ...(await inboxPage(context, input)), event_id };
    },
  }),

  /**
   * A page of a channel: the newest messages, or those before, after or around one message, or from a position on
   * @fails 400 404 409
   */
  messages: route('GET /api/channels/{channel}/messages', {
    parameters: {
      /** id, unique id prefix or name */
      channel: part,
      /** a relPath; the page ends before this message */
      before: relPath,
      /** a relPath; the page begins after this message */
      after: relPath,
      /** a relPath; the page has this message in its middle */
      around: relPath,
      /** the number of older messages before the page */
      at: whole({ minimum: 0, maximum: MOST_BEFORE }),
      /** the maximum number of messages */
      limit: whole({ minimum: 1, maximum: MAX_PAGE, default: USUAL_PAGE }),
    },
    answer: async ({ get, said, parts: { hub, ...parts } }): Promise<WebMessagePage> => {
      const event_id = hub.ring.id();
      const [channel, limit] = [get('channel'), get('limit')];
      const where = only(said('before', 'after', 'around', 'at'));
      const place = where && ({ [where]: get(where) } as unknown as PageInput['place']);
      const found = await messagePage(parts.context, { channel, limit, ...(place && { place }) });
      await noteShown(parts, found.messages);
      return { ...found, event_id };
    },
  }),

  /**
   * One complete message
   * @fails 400 404 409 422
   */
  message: route('GET /api/message', {
    parameters: {
      /** The message: relPath, `<channel>/<relPath>`, or its hex suffix if unique */
      ref: needed,
    },
    answer: async ({ get, parts }): Promise<WebMessageWhole> => {
      const found = await wholeMessage(parts.context, get('ref'));
      await noteShown(parts, [found]);
      return found;
    },
  }),

  /**
   * An attached file of a message, verified: to be saved, or a picture to be shown
   *
   * The bytes alone decide whether it is a picture: PNG, JPEG, GIF and WebP. Nothing else is ever shown,
   * whatever its declared type.
   * @returns The bytes
   * @fails 400 404 409 422
   */
  file: route('GET /api/file', {
    media: 'application/octet-stream',
    parameters: {
      /** The message: relPath, `<channel>/<relPath>`, or its hex suffix if unique */
      ref: needed,
      /** number of the file, counted from 1 */
      n: whole({ minimum: 1, maximum: MAX_FILES, default: 1 }),
      /** `1` for a picture that is to be shown */
      show: text,
    },
    answer: async ({ get, parts }) => {
      const file = await fileOfMessage(parts.context, get('ref'), get('n'));
      return fileAnswer(file, get('show') === '1' ? 'show' : 'save');
    },
  }),

  /**
   * The causal tree around a message, with the state of waiting messages
   * @fails 400 404 409 422
   */
  thread: route('GET /api/thread', {
    parameters: {
      /** The message: relPath, `<channel>/<relPath>`, or its hex suffix if unique */
      ref: needed,
    },
    answer: async ({ get, parts }): Promise<WebThread> => thread(parts.context, get('ref')),
  }),

  /**
   * The proposal that the sender of the session is asked to decide, in full, and the ignored decisions
   * @fails 400 404 409 422
   */
  proposal: route('GET /api/proposal', {
    parameters: {
      /** The message: relPath, `<channel>/<relPath>`, or its hex suffix if unique */
      ref: needed,
    },
    answer: ({ get, parts: { context, login } }): Promise<WebProposal> =>
      proposalPage(context, get('ref'), login),
  }),

  /**
   * Messages by words, "phrases" and beginnings*, best first
   * @fails 400 404 409
   */
  search: route('GET /api/search', {
    parameters: {
      /** the words */
      q: needed,
      /** id, unique id prefix or name */
      channel: text,
      /** only messages from this name */
      from: text,
      /** `2026-06-09`, `2h`, `3d`, `today` */
      since: moment,
      /** the maximum number of hits */
      limit: whole({ minimum: 1, maximum: SEARCH.limit.most, default: SEARCH.limit.most }),
      /** the number of best hits to leave out, for the pages after the first */
      skip: whole({ minimum: 0, maximum: SEARCH.skip.most, default: 0 }),
      /** messages shown before and after each hit */
      context: whole({ minimum: 0, maximum: SEARCH.context.most, default: 0 }),
    },
    answer: async ({ get, given, parts }): Promise<WebSearch> =>
      search(parts.context, {
        words: get('q'),
        limit: get('limit'),
        skip: get('skip'),
        context: get('context'),
        ...given('channel', 'from', 'since'),
      }),
  }),
};

/**
 * Returns the response with an attached file. Whatever its content, a browser neither runs it nor guesses
 * its type: its address is a document without an origin in which nothing may be loaded, and only a
 * picture by its bytes has another type than plain bytes.
 */
function fileAnswer({ name, bytes, picture }: ShownFile, use: 'show' | 'save'): Response {
  if (use === 'show' && picture === undefined)
    return problem('invalid', 'this file is no PNG, JPEG, GIF or WebP picture; it can be saved');
  const plain = name.replace(/[^\w.-]/g, '_');
  const whole = plain === name ? '' : `; filename*=UTF-8''${encodeURIComponent(name)}`;
  const isShown = use === 'show' && picture !== undefined;
  return new Response(new Uint8Array(bytes), {
    headers: {
      'content-type': isShown ? picture : 'application/octet-stream',
      'content-disposition': `${isShown ? 'inline' : 'attachment'}; filename="${plain}"${whole}`,
      'content-security-policy': "default-src 'none'; sandbox; frame-ancestors 'none'",
      'x-content-type-options': 'nosniff',
      'cross-origin-resource-policy': 'same-origin',
    },
  });
}
