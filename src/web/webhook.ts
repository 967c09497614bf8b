import { createHash, createHmac } from 'node:crypto';
import type { WebPublishedEvent, WebWoken } from '../api/api.ts';
import { publishEvent } from '../actions/subscriptions/event.ts';
import { secretsOf } from '../actions/setup/secrets.ts';
import { wake } from '../actions/upkeep/pause.ts';
import { CrosstalkError } from '../errors.ts';
import { isName } from '../protocol/layout.ts';
import { MAX_MESSAGE_BYTES } from '../protocol/message.ts';
import { shown } from '../protocol/text/result.ts';
import { problem, Refusal } from './answers.ts';
import { isSame } from './guard.ts';
import { header, part } from './params.ts';
import type { Parts } from './parts.ts';
import { FORGE_HEADERS } from './path.ts';
import { route } from './route.ts';

/** Maximum number of events that wait for their push; more are refused. */
const MOST_WAITING = 1000;
/** Maximum number of signatures of one request; there are two while a secret is replaced. */
const MOST_SIGNATURES = 5;
const BEARER = /^Bearer +(\S+) *$/i;

/** The credentials of a request. */
interface Credentials {
  authorization: string | undefined;
  signature: string | undefined;
}

/** The routes for clients without the server's token: they authenticate requests themselves. */
export const webhooks = {
  /**
   * Publishes an event, so that subscriptions to it create their tasks
   *
   * The body, of any type, is the payload: at most 1 MiB of text in UTF-8. The client sends the token of
   * the server or the secret `event.<source>` of this machine as `Authorization: Bearer`, or signs the
   * body with that secret, as GitHub does. A repeated delivery counts once. More than 100 a second are
   * refused with 429. The body of a request without a valid token or secret or a signature is not read,
   * and a signed one has to be complete within 10 seconds, or is refused with 408.
   * @returns The outcome; tasks are queued, and are pushed after that
   * @fails 400 401 409
   */
  event: route('POST /api/events/{source}', {
    status: 202,
    limit: MAX_MESSAGE_BYTES,
    parameters: {
      /** name of the event, as in `source: event:<name>` of a subscription */
      source: part,
      /** `Bearer` and the token or the secret */
      Authorization: header,
      /** `sha256=` and the HMAC-SHA-256 of the body in hex, with the secret as key */
      'X-Hub-Signature-256': header,
      /** the id of the delivery; the same one counts once */
      'X-GitHub-Delivery': header,
      /** the id of the delivery, from a client other than GitHub */
      'Idempotency-Key': header,
    },
    answer: async ({ get, said, bytes, parts }): Promise<WebPublishedEvent> =>
      parts.eventCounts.of(async () => {
        const [source, signature] = [get('source'), get('X-Hub-Signature-256')];
        if (!isName(source))
          throw new CrosstalkError('usage', `${shown(source)} is no name of an event`);
        const credentials = { authorization: get('Authorization'), signature };
        const body = await admitted(parts, source, credentials, bytes);
        if (parts.eventPushes.waiting >= MOST_WAITING)
          throw new Refusal(
            problem('refused', 'too many events wait to be pushed; send it again later', 503),
          );
        // An empty header counts as absent, as everywhere here.
        const given = said('X-GitHub-Delivery', 'Idempotency-Key').map((name) => get(name))[0];
        // Without an id, a signed delivery is identified by its content.
        const digest = (): string => createHash('sha256').update(body).digest('hex');
        const id = given ?? (signature === undefined ? undefined : digest());
        const { context, pushes } = parts;
        const quiet = { ...context, dispatch: {}, note: () => undefined };
        const push = (entry: string): void => {
          const pushed = parts.eventPushes.add(entry);
          pushes.add(pushed);
          void pushed.finally(() => pushes.delete(pushed));
        };
        const input = { source, payload: textIn(body), id };
        return publishEvent(quiet, input, { wait: false, push });
      }),
  }),

  /**
   * Makes the dispatcher of this machine poll now
   *
   * A forge may do the same, by a webhook for pushes: it signs the body with the secret `wake` of this
   * machine, as GitHub, Gitea, Forgejo and GitLab do, or sends that secret as GitLab can. These wake the
   * dispatcher once a second at most, and earlier ones are answered with the next. More than 100 a second
   * are refused with 429. The body of a request without a valid token or secret or a signature is not
   * read, and a signed one has to be complete within 10 seconds, or is refused with 408; the content of a
   * body has no effect.
   * @returns It polls
   * @fails 404
   */
  wake: route('POST /api/wake', {
    parameters: {
      /** `sha256=` and the HMAC-SHA-256 of the body in hex, as GitHub, Gitea and Forgejo send it */
      'X-Hub-Signature-256': header,
      /** the HMAC-SHA-256 of the body in hex, as Forgejo sends it */
      'X-Forgejo-Signature': header,
      /** the HMAC-SHA-256 of the body in hex, as Gitea sends it */
      'X-Gitea-Signature': header,
      /** `v1,` and the HMAC-SHA-256 in base64 of id, time and body, as GitLab sends it */
      'webhook-signature': header,
      /** the id that GitLab signs */
      'webhook-id': header,
      /** the time that GitLab signs */
      'webhook-timestamp': header,
      /** the secret itself, as GitLab sends it when it does not sign */
      'X-Gitlab-Token': header,
    },
    answer: async ({ get, each, parts }): Promise<WebWoken> => {
      const { context, webhookLimits, wakes } = parts;
      const look = (): Promise<number> => wake(context).then(({ pid }) => pid);
      // A request without any of these headers was admitted by the token (request-guard.ts).
      if (FORGE_HEADERS.every((name) => get(name) === undefined)) return { pid: await look() };
      const secret = await secretsOf(context).get(WAKE);
      const refused = unauthorized(
        `the secret or the signature is missing or wrong; this machine keeps the secret by: crosstalk secret set ${WAKE}`,
      );
      if (secret === undefined) throw refused;
      const shown = get('X-Gitlab-Token');
      if (shown !== undefined && isSame(shown, secret)) webhookLimits.known();
      else {
        const signature = signatureOf(get, secret);
        if (signature === undefined) throw refused;
        await webhookLimits.unknown(() => each((chunk) => signature.hmac.update(chunk)));
        if (!signature.isRight()) throw refused;
      }
      return { pid: await wakes.once(look) };
    },
  }),
};

/** Name of the secret with which forges sign push webhooks. */
const WAKE = 'wake';

type HeaderOf = (
  name: Exclude<(typeof FORGE_HEADERS)[number] | SignedByGitLab, 'X-Gitlab-Token'>,
) => string | undefined;
type SignedByGitLab = 'webhook-id' | 'webhook-timestamp';

/**
 * Prepares the verification of a forge's signature: `hmac` must receive the body. Undefined without a
 * signature.
 */
function signatureOf(
  get: HeaderOf,
  secret: string,
): { hmac: ReturnType<typeof createHmac>; isRight: () => boolean } | undefined {
  const [github, forgejo] = [get('X-Hub-Signature-256'), get('X-Forgejo-Signature')];
  const hex = github?.trim().replace(/^sha256=/, '') ?? forgejo ?? get('X-Gitea-Signature') ?? '';
  if (hex !== '') {
    const hmac = createHmac('sha256', secret);
    return { hmac, isRight: () => isSame(hex.trim().toLowerCase(), hmac.digest('hex')) };
  }
  const gitlab = get('webhook-signature') ?? '';
  if (gitlab === '') return undefined;
  // https://www.standardwebhooks.com, which GitLab follows
  const key = secret.startsWith('whsec_') ? Buffer.from(secret.slice(6), 'base64') : secret;
  const hmac = createHmac('sha256', key);
  hmac.update(`${get('webhook-id') ?? ''}.${get('webhook-timestamp') ?? ''}.`);
  const isRight = (): boolean => {
    const wanted = `v1,${hmac.digest('base64')}`;
    return gitlab.split(' ', MOST_SIGNATURES).some((one) => isSame(one, wanted));
  };
  return { hmac, isRight };
}

/**
 * Reads the body of a request that may publish an event. It is read only for a request with the token or
 * the secret, or, if there is a secret, with a signature.
 *
 * @throws Refusal
 */
async function admitted(
  { context, token, webhookLimits }: Parts,
  source: string,
  { authorization, signature }: Credentials,
  bytes: () => Promise<Buffer>,
): Promise<Buffer> {
  const [, bearer] = BEARER.exec(authorization ?? '') ?? [];
  const secret = await secretsOf(context).get(`event.${source}`);
  const isKnown =
    bearer !== undefined &&
    (isSame(bearer, token) || (secret !== undefined && isSame(bearer, secret)));
  if (isKnown) {
    webhookLimits.known();
    return bytes();
  }
  const refused = unauthorized(
    `the token or the signature is missing or wrong; send Authorization: Bearer <token>, or X-Hub-Signature-256 with the secret that this machine keeps by: crosstalk secret set event.${source}`,
  );
  if (secret === undefined || signature === undefined) throw refused;
  const body = await webhookLimits.unknown(bytes);
  const wanted = createHmac('sha256', secret).update(body).digest('hex');
  if (isSame(signature.trim().toLowerCase(), `sha256=${wanted}`)) return body;
  throw refused;
}

function unauthorized(why: string): Refusal {
  return new Refusal(problem('unauthorized', why));
}

function textIn(body: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    throw new CrosstalkError('usage', 'the body is not text in UTF-8');
  }
}
