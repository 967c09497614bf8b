import { endWarmSession } from '../actions/health/warm-sessions.ts';
import { retryDeadLetters } from '../actions/upkeep/dlq.ts';
import { marksOf } from '../actions/page/keyed-marks.ts';
import { queueSend, keepUpload } from '../actions/page/queue-send.ts';
import { HIGHEST_BYTES } from '../protocol/attached.ts';
import { CrosstalkError } from '../errors.ts';
import { decideOnPage } from '../actions/page/proposals.ts';
import type {
  WebDecided,
  WebFile,
  WebRetried,
  WebSeenRequest,
  WebSent,
  WebSessionEnded,
} from '../api/api.ts';
import { decideRequest, header, part, seenRequest, sendRequest, uploadRequest } from './params.ts';
import { resolveFrom, resolveMessage } from '../actions/lookup/resolve.ts';
import { markSeen } from '../actions/reading/inbox.ts';
import { route } from './route.ts';

/** Maximum bytes of an upload: the largest file that any clone may accept, in base64, with its name. */
const MAX_UPLOAD = Math.ceil((HIGHEST_BYTES * 4) / 3) + 64 * 1024;

/** The routes that change something. The permission to call them is checked before (`request-guard.ts`). */
export const writing = {
  /**
   * Writes a message; answered as soon as it is safe on this machine’s disk
   *
   * A request with an `Idempotency-Key` may be repeated within a day, also after the server was
   * restarted: the message is sent once.
   * @returns Queued; its results arrive as events
   * @fails 400 404 409
   * @example {"to":"concierge","body":"which tests are slow?"}
   */
  send: route('POST /api/send', {
    status: 202,
    body: sendRequest,
    parameters: {
      /** a ULID made by the sender, new for each message, whose time becomes the message’s */
      'Idempotency-Key': header,
    },
    answer: async ({ get, body, parts }): Promise<WebSent> => {
      const { context, hub, login, person, pushes } = parts;
      if (person !== undefined && (body.from ?? person) !== person)
        throw new CrosstalkError(
          'refused',
          `this token is of ${person}, and writes under no other name`,
        );
      const from = resolveFrom(context, body.from, login);
      const marks = marksOf(context, get('Idempotency-Key'), from, body);
      const { sent, pushed } = await queueSend(context, body, { login, marks }, (refs) => {
        hub.noteQueued(refs);
      });
      const { channel, messages, state } = sent;
      if (state === 'sent') hub.noteSent(messages.map(({ relPath }) => ({ channel, relPath })));
      pushes.add(pushed);
      void pushed.finally(() => pushes.delete(pushed));
      return sent;
    },
  }),

  /**
   * Keeps a file for a day, so that a message can attach it
   * @returns The reference to it for a message
   * @fails 400
   */
  upload: route('POST /api/files', {
    status: 201,
    body: uploadRequest,
    limit: MAX_UPLOAD,
    answer: ({ body, parts }): Promise<WebFile> => keepUpload(parts.context, body),
  }),

  /**
   * Approves or denies an actor’s proposal, exactly as it was shown
   *
   * Refused unless the server is for this machine alone, or was started with `--allow-approve`.
   * @returns Queued; it counts once it is on the bus
   * @fails 400 404 409 422
   * @example
   *   {"message":"2026/06/09/190000000Z-1f2e3d4c5b6a.md","decision":"approve","digest":"9f86d081…"}
   */
  decide: route('POST /api/decide', {
    status: 202,
    body: decideRequest,
    answer: async ({ body, parts }): Promise<WebDecided> => {
      const { context, hub, login, pushes } = parts;
      const { decided, pushed } = await decideOnPage(context, body, login, (refs) => {
        hub.noteQueued(refs);
      });
      pushes.add(pushed);
      void pushed.finally(() => pushes.delete(pushed));
      return decided;
    },
  }),

  /**
   * Counts messages for the sender of the session as seen, as `crosstalk inbox --done` does
   * @returns The messages
   * @fails 400 404 409
   * @example {"messages":["6b0e…/2026/06/09/190000000Z-1f2e3d4c5b6a.md"]}
   */
  seen: route('POST /api/seen', {
    body: seenRequest,
    answer: async ({ body, parts: { context, login } }): Promise<WebSeenRequest> => {
      const name = resolveFrom(context, undefined, login);
      for (const given of body.messages)
        await markSeen(context, name, await resolveMessage(context, given));
      return body;
    },
  }),

  /**
   * Gives a dead letter another round of attempts; `all` for every one
   * @returns The released letters
   * @fails 404 409
   */
  retry: route('POST /api/dead-letters/{id}/retry', {
    parameters: {
      /** id of the dead letter, or `all` */
      id: part,
    },
    answer: async ({ get, parts }): Promise<WebRetried> => {
      const { released, woken } = await retryDeadLetters(parts.context, get('id'));
      return { released: released.map(({ id }) => id), woken };
    },
  }),

  /**
   * Ends an idle kept process; the next run of its thread starts a new one
   * @returns The ended session
   * @fails 404 409
   */
  endSession: route('POST /api/sessions/{id}/end', {
    parameters: {
      /** id of the session */
      id: part,
    },
    answer: ({ get, parts }): Promise<WebSessionEnded> => endWarmSession(parts.context, get('id')),
  }),
};
